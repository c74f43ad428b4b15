import { setTimeout as pause } from 'node:timers/promises'
import { type Client, connect, type Index, WarpdexError } from '../../../clients/sdk/index.js'
import type { ReplicaFigures } from '../../../protocol/replica.js'
import { Random } from '../../random.js'
import { type Act, explainFollower, explainHistory, type Operation, type Value } from './register.js'

const CLIENTS = 4
/** Keys that are written to at a time, few so that clients meet. */
const KEYS = 3
/** After which nobody waits for an answer any more: the outcome is unknown. */
const DEADLINE_MS = 30_000
const REGISTERS = 'registers'
const JOURNAL = 'journal'
const NEVER = Number.POSITIVE_INFINITY

/** What a client has added to the journal, under its number as the key. */
interface Entries {
  readonly acknowledged: Set<number>
  /** Whose outcome is not known. */
  readonly unknown: Set<number>
}

/**
 * Clients of a replica set, and all that they saw. Of its two indexes, the one has registers, to each of which they do all at once; to the other, whose keys have many payloads, each adds what
 * nobody else does.
 */
export class Load {
  readonly #urls: readonly string[]
  readonly #clients: Client[] = []
  readonly #histories = new Map<number, Operation[]>()
  /** Reads of a follower over one connection, by the key. */
  readonly #followed: Map<number, Operation[]>[] = []
  readonly #entries = Array.from(
    { length: CLIENTS },
    (): Entries => ({ acknowledged: new Set(), unknown: new Set() }),
  )
  readonly #random: Random
  readonly #working: Promise<void>[] = []
  #isOver = false
  #written = 0
  #window = 0
  /** When writes were acknowledged, and when followers answered. */
  readonly acknowledged: number[] = []
  readonly followed: number[] = []
  /** How often each error came whose cause is a fault. */
  readonly errors = new Map<string, number>()

  private constructor(urls: readonly string[], random: Random) {
    this.#urls = urls
    this.#random = random
  }

  static async start(urls: readonly string[], random: Random): Promise<Load> {
    const load = new Load(urls, random)
    const definition = { keyType: 'u32', payloadKind: 'u32' } as const
    for (let i = 0; i < CLIENTS; i++) {
      const client = await load.#connect(urls)
      const registers = await client.createIndex(
        { ...definition, name: REGISTERS, unique: true },
        { ifNotExists: true },
      )
      const journal = await client.createIndex(
        { ...definition, name: JOURNAL, unique: false },
        { ifNotExists: true },
      )
      load.#working.push(load.#write(registers, journal, i))
    }
    for (const url of urls) load.#working.push(load.#follow(url))
    return load
  }

  /** Goes on with other keys. */
  nextKeys(): void {
    this.#window++
  }

  /** Number of the node that owns the replica set, as far as another one knows. */
  async owner(): Promise<number> {
    const owners = this.#urls.map(async (url) => {
      const client = await this.#connect(url, 'any')
      return this.#urls.indexOf((await replicaOf(client)).owner ?? '')
    })
    return Promise.any(owners)
  }

  /** What each node says of itself, for whoever looks for what is wrong. */
  async state(): Promise<string> {
    const states = this.#urls.map(async (url) => {
      const client = await connect(url, { reads: 'any', connectTimeout: 3000 })
      this.#clients.push(client)
      return `${url}: ${JSON.stringify(await replicaOf(client, 3000))}`
    })
    const settled = await Promise.allSettled(states)
    return settled.map((one) => (one.status === 'fulfilled' ? one.value : String(one.reason))).join('\n')
  }

  /** Has clients finish what they do. */
  async stop(): Promise<void> {
    this.#isOver = true
    await Promise.all(this.#working)
  }

  async close(): Promise<void> {
    await Promise.all(this.#clients.map((client) => client.close({ now: true })))
  }

  /**
   * Once all is quiet: what each node has is the same, and follows from what clients saw.
   * @throws Error that says what is wrong
   */
  async check(): Promise<void> {
    const client = await this.#connect(this.#urls)
    const registers = await client.index<'u32', 'u32'>(REGISTERS)
    for (const [key, history] of this.#histories) await this.#read(registers, key, history)
    const { position } = await replicaOf(client)
    const all = await Promise.all(this.#urls.map((url) => this.#contents(url, position)))
    for (const [i, contents] of all.entries()) {
      if (contents !== all[0])
        throw new Error(`node ${i} has not the same as node 0:\n${contents}\n${all[0]}`)
    }
    this.#checkHistories()
    await this.#checkJournal(await client.index<'u32', 'u32'>(JOURNAL))
  }

  async #connect(urls: string | readonly string[], reads: 'latest' | 'any' = 'latest'): Promise<Client> {
    const client = await connect(urls, { reads, deadline: DEADLINE_MS, connectTimeout: 3000 })
    this.#clients.push(client)
    return client
  }

  async #write(registers: Index<'u32', 'u32'>, journal: Index<'u32', 'u32'>, client: number): Promise<void> {
    const random = new Random(this.#random.word())
    const { acknowledged, unknown } = this.#entries[client]!
    while (!this.#isOver) {
      const key = this.#window * KEYS + random.below(KEYS)
      const history = this.#historyOf(key)
      const value = ++this.#written
      const kind = random.below(10)
      if (kind < 3) await this.#read(registers, key, history)
      else if (kind < 5)
        await this.#change(history, { kind: 'write', value }, () => registers.put(key, value))
      else if (kind < 6)
        await this.#change(history, { kind: 'write', value: undefined }, () => registers.delete(key))
      else if (kind < 8) await this.#swap(registers, key, value)
      else {
        const isDone = await this.#attempt(() => journal.insert(client, value))
        ;(isDone ? acknowledged : unknown).add(value)
      }
      await pause(random.below(20))
    }
  }

  /** Reads, and writes if nobody has written since. */
  async #swap(registers: Index<'u32', 'u32'>, key: number, value: number): Promise<void> {
    const history = this.#historyOf(key)
    const expected = await this.#read(registers, key, history)
    if (expected === 'unknown') return
    const begin = performance.now()
    const condition = expected === undefined ? { exists: false } : { payload: expected }
    let refused = false
    const isDone = await this.#attempt(async () => {
      try {
        await registers.batch().expect(key, condition).put(key, value).write()
      } catch (error) {
        if (!(error instanceof WarpdexError) || error.code !== 'CONDITION_FAILED') throw error
        refused = true
      }
    })
    history.push({
      act: { kind: 'swap', expected, value, refused },
      begin,
      end: isDone ? performance.now() : NEVER,
    })
  }

  async #change(history: Operation[], act: Act, call: () => Promise<unknown>): Promise<void> {
    const begin = performance.now()
    const isDone = await this.#attempt(call)
    history.push({ act, begin, end: isDone ? performance.now() : NEVER })
  }

  /** @returns whether it was answered */
  async #attempt(call: () => Promise<unknown>): Promise<boolean> {
    try {
      await call()
      this.acknowledged.push(performance.now())
      return true
    } catch (error) {
      this.#note(error)
      return false
    }
  }

  async #read(registers: Index<'u32', 'u32'>, key: number, history: Operation[]): Promise<Value | 'unknown'> {
    const begin = performance.now()
    try {
      const value = await registers.get(key)
      history.push({ act: { kind: 'read', value }, begin, end: performance.now() })
      return value
    } catch (error) {
      this.#note(error)
      return 'unknown'
    }
  }

  /** Reads what a node has, whether it is the owner or not. */
  async #follow(url: string): Promise<void> {
    const random = new Random(this.#random.word())
    let reads = new Map<number, Operation[]>()
    const start = () => {
      reads = new Map()
      this.#followed.push(reads)
    }
    start()
    const client = await connect(url, {
      reads: 'any',
      deadline: DEADLINE_MS,
      connectTimeout: 3000,
      onDisconnect: start,
    })
    this.#clients.push(client)
    while (!this.#isOver) {
      const key = this.#window * KEYS + random.below(KEYS)
      const seen = reads
      const begin = performance.now()
      try {
        const value = await client.index<'u32', 'u32'>(REGISTERS).get(key)
        this.followed.push(performance.now())
        // One that was sent again over another connection is of neither.
        if (seen === reads)
          seen.set(key, [
            ...(seen.get(key) ?? []),
            { act: { kind: 'read', value }, begin, end: performance.now() },
          ])
      } catch (error) {
        this.#note(error)
      }
      await pause(50)
    }
  }

  #note(error: unknown): void {
    if (!(error instanceof WarpdexError)) throw error
    this.errors.set(error.code, (this.errors.get(error.code) ?? 0) + 1)
  }

  #historyOf(key: number): Operation[] {
    const history = this.#histories.get(key) ?? []
    this.#histories.set(key, history)
    return history
  }

  /** All that a node has, once it has what the log has up to a position. */
  async #contents(url: string, position: number): Promise<string> {
    const client = await this.#connect(url, 'any')
    for (const until = performance.now() + DEADLINE_MS; (await replicaOf(client)).position < position; ) {
      if (performance.now() > until) throw new Error(`${url} does not come to position ${position}`)
      await pause(50)
    }
    let contents = ''
    for (const name of [REGISTERS, JOURNAL]) {
      for await (const { key, payload } of client.index<'u32', 'u32'>(name).entries())
        contents += `${key}: ${payload}\n`
    }
    return contents
  }

  #checkHistories(): void {
    for (const [key, history] of this.#histories) {
      const wrong = explainHistory(history)
      if (wrong !== undefined)
        throw new Error(`the history of key ${key} is not linearizable: ${wrong}\n${shown(history)}`)
    }
    for (const connection of this.#followed) {
      for (const [key, reads] of connection) {
        const wrong = explainFollower(reads, this.#historyOf(key))
        if (wrong !== undefined) throw new Error(`a follower's key ${key}: ${wrong}\n${shown(reads)}`)
      }
    }
  }

  async #checkJournal(journal: Index<'u32', 'u32'>): Promise<void> {
    for (const [client, { acknowledged, unknown }] of this.#entries.entries()) {
      const found = [...(await journal.getAll(client))]
      const distinct = new Set(found)
      if (distinct.size < found.length) throw new Error(`client ${client} has entries in the journal twice`)
      for (const payload of acknowledged) {
        if (!distinct.has(payload)) throw new Error(`the journal lacks ${payload}, which was acknowledged`)
      }
      for (const payload of found) {
        if (!acknowledged.has(payload) && !unknown.has(payload))
          throw new Error(`nobody wrote ${payload} to the journal`)
      }
    }
  }
}

function shown(history: readonly Operation[]): string {
  return [...history]
    .sort((one, other) => one.begin - other.begin)
    .map((operation) => JSON.stringify(operation))
    .join('\n')
}

async function replicaOf(client: Client, deadline = DEADLINE_MS): Promise<ReplicaFigures> {
  return (await client.stats({ deadline })).server.replica as ReplicaFigures
}
