import t from 'tap'
import type { DeviceReads } from '../../../../gpu/device-reads.js'
import { ShardedTree } from '../../../../gpu/index/shards/sharded-tree.js'
import type { IndexShape } from '../../../../gpu/index-structure.js'
import type { DeviceMemory } from '../../../../gpu/memory/page-run.js'
import type { SideName } from '../../../../gpu/relational/joins/join-types.js'
import type { TreeProbe } from '../../../../gpu/relational/joins/tree-index.js'
import { StringDictionary } from '../../../../gpu/relational/string-dictionary.js'
import { asBytes, type Column, type CutColumn, columnFrom, columnOf } from '../../../../protocol/columns.js'
import { JOIN_KINDS, type JoinKind } from '../../../../protocol/query/tree.js'
import { keyWidth, WriteOp } from '../../../../protocol/types.js'
import { Random, seedOfRun } from '../../../random.js'
import { prepareBatch } from '../../../writes.js'
import { joinOnHost, openJoins, readResult, samePairs, uploadSide } from './join-bed.js'

const seed = seedOfRun()
t.comment(`TEST_SEED=${seed}`)
const random = new Random(seed)

const TYPES = ['u32', 'i32', 'f32', 'u64', 'i64'] as const
type Type = (typeof TYPES)[number]
/** Kernels are those of a structure and a width of keys, so that few are made. */
const [NARROW, WIDE] = random.chance(0.5) ? (['css', 'prefix'] as const) : (['prefix', 'css'] as const)
const structureOf = (type: Type) => (type.endsWith('64') ? WIDE : NARROW)

/** Keys as on the wire, of numbers that stand for them; what is equal has one number. */
function wireKeys(type: Type, numbers: readonly number[]): Uint8Array {
  if (type === 'u32') return asBytes(Uint32Array.from(numbers, (number) => number * 7_654_321))
  if (type === 'u64' || type === 'i64') {
    const low = type === 'i64' ? -100n : 0n
    const keys = numbers.map((number) => (BigInt(number) + low) * 0x1_2345_6789n)
    return asBytes(type === 'i64' ? BigInt64Array.from(keys) : BigUint64Array.from(keys))
  }
  const keys = numbers.map((number) => (number - 100) / 8)
  return asBytes(type === 'f32' ? Float32Array.from(keys) : Int32Array.from(keys, (key) => key * 8))
}

function stringKeys(numbers: readonly number[]): CutColumn {
  return columnOf(numbers.map((number) => new TextEncoder().encode(number === 0 ? '' : `key ${number}\0`)))
}

const shapeOf = (keyType: IndexShape['keyType'], structure: 'css' | 'prefix'): IndexShape => ({
  keyType,
  payloadBytes: 4,
  unique: false,
  matchFrom: 0,
  structure,
})

async function fill(tree: ShardedTree, keys: Column, rows: readonly number[]): Promise<void> {
  const columns = { keys, payloads: asBytes(Uint32Array.from(rows)) }
  ;(await prepareBatch(tree, { ops: WriteOp.insert, ...columns })).apply()
  await tree.compactIfWorthwhile()
}

const someNumbers = (count: number, most: number) => Array.from({ length: count }, () => random.below(most))

/** Joins with a tree, and on the host. */
async function check(
  tree: ShardedTree,
  { build, kind }: { readonly build: SideName; readonly kind: JoinKind },
  indexed: readonly number[],
  probe: { readonly numbers: readonly number[]; readonly column: TreeProbe },
): Promise<void> {
  const { joins, openWork } = await openJoins('serial')
  const work = openWork()
  const result = await tree.duringReads((reads: DeviceReads) =>
    joins.joinByTree(work, {
      index: reads,
      build,
      buildRows: indexed.length,
      probe: probe.column,
      probeRows: probe.numbers.length,
      kind,
      passBytes: 2 ** 16,
    }),
  )
  if (result === undefined) throw new Error('there was no room')
  const { pairs } = await readResult(work, result)
  work.scratch.release()
  const sides = [probe.numbers, indexed].map((numbers) => ({ keys: numbers.map(BigInt) }))
  const [left, right] = build === 'left' ? sides.toReversed() : sides
  samePairs(pairs, joinOnHost({ left: left!, right: right!, keyWords: 1, kind }))
}

async function uploadProbe(type: Type, numbers: readonly number[], buffers: DeviceMemory[]) {
  const { device } = await openJoins('serial')
  const words = new Uint32Array(wireKeys(type, numbers).buffer)
  const side = await uploadSide(device, buffers, { keys: Array.from(words, BigInt) }, 1)
  return { numbers, column: { keys: side.keys, count: numbers.length } }
}

