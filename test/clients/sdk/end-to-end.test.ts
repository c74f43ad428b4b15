import t, { type Test } from 'tap'
import {
  type Client,
  connect,
  type IfExists,
  type Index,
  type Payload,
  type PayloadKind,
  ResultCode,
} from '../../../clients/sdk/index.js'
import { type ColumnConstructor, KEY_ARRAYS, type KeyArray } from '../../../protocol/columns.js'
import { FIXED_KEY_TYPES, type FixedKeyType, type IndexDefinition, WriteOp } from '../../../protocol/types.js'
import { loadConfig, startServer } from '../../../src/server/index.js'
import { Random, seedOfRun } from '../../random.js'
import { type ModelEntry, ModelIndex, type ModelKey } from './model-index.js'

type Stored = Payload<PayloadKind>
const PAYLOAD_KINDS: readonly PayloadKind[] = ['u32', 'u64', 'bytes', 'text', 'json', 'fixed(5)']
const INSERT_OPS: { readonly [What in IfExists]: WriteOp } = {
  add: WriteOp.insert,
  keep: WriteOp.insertIfAbsent,
  replace: WriteOp.replace,
}
const UNBOUNDED = { from: undefined, to: undefined, fromExclusive: false, toExclusive: false }

type FixedDefinition = IndexDefinition & { readonly keyType: FixedKeyType }

/** An index of the server and its model, to which a random program does the same. */
class Pair {
  readonly #t: Test
  readonly #random: Random
  readonly #definition: FixedDefinition
  readonly #index: Index
  readonly #model: ModelIndex
  readonly #keySpace: readonly ModelKey[]

  constructor(t: Test, random: Random, client: Client, definition: FixedDefinition) {
    this.#t = t
    this.#random = random
    this.#definition = definition
    this.#index = client.index(definition.name)
    this.#model = new ModelIndex(definition)
    this.#keySpace = Array.from({ length: 120 }, () => randomKey(random, definition.keyType))
  }

  async insert(ifExists: IfExists): Promise<void> {
    const keys = this.#keys(200)
    const column = this.#column(keys)
    const payloads = keys.map(() => this.#payload())
    const codes =
      ifExists === 'replace'
        ? await this.#index.putMany(column, payloads)
        : await this.#index.insertMany(column, payloads, { ifExists })
    this.#compareCodes(
      codes,
      keys.map((key, i) => [INSERT_OPS[ifExists], key, payloads[i]]),
      `insert, ${ifExists}`,
    )
  }

  async delete(pairs: boolean): Promise<void> {
    const keys = this.#keys(20)
    const payloads = keys.map(() => this.#payload())
    const codes = await this.#index.deleteMany(this.#column(keys), pairs ? { payloads } : {})
    const op = pairs ? WriteOp.deletePair : WriteOp.deleteKey
    this.#compareCodes(
      codes,
      keys.map((key, i) => [op, key, payloads[i]]),
      `delete${pairs ? ' of pairs' : ''}`,
    )
  }

