import t, { type Test } from 'tap'
import { connect, type Index } from '../../../clients/sdk/index.js'
import { Device } from '../../../gpu/device/device.js'
import type { TreeLayout } from '../../../protocol/traversal.js'
import type { PayloadKind } from '../../../protocol/types.js'
import { loadConfig, startServer } from '../../../src/server/index.js'
import { everyOther, Random, seedOfRun } from '../../random.js'

type WalkKey = number | string

/** Keys whose neighbours begin alike where they are strings. */
const KEYS = 60
/** Behind all payloads of a key. */
const PAST = 0xffffffff

const seed = seedOfRun()
t.comment(`TEST_SEED=${seed}`)

interface Subject {
  readonly keyType: 'u32' | 'string'
  readonly payloadKind: PayloadKind
  readonly unique?: boolean
  readonly layout: TreeLayout
  /** Bytes of a region at most, so that the index is cut into shards. */
  readonly regionBytes?: number
}

const SUBJECTS: Readonly<Record<string, Subject>> = {
  'a CSS-tree': { keyType: 'u32', payloadKind: 'u32', layout: { structure: 'css' } },
  'a CSS-tree of strings, with payloads of any length': {
    keyType: 'string',
    payloadKind: 'bytes',
    layout: { structure: 'css' },
  },
  'a unique CSS-tree': { keyType: 'u32', payloadKind: 'u64', unique: true, layout: { structure: 'css' } },
  'a prefix tree': { keyType: 'u32', payloadKind: 'bytes', layout: { structure: 'prefix' } },
  'a linked prefix tree of strings, with partitions': {
    keyType: 'string',
    payloadKind: 'u64',
    layout: { structure: 'prefix', linked: true, partitionLevels: 'auto' },
  },
  'shards of a CSS-tree': {
    keyType: 'string',
    payloadKind: 'fixed(64)',
    layout: { structure: 'css' },
    regionBytes: 16 * 1024,
  },
  'shards of a prefix tree': {
    keyType: 'u32',
    payloadKind: 'fixed(64)',
    layout: { structure: 'prefix' },
    regionBytes: 16 * 1024,
  },
}

/** A plain list of what the index holds. No payload is stored twice, so that each is known by its number. */
class Model {
  readonly #lists = new Map<WalkKey, number[]>()
  #payloads = 0

  payloadsOf(key: WalkKey): readonly number[] {
    return this.#lists.get(key) ?? []
  }

  newPayload(): number {
    return ++this.#payloads
  }

  add(key: WalkKey, payload: number): void {
    this.#lists.set(key, [...this.payloadsOf(key), payload])
  }

  remove(key: WalkKey, payload: number): void {
    this.#lists.set(
      key,
      this.payloadsOf(key).filter((other) => other !== payload),
    )
  }

  /** All payloads of keys that follow `key`, or are it. */
  from(key: WalkKey, reverse: boolean): Set<number> {
    const keys = [...this.#lists.keys()].filter((other) => (reverse ? other <= key : other >= key))
    return new Set(keys.flatMap((key) => this.payloadsOf(key)))
  }
}

/** A walk by get and getNext, and what it must come by. */
class Walk {
  readonly reverse: boolean
  readonly begin: WalkKey
  /** Where it is; undefined at its end. */
  at: { readonly key: WalkKey; readonly sequence: number } | undefined
  readonly #model: Model
  readonly #thereAllAlong: Set<number>
  readonly #met = new Set<number>()

  constructor(model: Model, begin: WalkKey, reverse: boolean) {
    this.reverse = reverse
    this.begin = begin
    this.at = { key: begin, sequence: PAST }
    this.#model = model
    this.#thereAllAlong = model.from(begin, reverse)
  }

