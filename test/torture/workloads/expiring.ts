import type { Random } from '../../random.js'
import { FrameClient } from '../frame-client.js'
import { askWell, numbers, scanNumbers, type Workload } from './workload.js'

const DEFINITION = { index: 'expiring', keyType: 'u32', payloadKind: 'u32', unique: true, ttl: 3600 }
/** Milliseconds that entries stay, at most. */
const LONGEST = 8000

/** Entries of an index each of which is there until its time, and not for a moment longer. */
export class Expiring implements Workload {
  readonly #random: Random
  /** When the entry of each key expires, of all that were sent. */
  readonly #times: number[] = []
  acknowledged = 0

  constructor(random: Random) {
    this.#random = random
  }

  async check(client: FrameClient): Promise<void> {
    await client.ask({ id: client.nextId(), op: 'createIndex', ...DEFINITION, ifNotExists: true })
    const before = Date.now()
    const entries = await scanNumbers(client, { index: DEFINITION.index })
    const after = Date.now()
    const there = new Set(entries?.map(([key]) => key))
    this.#times.forEach((time, key) => {
      if (there.has(key) && time <= before)
        throw new Error(`entry ${key} is there ${before - time} ms too long`)
      if (!there.has(key) && time > after && key < this.acknowledged)
        throw new Error(`entry ${key} is gone ${time - after} ms too early`)
    })
  }

  async work(url: string): Promise<void> {
    const client = await FrameClient.connect(url, 'expiring')
    for (;;) {
      const key = this.acknowledged
      this.#times[key] ??= Date.now() + this.#random.below(LONGEST)
      const column = numbers(key)
      const expireAt = { type: 'u64', bytes: bytesOf(this.#times[key]) } as const
      const request = { id: client.nextId(), op: 'insert', index: DEFINITION.index, writeId: key + 1 }
      const reply = await askWell(client, request, { keys: column, payloads: column, expireAt })
      if (reply === undefined) return
      this.acknowledged++
    }
  }
}

function bytesOf(time: number): Uint8Array {
  return new Uint8Array(BigUint64Array.of(BigInt(time)).buffer)
}
