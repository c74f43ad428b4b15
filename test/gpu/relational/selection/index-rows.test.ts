import t from 'tap'
import { ShardedTree } from '../../../../gpu/index/shards/sharded-tree.js'
import { DeviceWork } from '../../../../gpu/relational/query/device-work.js'
import { dictionaryOf } from '../../../../gpu/relational/query/dictionaries.js'
import { QueryKernels } from '../../../../gpu/relational/query/query-kernels.js'
import type { KeyCondition } from '../../../../gpu/relational/selection/index-keys.js'
import { indexRows } from '../../../../gpu/relational/selection/index-rows.js'
import type { ValueSet } from '../../../../gpu/relational/selection/selection-types.js'
import type { ColumnType } from '../../../../protocol/column-types.js'
import { asBytes } from '../../../../protocol/columns.js'
import { WarpdexError } from '../../../../protocol/errors.js'
import { packBatch } from '../../../../protocol/relation-values.js'
import { parseKeyType, WriteOp } from '../../../../protocol/types.js'
import { keysOfRows, keyTypeOf } from '../../../../src/engine/relation-indexes.js'
import { Random, seedOfRun } from '../../../random.js'
import { prepareBatch } from '../../../writes.js'
import { openDevice } from '../../open-device.js'

const seed = seedOfRun()
t.comment(`TEST_SEED=${seed}`)
const random = new Random(seed)
const device = await openDevice(t)
const kernels = await QueryKernels.create(device)
const { regionBytes } = device

type Value = number | bigint | string | null
const STRINGS = ['', '\0', 'a', 'ab', 'abc', 'b', 'city', 'é', '\uffee', '\u{1f600}']
const DICTIONARY = dictionaryOf(STRINGS)
/** Numbers that stand for floats in order: infinities, zero and others, the largest one NaN. */
const FLOATS = [
  0x007fffff, 0x00800000, 0x3fffffff, 0x7ffffffe, 0x80000000, 0xbf800000, 0xff800000, 0xffffffff,
]

/** So that later appends bring new values. */
let spread = 6

function randomNumber(type: ColumnType): bigint {
  switch (type) {
    case 'string':
      return BigInt(random.below(Math.min(spread, STRINGS.length)))
    case 'f32':
      return BigInt(random.pick(FLOATS))
    case 'u64':
    case 'i64':
      return random.pick([0n, 2n ** 63n, 2n ** 64n - 16n]) + BigInt(random.below(spread))
    default:
      return random.pick([0n, 2n ** 31n - 8n, 2n ** 32n - 16n]) + BigInt(random.below(spread))
  }
}

/** The value that a number in order stands for. */
function valueFor(type: ColumnType, number: bigint): Value {
  if (type === 'string') return STRINGS[Number(number)]!
  if (type === 'u32') return Number(number)
  if (type === 'i32') return Number(number - 2n ** 31n)
  if (type === 'u64') return number
  if (type === 'i64') return number - 2n ** 63n
  const word = Number(number)
  const bits = word >= 2 ** 31 ? word - 2 ** 31 : ~word
  return new Float32Array(Uint32Array.of(bits).buffer)[0]!
}

/** An end of a set: of floats also what would be −0. */
function randomEnd(type: ColumnType): bigint {
  return type === 'f32' && random.chance(0.2) ? 0x7fffffffn : randomNumber(type)
}

function randomSet(type: ColumnType, pieces: number): ValueSet {
  const ends = Array.from({ length: 2 * pieces }, () => randomEnd(type))
  ends.sort((a, b) => (a < b ? -1 : a > b ? 1 : 0))
  const intervals: { low: bigint; high: bigint }[] = []
  for (let i = 0; i < ends.length; i += 2) {
    const [low, high] = [ends[i]!, random.chance(0.5) ? ends[i]! : ends[i + 1]!]
    if (intervals.length === 0 || low > intervals.at(-1)!.high + 1n) intervals.push({ low, high })
  }
  return { intervals, nulls: false }
}

/** Columns of numbers in order, undefined for null, and an index over them. */
class Subject {
  readonly types: readonly ColumnType[]
  readonly columns: (bigint | undefined)[][]
  readonly tree: ShardedTree