  meet(key: WalkKey, payload: number, sequence: number): void {
    const { key: before = this.begin } = this.at ?? {}
    if (this.reverse ? key > before : key < before) throw new Error(`${key} comes behind ${before}`)
    if (!this.#model.payloadsOf(key).includes(payload)) throw new Error(`${key} has no payload ${payload}`)
    if (this.#met.has(payload)) throw new Error(`payload ${payload} of ${key} is met twice`)
    this.#met.add(payload)
    this.at = { key, sequence }
  }

  /** A payload is deleted. */
  forget(payload: number): void {
    this.#thereAllAlong.delete(payload)
  }

  get missed(): number[] {
    return [...this.#thereAllAlong].filter((payload) => !this.#met.has(payload))
  }

  get met(): number {
    return this.#met.size
  }
}

/** Random writes and walks in an index. */
class Program {
  readonly #random: Random
  readonly #subject: Subject
  readonly #model = new Model()
  readonly #walks: Walk[] = []
  #index: Index

  constructor(random: Random, subject: Subject, index: Index) {
    this.#random = random
    this.#subject = subject
    this.#index = index
  }

  async fill(): Promise<void> {
    const { unique = false, regionBytes } = this.#subject
    const perKey = unique ? 1 : regionBytes === undefined ? 4 : 6
    const keys = Array.from({ length: perKey * KEYS }, () => this.#key())
    await this.#insert(keys)
  }

  /** Forwards they begin by a get, backwards behind the last payload of a key. */
  async begin(): Promise<void> {
    for (let i = 0; i < 12; i++) {
      const begin = i < 4 ? this.#nthKey(i % 2 === 0 ? 0 : KEYS) : this.#key()
      this.#walks.push(new Walk(this.#model, begin, i % 2 === 1))
    }
    const forwards = this.#walks.filter(({ reverse }) => !reverse)
    const first = await this.#index.getMany(
      forwards.map(({ begin }) => begin),
      { sequences: true },
    )
    for (const [i, walk] of forwards.entries()) {
      const sequence = first.sequences![i]!
      if (first.has(i)) walk.meet(walk.begin, numberOf(first.payloads.at(i)), sequence)
      else walk.at = { key: walk.begin, sequence }
    }
  }

  /** @returns whether there is a next step */
  async step(): Promise<boolean> {
    const walking = this.#walks.filter(({ at }) => at !== undefined)
    const alone = walking.filter((_, i) => i % 3 === 0)
    const together = walking.filter((_, i) => i % 3 > 0)
    const groups = [
      ...alone.map((walk) => [walk]),
      together.filter(({ reverse }) => reverse),
      together.filter(({ reverse }) => !reverse),
    ]
    await Promise.all(groups.filter(({ length }) => length > 0).map((walks) => this.#advance(walks)))
    return walking.length > 0
  }

  async #advance(walks: readonly Walk[]): Promise<void> {
    const next = await this.#index.getNextMany(
      walks.map(({ at, begin }) => at?.key ?? begin),
      { reverse: walks[0]!.reverse, sequences: Uint32Array.from(walks, ({ at }) => at?.sequence ?? 0) },
    )
    for (const [i, walk] of walks.entries()) {
      if (next.has(i)) walk.meet(keyOf(next.key(i)), numberOf(next.payloads.at(i)), next.sequences[i]!)
      else walk.at = undefined
    }
  }

  /** Deletes payloads, many of them where walks are, or all of a key; inserts others. */
  async write(): Promise<void> {
    const [walk] = this.#walks.filter(({ at }) => at !== undefined && this.#random.chance(0.3))
    const keys = [this.#key(), this.#key(), ...(walk?.at ? [walk.at.key] : [])]
    if (this.#random.chance(0.3)) {
      await this.#index.deleteMany(keys)
      for (const key of keys) for (const payload of this.#model.payloadsOf(key)) this.#forget(key, payload)
    } else if (this.#random.chance(0.6)) {
      const pairs = keys.flatMap((key) => {
        const payloads = this.#model.payloadsOf(key).filter(() => this.#random.chance(0.5))
        return payloads.map((payload) => [key, payload] as const)
      })
      const payloads = pairs.map(([, payload]) => this.#stored(payload))
      await this.#index.deleteMany(
        pairs.map(([key]) => key),
        { payloads },
      )
      for (const [key, payload] of pairs) this.#forget(key, payload)
    } else await this.#insert(keys)
  }

  /** Goes on in the index as another server has it. */
  moveTo(index: Index): void {
    this.#index = index
  }

  check(t: Test): void {
    t.strictSame(
      this.#walks.map(({ missed }) => missed),
      this.#walks.map(() => []),
      'nothing that was there all along is missed',
    )
    t.ok(this.#walks[0]!.met > KEYS / 4, `the first walk met ${this.#walks[0]!.met} payloads`)
  }

  async #insert(keys: readonly WalkKey[]): Promise<void> {
    const payloads = keys.map(() => this.#model.newPayload())
    const codes = await this.#index.insertMany(
      [...keys],
      payloads.map((payload) => this.#stored(payload)),
    )
    for (const [i, key] of keys.entries()) if (codes[i] === 0) this.#model.add(key, payloads[i]!)
  }

  #forget(key: WalkKey, payload: number): void {
    this.#model.remove(key, payload)
    for (const walk of this.#walks) walk.forget(payload)
  }

  #stored(payload: number): number | bigint | Uint8Array {
    const { payloadKind } = this.#subject
    if (payloadKind === 'u64') return BigInt(payload)
    if (payloadKind === 'u32') return payload
    return Buffer.from(String(payload).padEnd(payloadKind === 'bytes' ? payload % 60 : 64, '.'))
  }

  #key(): WalkKey {
    return this.#nthKey(this.#random.below(KEYS))
  }

  #nthKey(i: number): WalkKey {
    return this.#subject.keyType === 'u32' ? i * 40_503 : 'ab'.repeat(i % 4) + String(i)
  }
}

function keyOf(key: unknown): WalkKey {
  if (typeof key === 'number' || typeof key === 'string') return key
  throw new Error(`${String(key)} is no key of these`)
}

function numberOf(payload: unknown): number {
  if (!(payload instanceof Uint8Array)) return Number(payload)
  return Number.parseInt(Buffer.from(payload).toString(), 10)
}

async function openServer(t: Test, directory: string, regionBytes: number | undefined) {
  const config = loadConfig({ flags: { port: 0, directory, ioThreads: regionBytes === undefined ? 1 : 0 } })
  const server = await startServer(config, {
    openDevice: async () => {
      const device = await Device.open('software')
      return Object.assign(device, regionBytes && { regionBytes })
    },
  })
  const client = await connect(server.url)
  const close = async () => {
    await client.close()
    await server.close()
  }
  t.teardown(close)
  return { server, client, close }
}

for (const [what, subject] of everyOther(Object.entries(SUBJECTS), seed)) {
  t.test(`walks by get and getNext come by all that is there once, in ${what}`, async (t) => {
    const { keyType, payloadKind, unique = false, layout, regionBytes } = subject
    const directory = t.testdir()
    const first = await openServer(t, directory, regionBytes)
    await first.client.createIndex({ name: 'walked', keyType, payloadKind, unique, ...layout })
    const program = new Program(new Random(seed), subject, first.client.index('walked'))
    await program.fill()
    const { shards } = await first.client.index('walked').stats()
    t.equal(Number(shards) > 1, regionBytes !== undefined, `${shards} shards`)
    await program.begin()
    for (let i = 0; i < KEYS / 3; i++) {
      await program.step()
      await program.write()
    }
    // Sequence numbers outlive the process.
    await first.client.takeSnapshot()
    await program.write()
    await first.close()
    const second = await openServer(t, directory, regionBytes)
    program.moveTo(second.client.index('walked'))
    while (await program.step()) await program.write()
    program.check(t)
  })
}
