import { setTimeout as pause } from 'node:timers/promises'
import {
  type Client,
  type ConnectOptions,
  connect,
  type Index,
  WarpdexError,
} from '../../../clients/sdk/index.js'
import type { ReplicaFigures } from '../../../protocol/replica.js'
import { Random } from '../../random.js'
import { Bulk } from './bulk.js'
import { type Entries, type Indexes, JointBatches } from './joint.js'
import { SpreadKeys } from './keys.js'
import { Marks } from './marks.js'
import type { NodeAddress } from './nodes.js'
import {
  type Act,
  explainFollower,
  explainHistory,
  type Operation,
  shownHistory,
  type Value,
} from './register.js'

const CLIENTS = 4
/** Further ones, where there are several replica sets. */
const JOINT_CLIENTS = 3
/** Keys that are written to at a time, few so that clients meet. */
const KEYS = 3
/** From here on they are of marks, one a client and replica set. */
const FIRST_MARK = 2 ** 20
/** After which nobody waits for an answer any more: the outcome is unknown. */
const DEADLINE_MS = 30_000
const REGISTERS = 'registers'
const JOURNAL = 'journal'
const NEVER = Number.POSITIVE_INFINITY

/**
 * Clients of a cluster, and all that they saw. Of its two indexes, the one has registers, to each of which they do all at once; to the other, whose keys have many payloads, each adds what
 * nobody else does.
 */
export class Load {
  readonly #nodes: readonly NodeAddress[]
  readonly #sets: number
  readonly #keys: SpreadKeys
  readonly #marks = new Marks()
  readonly #joint: JointBatches
  readonly #clients: Client[] = []
  readonly #histories = new Map<number, Operation[]>()
  /** Reads of a follower over one connection, by the key. */
  readonly #followed: Map<number, Operation[]>[] = []
  readonly #entries: Entries[] = []
  readonly #random: Random
  readonly #working: Promise<void>[] = []
  #bulk: Bulk | undefined
  readonly #wrong: string[] = []
  #isOver = false
  #written = 0
  #window = 0
  /** When writes were acknowledged, by replica set, and when followers answered. */
  readonly acknowledged: readonly number[][]
  readonly followed: number[] = []
  /** How often each error came whose cause is a fault. */
  readonly errors = new Map<string, number>()