  constructor(types: readonly ColumnType[], tree: ShardedTree) {
    this.types = types
    this.columns = types.map(() => [])
    this.tree = tree
  }

  static async create(types: readonly ColumnType[], structure: 'css' | 'prefix'): Promise<Subject> {
    const definitions = types.map((type, i) => ({ name: `c${i}`, type, nullable: true }))
    const keyType = parseKeyType(keyTypeOf(definitions))
    const shape = { keyType, payloadBytes: 4, unique: false, matchFrom: 0, structure }
    return new Subject(types, await ShardedTree.create(device, shape))
  }

  get rows(): number {
    return this.columns[0]!.length
  }

  async append(count: number, nulls: number): Promise<void> {
    const first = this.rows
    const definitions = this.types.map((type, i) => ({ name: `c${i}`, type, nullable: true }))
    const values: Record<string, Value[]> = {}
    this.types.forEach((type, i) => {
      const numbers = Array.from({ length: count }, () =>
        random.chance(nulls) ? undefined : randomNumber(type),
      )
      this.columns[i]!.push(...numbers)
      values[`c${i}`] = numbers.map((number) => (number === undefined ? null : valueFor(type, number)))
    })
    const keys = keysOfRows(packBatch(values, { name: 'r', columns: definitions }), definitions, first)
    ;(await this.tree.prepare({ ops: WriteOp.insert, ...keys })).apply()
  }

  /** The rows that satisfy conditions on leading columns. */
  wanted(sets: readonly ValueSet[]): number[] {
    const isIn = (number: bigint | undefined, { intervals }: ValueSet) =>
      number !== undefined && intervals.some(({ low, high }) => low <= number && number <= high)
    return Array.from({ length: this.rows }, (_, row) => row).filter((row) =>
      sets.every((set, i) => isIn(this.columns[i]![row], set)),
    )
  }

  async found(
    sets: readonly ValueSet[],
    { most = this.rows, expected = most, bytes = Number.POSITIVE_INFINITY }: Bounds = {},
  ): Promise<number[] | undefined> {
    const conditions = sets.map((set, i): KeyCondition => {
      const type = this.types[i]!
      return { type, set, dictionary: type === 'string' ? DICTIONARY : undefined }
    })
    const scratch = device.scratch((held) => {
      if (held > bytes) throw new WarpdexError('TOO_LARGE', `${held} bytes`)
    })
    try {
      const work = new DeviceWork(device, kernels, scratch)
      const question = { conditions, columns: this.types.length, rows: this.rows, expected, most }
      const { size } = scratch.held
      const found = await indexRows(work, this.tree, question)
      if (found !== undefined) return [...(await device.readWords(found.buffer, found.count))]
      if (scratch.held.size !== size) throw new Error('memory is held for nothing')
      return undefined
    } finally {
      scratch.release()
    }
  }
}

/** What is expected, and allowed. */
interface Bounds {
  readonly most?: number
  readonly expected?: number
  /** Of device memory. */
  readonly bytes?: number
}

function point(type: ColumnType): ValueSet {
  const low = type === 'f32' ? BigInt(random.pick(FLOATS.slice(0, -1))) : randomNumber(type)
  return { intervals: [{ low, high: low }], nulls: false }
}

/** Whether NaN is asked for: rows that have it are in no index. */
const hasNaN = (type: ColumnType, { intervals }: ValueSet) =>
  type === 'f32' && intervals.some(({ high }) => high === 0xffffffffn)

t.test('the rows of sets of values, in indexes over one column', async (t) => {
  const structures = random.chance(0.5) ? (['css', 'prefix'] as const) : (['prefix', 'css'] as const)
  // Each width of keys has kernels of its own, which take most of the time.
  const types = ['u32', 'i32', 'f32', ...random.pick([['u64', 'i64'], ['string']] as const)] as const
  for (const type of types) {
    const structure = structures[type.endsWith('64') || type === 'string' ? 1 : 0]
    const each = await Subject.create([type], structure)
    for (const step of ['filled', 'appended', 'compacted']) {
      spread = step === 'filled' ? 6 : 16
      if (step !== 'compacted') await each.append(step === 'filled' ? 700 : 90, 0.1)
      if (step !== 'appended') await each.tree.compactIfWorthwhile()
      for (let i = 0; i < 3; i++) {
        const set = i === 0 ? point(type) : randomSet(type, 1 + random.below(4))
        const wanted = hasNaN(type, set) ? undefined : each.wanted([set])
        t.same(await each.found([set]), wanted, `${structure} of ${type}, ${step}: ${wanted?.length} rows`)
      }
    }
    each.tree.destroy()
  }
})

