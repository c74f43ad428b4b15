import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout } from 'node:timers/promises'
import type { Random } from '../random.js'
import { FrameClient } from './frame-client.js'
import { addEntries, INDEXES, KEYS_A_WRITER, Ledger, section, writeRequest } from './ledger.js'

const WRITERS = 5
const PAGE = 4000
/** Rows of a part of a load, and parts that are sent and not answered. */
const PART_ROWS = 200
const PARTS_UNDER_WAY = 4
/** Parts of all loads: each is looked for after every start. */
const MOST_PARTS = 300
const PATIENCE_MS = 60_000
const LOADED = { index: 'loaded', keyType: 'u32', payloadKind: 'u32', unique: false }

export interface KillOptions {
  /** Arguments of `node` that start `kill-server`. */
  readonly server: readonly string[]
  readonly structures: 'device' | 'model'
  readonly directory: string
  readonly random: Random
  /** Milliseconds between the first write that a server acknowledges and its end, at most. */
  readonly longest: number
}

/** Indexes whose names are swapped, each of which holds one key that tells which one it was at first. */
const SWAPPED = ['left', 'right'] as const

/** A load of parts, of which the first ones are acknowledged, and some more may be stored. */
interface Load {
  acknowledged: number
  sent: number
}

/**
 * Kills servers with `kill -9` at random moments while clients write, load, and have snapshots taken, and checks after each start
 * that nothing is lost that was acknowledged, that nothing is there by halves, and nothing twice. Clients send again what was
 * not answered, under the number that it had.
 */
export class Killing {
  readonly #options: KillOptions
  readonly #ledgers: readonly Ledger[]
  readonly #load: Load = { acknowledged: 0, sent: 0 }
  /** Swaps of names that were acknowledged; one more may be made. */
  #swaps = 0
  kills = 0

  constructor(options: KillOptions) {
    this.#options = options
    this.#ledgers = Array.from({ length: WRITERS }, (_, writer) => new Ledger(writer, options.random))
  }

  /** Writes that were acknowledged. */
  get acknowledged(): number {
    return this.#ledgers.reduce((sum, { acknowledged }) => sum + acknowledged, this.#load.acknowledged)
  }

  /** Starts a server, checks what it has, has it written to, and kills it. @throws Error that says what is wrong */
  async round(): Promise<void> {
    const { child, url } = await this.#start()
    try {
      await this.#check(url)
      const writing = [
        ...this.#ledgers.map((ledger) => this.#write(url, ledger)),
        this.#loadParts(url),
        this.#snapshots(url),
        this.#swap(url),
      ]
      await this.#progress()
      await setTimeout(this.#options.random.below(this.#options.longest))
      child.kill('SIGKILL')
      await Promise.all(writing)
      this.kills++
    } finally {
      await end(child)
    }
  }

  /** Waits until something more is acknowledged. */
  async #progress(): Promise<void> {
    const { acknowledged } = this
    const end = performance.now() + PATIENCE_MS
    while (this.acknowledged === acknowledged) {
      if (performance.now() > end) throw new Error('nothing is acknowledged any more')
      await setTimeout(1)
    }
  }

  /** Starts a server and checks what it has, and that it stops as it should. */
  async finish(): Promise<void> {
    const { child, url } = await this.#start()
    try {
      await this.#check(url)
      child.kill('SIGTERM')
      const [code, signal] = await once(child, 'exit')
      if (code !== 0) throw new Error(`the server ended with ${code ?? signal}`)
    } finally {
      await end(child)
    }
  }

  async #start(): Promise<{ child: ChildProcess; url: string }> {
    const { server, directory, structures } = this.#options
    const child = spawn(process.execPath, [...server, directory, structures], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const exit = once(child, 'exit').then(() => undefined)
    const line = await Promise.race([once(child.stdout, 'data'), exit])
    if (line === undefined) throw new Error('the server did not start')
    return { child, url: String(line[0]).trim() }
  }

