import type { Random } from '../../random.js'
import { FrameClient } from '../frame-client.js'
import { addEntries, INDEXES, KEYS_A_WRITER, Ledger, writeRequest } from './ledger.js'
import { askWell, numbers, scanPages, type Workload } from './workload.js'

const WRITERS = 5

/** Clients that each write to keys of their own, one write after the other, and send again what was not answered. */
export class Writes implements Workload {
  readonly #ledgers: readonly Ledger[]

  constructor(random: Random) {
    this.#ledgers = Array.from({ length: WRITERS }, (_, writer) => new Ledger(writer, random))
  }

  get acknowledged(): number {
    return this.#ledgers.reduce((sum, { acknowledged }) => sum + acknowledged, 0)
  }

  async check(client: FrameClient): Promise<void> {
    for (const definition of INDEXES)
      await client.ask({ id: client.nextId(), op: 'createIndex', ...definition, ifNotExists: true })
    for (const ledger of this.#ledgers) {
      const many = await scan(client, 'many', ledger.writer)
      const one = await scan(client, 'one', ledger.writer)
      ledger.check({ many, one })
    }
  }

  async work(url: string): Promise<void> {
    await Promise.all(this.#ledgers.map((ledger) => this.#write(url, ledger)))
  }

  async #write(url: string, ledger: Ledger): Promise<void> {
    const client = await FrameClient.connect(url, `writer-${ledger.writer}`)
    for (;;) {
      const { header, sections } = writeRequest(ledger.draw())
      if ((await askWell(client, header, sections)) === undefined) return
      ledger.acknowledge()
    }
  }
}

async function scan(
  client: FrameClient,
  index: 'many' | 'one',
  writer: number,
): Promise<Map<number, number[]>> {
  const first = writer * KEYS_A_WRITER
  const range = { from: numbers(first), to: numbers(first + KEYS_A_WRITER - 1) }
  const found = new Map<number, number[]>()
  for (const page of (await scanPages(client, { index }, range)) ?? []) addEntries(found, index, page)
  return found
}