t.test('joins with trees of the server over every type of number', async (t) => {
  const { device } = await openJoins('serial')
  const buffers: DeviceMemory[] = []
  for (const type of TYPES) {
    const structure = structureOf(type)
    const indexed = someNumbers(700, 200)
    const probe = await uploadProbe(type, someNumbers(300, 250), buffers)
    const tree = await ShardedTree.create(device, shapeOf(type, structure))
    await fill(tree, columnFrom(wireKeys(type, indexed), keyWidth(type)), [...indexed.keys()])
    for (const build of ['left', 'right'] as const) {
      const kinds = JOIN_KINDS.filter((kind) => build === 'right' || (kind !== 'semi' && kind !== 'anti'))
      for (const kind of type === 'u32' ? kinds : ['inner' as const, random.pick(kinds)]) {
        await check(tree, { build, kind }, indexed, probe)
      }
    }
    tree.destroy()
    t.pass(`${type}, ${structure}`)
  }
  for (const buffer of buffers) buffer.destroy()
})

t.test('trees without keys, and probes of none', async () => {
  const { device } = await openJoins('serial')
  const buffers: DeviceMemory[] = []
  const tree = await ShardedTree.create(device, shapeOf('u32', 'css'))
  const [none, some] = [await uploadProbe('u32', [], buffers), await uploadProbe('u32', [1, 2], buffers)]
  for (const kind of ['inner', 'full', 'anti'] as const) {
    await check(tree, { build: 'right', kind }, [], some)
    await check(tree, { build: 'right', kind }, [], none)
  }
  tree.destroy()
  for (const buffer of buffers) buffer.destroy()
})

t.test('joins by strings ask for each string once', async (t) => {
  const { device } = await openJoins('serial')
  const buffers: DeviceMemory[] = []
  const { bytes, offsets } = stringKeys(Array.from({ length: 120 }, (_, i) => i))
  const strings = new StringDictionary(bytes, offsets)
  const numbers = someNumbers(400, strings.size)
  const { keys } = await uploadSide(device, buffers, { keys: numbers.map(BigInt) }, 1)
  const probe = { numbers, column: { keys, count: numbers.length, strings } }
  const indexed = someNumbers(3000, 150)
  const { regionBytes } = device
  for (const bytes of [regionBytes, 16 * 1024]) {
    device.regionBytes = bytes
    const tree = await ShardedTree.create(device, shapeOf('string', NARROW))
    await fill(tree, stringKeys(indexed), [...indexed.keys()])
    device.regionBytes = regionBytes
    for (const kind of ['inner', 'full'] as const) await check(tree, { build: 'right', kind }, indexed, probe)
    t.pass(`${NARROW}, ${tree.stats().shards} shards`)
    tree.destroy()
  }
  for (const buffer of buffers) buffer.destroy()
})

t.test('joins with an index of several shards', async (t) => {
  const { device } = await openJoins('serial')
  const { regionBytes } = device
  const buffers: DeviceMemory[] = []
  const indexed = someNumbers(6000, 4000)
  for (const type of [random.pick(['i32', 'u64'] as const)]) {
    device.regionBytes = 32 * 1024
    const tree = await ShardedTree.create(device, shapeOf(type, structureOf(type)))
    await fill(tree, columnFrom(wireKeys(type, indexed), keyWidth(type)), [...indexed.keys()])
    device.regionBytes = regionBytes
    t.ok(tree.stats().shards > 1, `${tree.stats().shards} shards`)
    const probe = await uploadProbe(type, someNumbers(500, 5000), buffers)
    for (const kind of ['left', 'full'] as const) await check(tree, { build: 'right', kind }, indexed, probe)
    await check(tree, { build: 'left', kind: 'inner' }, indexed, probe)
    tree.destroy()
  }
  for (const buffer of buffers) buffer.destroy()
})

t.test('where the same rows come again and again the index is not used', async (t) => {
  const { device, joins, openWork } = await openJoins('serial')
  const work = openWork()
  const buffers: DeviceMemory[] = []
  const same = Array.from({ length: 1000 }, () => 7)
  const tree = await ShardedTree.create(device, shapeOf('u32', 'css'))
  await fill(tree, { bytes: wireKeys('u32', same), width: 4 }, [...same.keys()])
  const { column } = await uploadProbe('u32', same, buffers)
  const request = {
    build: 'right',
    buildRows: 1000,
    probe: column,
    probeRows: 1000,
    passBytes: 2 ** 20,
  } as const
  const result = await tree.duringReads((reads) => joins.joinByTree(work, { ...request, index: reads }))
  t.equal(result, undefined)
  work.scratch.release()
  tree.destroy()
  for (const buffer of buffers) buffer.destroy()
})