  async #check(url: string): Promise<void> {
    const client = await FrameClient.connect(url, 'reader')
    for (const definition of [...INDEXES, LOADED]) {
      await client.ask({ id: 1, op: 'createIndex', ...definition, ifNotExists: true })
    }
    for (const ledger of this.#ledgers) {
      const many = await scan(client, 'many', ledger.writer)
      const one = await scan(client, 'one', ledger.writer)
      ledger.check({ many, one })
    }
    await this.#checkLoad(client)
    await this.#checkSwapped(client)
    client.close()
  }

  /** The parts that are stored are the first ones, whole. */
  async #checkLoad(client: FrameClient): Promise<void> {
    let stored = 0
    for (let part = 1; part <= this.#load.sent; part++) {
      const reply = await client.ask(
        { id: 2, op: 'count', index: 'loaded' },
        { keys: section('u32', partKeys(part)) },
      )
      const bytes = reply?.sections.get('counts')?.bytes ?? new Uint8Array()
      const rows = new Uint32Array(new Uint8Array(bytes).buffer).reduce((sum, count) => sum + count, 0)
      if (rows !== 0 && rows !== PART_ROWS)
        throw new Error(`part ${part} of a load has ${rows} rows of ${PART_ROWS}`)
      if (rows === PART_ROWS && stored !== part - 1)
        throw new Error(`part ${part} of a load is there, but not ${stored + 1}`)
      if (rows === PART_ROWS) stored = part
    }
    if (stored < this.#load.acknowledged) {
      throw new Error(`${this.#load.acknowledged} parts of a load were acknowledged, ${stored} are there`)
    }
  }

  /** Sends a ledger's writes one after the other until the connection ends. */
  async #write(url: string, ledger: Ledger): Promise<void> {
    const client = await FrameClient.connect(url, `writer-${ledger.writer}`).catch(() => undefined)
    for (;;) {
      const { header, sections } = writeRequest(ledger.draw())
      const reply = await client?.ask(header, sections)
      if (reply === undefined) return
      if (reply.header.ok !== true) throw new Error(`a write failed: ${JSON.stringify(reply.header)}`)
      ledger.acknowledge()
    }
  }

  async #loadParts(url: string): Promise<void> {
    const client = await FrameClient.connect(url, 'loader').catch(() => undefined)
    const first = this.#load.acknowledged + 1
    const send = async (part: number): Promise<boolean> => {
      this.#load.sent = Math.max(this.#load.sent, part)
      const keys = section('u32', partKeys(part))
      const after = part > 1 ? { after: part - 1 } : {}
      const header = { id: part, op: 'load', index: 'loaded', writeId: part, ...after }
      const reply = await client?.ask(header, { keys, payloads: keys })
      if (reply !== undefined && reply.header.ok !== true) throw new Error(JSON.stringify(reply.header))
      return reply !== undefined
    }
    const underWay = Array.from({ length: PARTS_UNDER_WAY }, (_, i) => send(first + i))
    for (let part = first; await underWay[part - first]; part++) {
      this.#load.acknowledged = part
      underWay.push(send(first + underWay.length))
      if (this.#load.sent > MOST_PARTS) break
    }
    await Promise.all(underWay)
  }

  /** Both are there, and have been swapped as often as was acknowledged, or once more; each swap is a generation. */
  async #checkSwapped(client: FrameClient): Promise<void> {
    for (const [key, index] of SWAPPED.entries()) {
      await client.ask({ id: 4, op: 'createIndex', ...LOADED, index, ifNotExists: true })
      const item = section('u32', Uint32Array.of(key))
      if (this.kills === 0) await client.ask({ id: 5, op: 'insert', index }, { keys: item, payloads: item })
    }
    const generations = new Set<number>()
    for (const [key, index] of SWAPPED.entries()) {
      const opened = await client.ask({ id: 6, op: 'open', index })
      const swaps = Number(opened?.header.generation) - 1
      generations.add(swaps)
      const expected = swaps % 2 === 0 ? key : 1 - key
      const reply = await client.ask({ id: 7, op: 'scan', index, limit: 2 })
      const keys = new Uint32Array(new Uint8Array(reply?.sections.get('keys')?.bytes ?? []).buffer)
      if (keys.length !== 1 || keys[0] !== expected)
        throw new Error(`index ${index} has the keys ${keys} after ${swaps} swaps, not ${expected}`)
    }
    const [swaps, ...others] = generations
    if (others.length > 0 || (swaps !== this.#swaps && swaps !== this.#swaps + 1))
      throw new Error(`${this.#swaps} swaps were acknowledged, and made are ${[...generations]}`)
    this.#swaps = swaps
  }

  async #swap(url: string): Promise<void> {
    const client = await FrameClient.connect(url, 'swapper').catch(() => undefined)
    const [index, other] = SWAPPED
    for (;;) {
      const reply = await client?.ask({ id: 1, op: 'swapIndexes', index, with: other })
      if (reply === undefined) return
      if (reply.header.ok !== true) throw new Error(`a swap failed: ${JSON.stringify(reply.header)}`)
      this.#swaps++
    }
  }

  async #snapshots(url: string): Promise<void> {
    const client = await FrameClient.connect(url, 'keeper').catch(() => undefined)
    for (;;) {
      await setTimeout(this.#options.random.below(60))
      if ((await client?.ask({ id: 1, op: 'snapshot' })) === undefined) return
    }
  }
}

async function scan(
  client: FrameClient,
  index: 'many' | 'one',
  writer: number,
): Promise<Map<number, number[]>> {
  const found = new Map<number, number[]>()
  const first = writer * KEYS_A_WRITER
  const range = {
    from: section('u32', Uint32Array.of(first)),
    to: section('u32', Uint32Array.of(first + KEYS_A_WRITER - 1)),
  }
  let tokens = {}
  for (;;) {
    const reply = await client.ask({ id: 3, op: 'scan', index, limit: PAGE }, { ...range, ...tokens })
    if (reply?.header.ok !== true) throw new Error(`a scan failed: ${JSON.stringify(reply?.header)}`)
    addEntries(found, index, reply.sections)
    const token = reply.sections.get('tokens')
    if (reply.sections.get('more')?.bytes[0] !== 1 || token === undefined) return found
    tokens = { tokens: token }
  }
}

/** Keys of part number i, from 1, which no other part has. */
function partKeys(part: number): Uint32Array {
  return Uint32Array.from({ length: PART_ROWS }, (_, row) => part + row * 65_536)
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill('SIGKILL')
  await once(child, 'exit')
}