  async write(): Promise<void> {
    const batch = this.#index.batch()
    const items = this.#keys(100).map((key): [WriteOp, ModelKey, Stored] => {
      const op = this.#random.pick(Object.values(WriteOp))
      const payload = this.#payload()
      if (op === WriteOp.insert) batch.insert(key, payload)
      else if (op === WriteOp.insertIfAbsent) batch.insert(key, payload, { ifExists: 'keep' })
      else if (op === WriteOp.replace) batch.put(key, payload)
      else batch.delete(key, op === WriteOp.deletePair ? { payload } : {})
      return [op, key, payload]
    })
    this.#compareCodes(await batch.write(), items, 'write')
  }

  async compareReads(): Promise<void> {
    const keys = this.#keys(60)
    const column = this.#column(keys)
    const lists = keys.map((key) => this.#model.of(key).map(textOf))
    const [got, all, counts, one] = await Promise.all([
      this.#index.getMany(column),
      this.#index.getAllMany(column),
      this.#index.countMany(column),
      this.#index.get(keys[0]),
    ])
    this.#same(
      keys.map((_, i) => show(got.payload(i))),
      lists.map(([first]) => first),
      'get',
    )
    this.#same(show(one), lists[0][0], 'get')
    this.#same(
      keys.map((_, i) => all.of(i).map(show)),
      lists,
      'getAll',
    )
    this.#same(
      [...counts],
      lists.map(({ length }) => length),
      'count',
    )
    for (const reverse of [false, true]) {
      await this.#compareNext(keys, reverse)
      await this.#compareScan(reverse)
      await this.#compareRanges(reverse)
    }
  }

  async #compareNext(keys: readonly ModelKey[], reverse: boolean): Promise<void> {
    const after = (key: ModelKey, sequence: number) =>
      this.#model.scan({ ...UNBOUNDED, reverse, after: { key, sequence } })[0]
    const next = await this.#index.getNextMany(keys, { reverse })
    const expected = keys.map((key) => after(key, reverse ? -1 : Number.POSITIVE_INFINITY))
    const seen = keys.map((_, i) => (next.has(i) ? [next.key(i), show(next.payloads.at(i))] : undefined))
    this.#same(seen, expected.map(pairOf), `getNext, reverse ${reverse}`)
    const there = expected.flatMap((entry, i) => (entry === undefined ? [] : [{ entry, i }]))
    const within = await this.#index.getNextMany(
      there.map(({ i }) => next.key(i)),
      { reverse, sequences: Uint32Array.from(there, ({ i }) => next.sequences[i]) },
    )
    this.#same(
      there.map((_, i) => (within.has(i) ? [within.key(i), show(within.payloads.at(i))] : undefined)),
      there.map(({ entry }) => pairOf(after(entry.key, entry.sequence))),
      `getNext within keys, reverse ${reverse}`,
    )
  }

  async #compareScan(reverse: boolean): Promise<void> {
    const [from, to] = this.#random.chance(0.3) ? [] : this.#keys(2).sort((a, b) => (a < b ? -1 : 1))
    const ends = { fromExclusive: this.#random.chance(0.5), toExclusive: this.#random.chance(0.5) }
    const seen: unknown[] = []
    for await (const { key, payload } of this.#index.entries({ from, to, ...ends, reverse, pageSize: 70 })) {
      seen.push([key, show(payload)])
    }
    const expected = this.#model.scan({ from, to, ...ends, reverse, after: undefined })
    this.#same(seen, expected.map(pairOf), `scan from ${from} to ${to}, reverse ${reverse}`)
  }

  async #compareRanges(reverse: boolean): Promise<void> {
    const bounds = Array.from({ length: 9 }, () => this.#keys(2).sort((a, b) => (a < b ? -1 : 1)))
    const from = bounds.map(([low]) => low)
    const to = this.#random.chance(0.3) ? undefined : bounds.map(([, high]) => high)
    const ends = { fromExclusive: this.#random.chance(0.5), toExclusive: this.#random.chance(0.5), reverse }
    const seen = bounds.map((): unknown[] => [])
    for await (const page of this.#index.ranges({ from, to, ...ends, pageSize: 25 }).pages()) {
      for (let i = 0; i < seen.length; i++) {
        const entries = page.of(i)
        for (let j = 0; j < entries.length; j++) seen[i].push([entries.key(j), show(entries.payloads.at(j))])
      }
    }
    const expected = bounds.map((_, i) =>
      this.#model.scan({ from: from[i], to: to?.[i], ...ends, after: undefined }).map(pairOf),
    )
    this.#same(seen, expected, `scanRanges, reverse ${reverse}`)
  }

  #compareCodes(codes: Uint8Array, items: readonly [WriteOp, ModelKey, Stored][], what: string): void {
    const expected = items.map(([op, key, payload]) => this.#model.write(op, key, bytesOf(payload)))
    this.#same([...codes], expected, `codes of ${what}`)
  }

  #same(seen: unknown, expected: unknown, what: string): void {
    this.#t.strictSame(seen, expected, what)
  }

  #keys(count: number): ModelKey[] {
    return Array.from({ length: count }, () => this.#random.pick(this.#keySpace))
  }

  /** The keys as a caller may give them: as a typed array, or as they are. */
  #column(keys: readonly ModelKey[]): KeyArray | readonly ModelKey[] {
    return this.#random.chance(0.5) ? keys : typedArray(this.#definition.keyType, keys)
  }

  /** One of few, so that pairs are met again. */
  #payload(): Stored {
    const value = this.#random.below(4)
    switch (this.#definition.payloadKind) {
      case 'u32':
        return 2 ** 32 - 1 - value
      case 'u64':
        return 2n ** 64n - 1n - BigInt(value)
      case 'bytes':
        return new Uint8Array([0, 1, 37, 5000][value]).fill(value)
      case 'text':
        return ['', '\ufeffgrüß \u{1f600}', '\0', 'x'.repeat(5000)][value]!
      case 'json':
        return [null, 'null', { a: [1, true, 'ß'], b: {} }, [0.5, null, { long: 'x'.repeat(5000) }]][value]!
      default:
        return Uint8Array.of(255, value, 0, 1, value)
    }
  }
}