t.test('leading columns of an index over several', async (t) => {
  const structure = random.pick(['css', 'prefix'] as const)
  const types = random.pick([
    ['string', 'i32'],
    ['u32', 'string'],
    ['i64', 'f32'],
  ] as const)
  const [one, other] = types
  for (const nulls of [0, 0.2]) {
    const each = await Subject.create(types, structure)
    await each.append(600, nulls)
    await each.tree.compactIfWorthwhile()
    const isWhole = each.tree.stats().payloads === each.rows
    for (const sets of [[point(one)], [randomSet(one, 3)]]) {
      const wanted = isWhole ? each.wanted(sets) : undefined
      t.same(await each.found(sets), wanted, `${types}, a part: ${wanted?.length} rows`)
    }
    for (const second of [point(other), randomSet(other, 2)]) {
      const sets = [point(one), second]
      const wanted = hasNaN(other, second) && !isWhole ? undefined : each.wanted(sets)
      t.same(await each.found(sets), wanted, `${types}, both: ${wanted?.length} rows`)
    }
    each.tree.destroy()
  }
})

t.test('leading values that no row has', async (t) => {
  const each = await Subject.create(['f32', 'i32'], random.pick(['css', 'prefix'] as const))
  await each.append(300, 0)
  const second = { intervals: [{ low: 0n, high: 2n ** 32n - 1n }], nulls: false }
  for (const [what, low] of [
    ['0', 0x80000000n],
    ['what would be −0', 0x7fffffffn],
    ['NaN', 0xffffffffn],
  ] as const) {
    const first = { intervals: [{ low, high: low }], nulls: false }
    for (const last of [second, point('i32')]) {
      const found = await each.found([first, last])
      t.same(
        found,
        hasNaN('f32', first) ? undefined : each.wanted([first, last]),
        `${what}: ${found?.length} rows`,
      )
    }
  }
  each.tree.destroy()
})

t.test('where there is no room', async (t) => {
  const each = await Subject.create(['string'], 'prefix')
  await each.append(600, 0)
  const set = { intervals: [{ low: 1n, high: 3n }], nulls: false }
  const wanted = each.wanted([set])
  t.same(await each.found([set], { expected: 4096, most: 10_000 }), wanted)
  t.equal(await each.found([set], { expected: 4097, most: 10_000 }), undefined, 'a range of too many rows')
  t.equal(await each.found([set], { bytes: 4096 }), undefined, 'in the memory of the query')
  each.tree.destroy()
})

t.test('indexes of several shards, and of none', async (t) => {
  const structure = random.pick(['css', 'prefix'] as const)
  device.regionBytes = 16 * 1024
  const each = await Subject.create(['u32'], structure)
  t.same(await each.found([point('u32')]), [], 'no rows')
  const keys = Uint32Array.from({ length: 4000 }, () => random.below(3000))
  const payloads = asBytes(Uint32Array.from(keys.keys()))
  each.columns[0]!.push(...Array.from(keys, BigInt))
  ;(await prepareBatch(each.tree, { ops: WriteOp.insert, keys: asBytes(keys), payloads })).apply()
  device.regionBytes = regionBytes
  t.ok(each.tree.stats().shards > 1, `${each.tree.stats().shards} shards`)
  const intervals = [
    { low: 5n, high: 5n },
    { low: 700n, high: 2100n },
    { low: 2500n, high: 2500n },
  ]
  const set = { intervals, nulls: false }
  t.same(await each.found([set]), each.wanted([set]), structure)
  t.equal(await each.found([set], { most: 100 }), undefined, 'more rows than it pays for')
  t.equal(await each.found([{ ...set, nulls: true }]), undefined, 'null is in no index')
  each.tree.destroy()
})