  private constructor(nodes: readonly NodeAddress[], random: Random) {
    this.#nodes = nodes
    this.#random = random
    this.#sets = Math.max(...nodes.map(({ set }) => set)) + 1
    this.#keys = new SpreadKeys(this.#sets)
    this.#joint = new JointBatches({
      keys: this.#keys,
      sets: this.#sets,
      newValue: () => ++this.#written,
      note: (error) => this.#note(error),
    })
    this.acknowledged = Array.from({ length: this.#sets }, () => [])
  }

  static async start(nodes: readonly NodeAddress[], random: Random): Promise<Load> {
    const load = new Load(nodes, random)
    const definition = { keyType: 'u32', payloadKind: 'u32' } as const
    const { splitAt } = load.#keys
    const options = { ifNotExists: true, splitAt }
    for (let i = 0; i < CLIENTS + (load.#sets > 1 ? JOINT_CLIENTS : 0); i++) {
      const client = await load.#connect(nodes)
      const registers = await client.createIndex({ ...definition, name: REGISTERS, unique: true }, options)
      const journal = await client.createIndex({ ...definition, name: JOURNAL, unique: false }, options)
      const indexes = { client, registers, journal }
      const entries = {
        key: load.#keys.keyOf(i),
        acknowledged: new Set<number>(),
        unknown: new Set<number>(),
      }
      load.#entries.push(entries)
      load.#working.push(
        i < CLIENTS ? load.#write(indexes, entries, i) : load.#writeJointly(indexes, entries),
      )
    }
    for (const node of nodes) load.#working.push(load.#follow(node))
    load.#bulk = await Bulk.create(await load.#connect(nodes), load.#keys)
    return load
  }

  /** Goes on with other keys. */
  nextKeys(): void {
    this.#window++
  }

  /** Begins to write so much that nodes need more of their disks. */
  grow(): void {
    if (this.#bulk === undefined) return
    this.#working.push(this.#bulk.grow(this.#sets, (key, write) => this.#attempt(key, write)))
  }

  /** Number of the node that owns one of the replica sets, as far as another one knows; -1 where that knows of none. */
  async owner(): Promise<number> {
    const wanted = this.#random.below(this.#sets)
    const owners = this.#nodes.map(async (node) => {
      if (node.set !== wanted) throw new Error('it knows no owner of another replica set')
      const { owner } = await replicaOf(await this.#connect([node], { reads: 'any', set: wanted }))
      return this.#nodes.findIndex(({ url }) => url === owner)
    })
    return Promise.any(owners)
  }

  /** What each node says of itself, for whoever looks for what is wrong. */
  async state(): Promise<string> {
    const states = this.#nodes.map(async ({ url, set }) => {
      const client = await connect(url, { reads: 'any', set, connectTimeout: 3000 })
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
    const client = await this.#connect(this.#nodes)
    const registers = await client.index<'u32', 'u32'>(REGISTERS)
    for (const [key, history] of this.#histories) await this.#read(registers, key, history)
    const { positions } = await client.position()
    const all = await Promise.all(this.#nodes.map((node) => this.#contents(node, positions)))
    for (const [i, contents] of all.entries()) {
      const other = this.#nodes.findIndex(({ set }) => set === this.#nodes[i]!.set)
      if (contents !== all[other])
        throw new Error(`node ${i} has not the same as node ${other}:\n${contents}\n${all[other]}`)
    }
    this.#checkHistories()
    await this.#joint.check(registers)
    await this.#bulk?.check()
    await this.#checkJournal(await client.index<'u32', 'u32'>(JOURNAL))
  }

  async #connect(nodes: readonly NodeAddress[], options: ConnectOptions = {}): Promise<Client> {
    const urls = nodes.map(({ url }) => url)
    const client = await connect(urls, { deadline: DEADLINE_MS, connectTimeout: 3000, ...options })
    this.#clients.push(client)
    return client
  }

  async #writeJointly(indexes: Indexes, entries: Entries): Promise<void> {
    const random = new Random(this.#random.word())
    while (!this.#isOver) await this.#joint.act(this.#window, indexes, entries, random)
  }

  /** @param number of the client */
  async #write(
    { client, registers, journal }: Indexes,
    { key: own, acknowledged, unknown }: Entries,
    number: number,
  ): Promise<void> {
    const random = new Random(this.#random.word())
    while (!this.#isOver) {
      const key = this.#someKey(random)
      const history = this.#historyOf(key)
      const value = ++this.#written
      const kind = random.below(11)
      if (kind < 3) await this.#read(registers, key, history)
      else if (kind < 5) await this.#change(key, { kind: 'write', value }, () => registers.put(key, value))
      else if (kind < 6)
        await this.#change(key, { kind: 'write', value: undefined }, () => registers.delete(key))
      else if (kind < 8) await this.#swap(registers, key, value)
      else if (kind < 9) {
        const mark = this.#keys.keyOf(FIRST_MARK + number * this.#sets + random.below(this.#sets))
        await this.#attempt(mark, () => this.#marks.raise(client, registers, mark, value))
      } else {
        const isDone = await this.#attempt(own, () => journal.insert(own, value))
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
    const isDone = await this.#attempt(key, async () => {
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

  async #change(key: number, act: Act, call: () => Promise<unknown>): Promise<void> {
    const begin = performance.now()
    const isDone = await this.#attempt(key, call)
    this.#historyOf(key).push({ act, begin, end: isDone ? performance.now() : NEVER })
  }

  /** @returns whether it was answered */
  async #attempt(key: number, call: () => Promise<unknown>): Promise<boolean> {
    try {
      await call()
      this.acknowledged[this.#keys.setOf(key)]!.push(performance.now())
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
  async #follow(node: NodeAddress): Promise<void> {
    const { set } = node
    const random = new Random(this.#random.word())
    let reads = new Map<number, Operation[]>()
    const start = () => {
      reads = new Map()
      this.#followed.push(reads)
    }
    start()
    const client = await this.#connect([node], { reads: 'any', set, onDisconnect: start })
    while (!this.#isOver) {
      const key = this.#someKey(random, set)
      const mark = this.#keys.keyOf(FIRST_MARK + random.below(CLIENTS) * this.#sets + set)
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
        const wrong = await this.#marks.explain(client, set, mark)
        if (seen === reads && wrong !== undefined) this.#wrong.push(wrong)
      } catch (error) {
        this.#note(error)
      }
      await pause(50)
    }
  }

  /** One of those that are written to at the moment, of any replica set unless one is given. */
  #someKey(random: Random, set?: number): number {
    for (;;) {
      const key = this.#keys.keyOf(this.#window * KEYS + random.below(KEYS))
      if (set === undefined || this.#keys.setOf(key) === set) return key
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
  async #contents(node: NodeAddress, positions: readonly number[]): Promise<string> {
    const { set } = node
    const client = await this.#connect([node], { reads: 'any', set })
    await client.reached({ positions: positions.slice(set, set + 1) }).catch(async (cause: unknown) => {
      throw new Error(`${node.url} does not come to position ${positions[set]}\n${await this.state()}`, {
        cause,
      })
    })
    let contents = ''
    for (const name of [REGISTERS, JOURNAL]) {
      for await (const { key, payload } of client.index<'u32', 'u32'>(name).entries())
        contents += `${key}: ${payload}\n`
    }
    return contents
  }

  #checkHistories(): void {
    if (this.#wrong.length > 0) throw new Error(`a follower went back: ${this.#wrong.join('; ')}`)
    for (const [key, history] of this.#histories) {
      const wrong = explainHistory(history)
      if (wrong !== undefined)
        throw new Error(`the history of key ${key} is not linearizable: ${wrong}\n${shownHistory(history)}`)
    }
    for (const connection of this.#followed) {
      for (const [key, reads] of connection) {
        const wrong = explainFollower(reads, this.#historyOf(key))
        if (wrong !== undefined) throw new Error(`a follower's key ${key}: ${wrong}\n${shownHistory(reads)}`)
      }
    }
  }

  async #checkJournal(journal: Index<'u32', 'u32'>): Promise<void> {
    for (const [client, { key, acknowledged, unknown }] of this.#entries.entries()) {
      const found = [...(await journal.getAll(key))]
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

async function replicaOf(client: Client, deadline = DEADLINE_MS): Promise<ReplicaFigures> {
  return (await client.stats({ deadline })).server.replica as ReplicaFigures
}