/** A key anywhere, near 0, or at an end of its type; -0 is left out, because it comes back as 0. */
function randomKey(random: Random, keyType: FixedKeyType): ModelKey {
  const small = random.below(50)
  if (keyType === 'u32') return random.pick([small, random.word(), 2 ** 32 - 1])
  if (keyType === 'i32') return random.pick([small, -1 - small, random.word() | 0, -(2 ** 31), 2 ** 31 - 1])
  const wide = (BigInt(random.word()) << 32n) | BigInt(random.word())
  if (keyType === 'u64') return random.pick([BigInt(small), wide, 2n ** 64n - 1n])
  if (keyType === 'i64') {
    return random.pick([BigInt(small), BigInt(-1 - small), BigInt.asIntN(64, wide), -(2n ** 63n)])
  }
  const fraction = (random.word() - 2 ** 31) / 2 ** 20
  const value = random.pick([small, -1 - small, fraction, 1e-45, Infinity, -Infinity])
  return keyType === 'f32' ? Math.fround(value) : value
}

function typedArray(keyType: FixedKeyType, keys: readonly ModelKey[]): KeyArray {
  const Column: ColumnConstructor<KeyArray> = KEY_ARRAYS[keyType]
  const column = new Column(new ArrayBuffer(keys.length * Column.BYTES_PER_ELEMENT), 0, keys.length)
  keys.forEach((key, i) => {
    column[i] = key
  })
  return column
}

/** A payload as a text, in which form the model holds it, and in which payloads are compared. */
function show(payload: Stored | undefined): string | undefined {
  if (payload instanceof Uint8Array) return `bytes ${Buffer.from(payload).toString('hex')}`
  return typeof payload === 'bigint' ? payload.toString() : JSON.stringify(payload)
}

function bytesOf(payload: Stored): Uint8Array {
  return Buffer.from(show(payload) ?? '')
}

function textOf({ payload }: ModelEntry): string {
  return Buffer.from(payload).toString()
}

function pairOf(entry: ModelEntry | undefined): [ModelKey, string] | undefined {
  return entry && [entry.key, textOf(entry)]
}

async function open(t: Test): Promise<Client> {
  const config = loadConfig({ flags: { port: 0, directory: t.testdir(), adapter: 'software' } })
  const server = await startServer(config)
  const client = await connect(server.url)
  t.teardown(async () => {
    client.close()
    await server.close()
  })
  return client
}

const client = await open(t)

t.test('what the client writes to a server on the device comes back as from a plain list', async (t) => {
  for (const keyType of FIXED_KEY_TYPES) {
    for (const payloadKind of PAYLOAD_KINDS) {
      const seed = seedOfRun()
      const random = new Random(seed)
      const unique = random.chance(0.4)
      const definition = { name: `${keyType} to ${payloadKind}`, keyType, payloadKind, unique }
      await t.test(`${definition.name}${unique ? ', unique' : ''}, seed ${seed}`, async (t) => {
        await client.createIndex(definition)
        const pair = new Pair(t, random, client, definition)
        await pair.compareReads()
        await pair.insert('add')
        await pair.insert('keep')
        await pair.compareReads()
        await pair.delete(true)
        await pair.insert('replace')
        await pair.delete(false)
        await pair.write()
        await pair.compareReads()
        t.equal(await client.dropIndex(definition.name), true)
      })
    }
  }
})

t.test('NaN and zeros of both signs as keys', async (t) => {
  for (const keyType of ['f32', 'f64'] as const) {
    await client.createIndex({ name: keyType, keyType, payloadKind: 'u32', unique: false })
    const index = client.index<typeof keyType, 'u32'>(keyType)
    const codes = await index.insertMany([Number.NaN, -0, 0], [1, 2, 3])
    const { notANumber, inserted } = ResultCode
    t.strictSame([...codes], [notANumber, inserted, inserted])
    const got = await index.getAllMany([0, -0, Number.NaN])
    t.strictSame([got.of(0), got.of(1), got.of(2)], [[2, 3], [2, 3], []])
    t.strictSame((await index.ranges({ from: [], pageSize: 5 }).firstPage()).ranges, 0)
  }
})

t.test('a strategy that is named is used, or refused where there are no partitions', async (t) => {
  await client.createIndex({ name: 'words', keyType: 'string', payloadKind: 'u32', unique: false })
  const index = client.index<'string', 'u32'>('words')
  const sequential = { strategy: 'sequential' } as const
  const { inserted, deleted } = ResultCode
  t.strictSame(
    [...(await index.insertMany(['a', 'b', 'bc'], [1, 2, 3], sequential))],
    [inserted, inserted, inserted],
  )
  t.strictSame([...(await index.deleteMany(['a'], sequential))], [deleted])
  t.equal((await index.getMany(['bc'], sequential)).payload(0), 3)
  t.equal((await index.getNextMany(['b'], sequential)).key(0), 'bc')
  t.strictSame([...(await index.batch().delete('b').write(sequential))], [deleted])
  const explained = await index.explain(['abc', 'a'], sequential)
  t.match(explained, { strategy: 'sequential', batch: 2, partitions: null, tables: null })
  const refusal = { code: 'BAD_REQUEST', message: /the index has no partitions/ }
  await t.rejects(index.getMany(['a'], { strategy: 'speculative' }), refusal)
  await t.rejects(index.insertMany(['x'], [1], { strategy: 'directed', resolution: 'reversed' }), refusal)
  await t.rejects(index.explain(['a'], { strategy: 'hierarchical' }), refusal)
  const message = /resolution needs a strategy/
  await t.rejects(index.getMany(['a'], { ...sequential, resolution: 'serial' }), {
    code: 'BAD_REQUEST',
    message,
  })
  await t.rejects(index.explain([]), { code: 'BAD_REQUEST', message: /needs at least one key/ })
  t.strictSame([...(await index.countMany(['bc', 'x']))], [1, 0])
})

t.test('a linked index is read in order from both ends, with keys coming and going', async (t) => {
  const definition = { keyType: 'u32', payloadKind: 'u32', unique: false } as const
  await client.createIndex({ ...definition, name: 'links', linked: true })
  t.strictSame(
    (await client.listIndexes()).find(({ name }) => name === 'links'),
    { name: 'links', ...definition, linked: true },
  )
  await t.rejects(client.createIndex({ ...definition, name: 'links' }, { ifNotExists: true }), {
    code: 'INDEX_EXISTS',
    message: /not unique, linked; drop/,
  })
  const index = client.index<'u32', 'u32'>('links')
  const keysOf = async (options: Parameters<typeof index.entries>[0]) => {
    const keys: number[] = []
    for await (const { key } of index.entries(options)) keys.push(key)
    return keys
  }
  const present = new Set<number>()
  const compare = async () => {
    const keys = [...present].sort((a, b) => a - b)
    t.strictSame(await keysOf({}), keys)
    t.strictSame(await keysOf({ reverse: true }), keys.toReversed())
    const inside = keys.filter((key) => key >= 100 && key <= 800)
    const range = { from: 100, to: 800 }
    t.strictSame(await keysOf({ ...range, pageSize: 7 }), inside)
    t.strictSame(await keysOf({ ...range, reverse: true, pageSize: 7 }), inside.toReversed())
    const [found, before] = [
      await index.getNextMany([100]),
      await index.getNextMany([800], { reverse: true }),
    ]
    t.equal(
      found.key(0),
      keys.find((key) => key > 100),
    )
    t.equal(
      before.key(0),
      keys.findLast((key) => key < 800),
    )
  }
  // Two orders of the same residues, so that keys of the second batch come between those of the first.
  for (const factor of [37, 101]) {
    const batch = Array.from({ length: 60 }, (_, i) => (i * factor) % 997).filter((key) => !present.has(key))
    await index.insertMany(batch, batch)
    for (const key of batch) present.add(key)
    await compare()
  }
  const gone = [...present].filter((key) => key % 3 === 0)
  await index.deleteMany(gone)
  for (const key of gone) present.delete(key)
  await compare()
})
