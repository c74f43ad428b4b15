import t from 'tap'
import { costName, featuresOf, type Situation } from '../../../../gpu/index/partitions/traversal-costs.js'
import { PrefixTree } from '../../../../gpu/index/prefix-tree.js'
import { columnOf } from '../../../../protocol/columns.js'
import { LAYOUTS, TRAVERSALS, type Traversal } from '../../../../protocol/traversal.js'
import { isFixedKeyType } from '../../../../protocol/types.js'
import { KEY_TYPES, randomContent, runProgram } from '../../../differential.js'
import { everyOther, Random, seedOfRun } from '../../../random.js'
import { reads } from '../../../reads.js'
import { prepareBatch } from '../../../writes.js'
import { openDevice } from '../../open-device.js'
import { treeSubject } from '../tree-subject.js'

const device = await openDevice(t)

const SITUATION: Situation = {
  batch: 1,
  digits: 16,
  meanDigits: 16,
  path: 4,
  meanPath: 4,
  levels: 4,
  bands: 4,
  partitions: 10,
  nodeBytes: 2 ** 10,
}

/** Costs by which trees choose directed traversal wherever they may, since no other has any. */
const directed: Traversal = { strategy: 'directed', resolution: 'reversed' }
const DIRECTED = Object.fromEntries(
  (['waiting', 'work'] as const).flatMap((kind) =>
    Object.keys(featuresOf(directed, SITUATION)[kind]).map((name) => [costName(directed, kind, name), 1]),
  ),
)

t.test('every traversal gives the answers of an ordered map, in reads and in writes', async (t) => {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  const heights = new Random(seed)
  // Keys of one width are linked, or those of variable length: both for both would be twice the pipelines, which take longest.
  const fixedAreLinked = seed % 4 < 2
  // By another bit of the seed than what else goes by it.
  for (const [i, keyType] of everyOther(KEY_TYPES, seed >>> 2).entries()) {
    const random = new Random(seed + i)
    const layout = LAYOUTS[(seed + i) % LAYOUTS.length]
    const partitionLevels = random.pick([1, 2, 3, 7, 16, 'auto'] as const)
    const linked = isFixedKeyType(keyType) === fixedAreLinked
    const shape = { ...randomContent(random, keyType), layout, partitionLevels, linked }
    t.comment(`seed ${seed + i}: ${JSON.stringify(shape)}`)
    // Blocks of few bands, or of many; and what names no traversal goes by a directory that lacks what was written last.
    device.traversalCosts = {
      ...(heights.chance(0.5) && DIRECTED),
      'hierarchical serial waiting hops within a block': heights.below(2),
      'hierarchical serial waiting hops between blocks': heights.below(20),
    }
    const options = { steps: 4, most: 257, traversals: TRAVERSALS }
    // In full trees every half byte is a level, and some strategies take a thread for each partition and key. Compact ones have long keys.
    const longestPart = layout === 'full' ? random.pick([2, 12, 40]) : undefined
    await runProgram(treeSubject(device), random, shape, { ...options, ...(longestPart && { longestPart }) })
  }
  t.pass('every answer equals the model')
})

t.test(
  'an empty position, as tuples may have, stands before all keys however it is looked for',
  async (t) => {
    const shape = {
      keyType: 'tuple(u32)',
      payloadBytes: 4,
      unique: true,
      matchFrom: 0,
      layout: 'full',
    } as const
    const tree = await PrefixTree.create(device, shape)
    t.teardown(() => tree.destroy())
    const { bytes: keys, offsets: keyOffsets } = columnOf(
      [1, 2, 3].map((last) => Uint8Array.of(7, 0, 0, last)),
    )
    const prepared = await prepareBatch(tree, { ops: 0, keys, keyOffsets, payloads: new Uint8Array(12) })
    prepared.apply()
    const empty = columnOf([new Uint8Array(0)])
    for (const traversal of TRAVERSALS) {
      const next = await reads(tree).getNext({ keys: empty.bytes, keyOffsets: empty.offsets, traversal })
      t.same([...next.keys], [7, 0, 0, 1], JSON.stringify(traversal))
    }
  },
)

t.test(
  'a tree chooses among strategies once writes pause, and goes on with the directory that it has',
  async (t) => {
    device.traversalCosts = DIRECTED
    const shape = {
      keyType: 'u64',
      payloadBytes: 4,
      unique: true,
      matchFrom: 0,
      partitionLevels: 'auto',
    } as const
    const tree = await PrefixTree.create(device, shape)
    t.teardown(() => tree.destroy())
    const all = new Random(1).bytes(8 * 3000)
    const insert = async (first: number, count: number, goesOn: boolean) => {
      const keys = all.subarray(8 * first, 8 * (first + count))
      const prepared = await prepareBatch(tree, { ops: 0, keys, payloads: new Uint8Array(4 * count) })
      prepared.apply()
      await tree.compactIfWorthwhile({ goesOn })
      const { found } = await reads(tree).get(all.subarray(0, 8 * (first + count)))
      t.equal(
        [...found].reduce((sum, byte) => sum + bitsOf(byte), 0),
        first + count,
      )
      const { derivedBytes } = tree
      return { derivedBytes, traversals: tree.stats().traversals }
    }
    t.match(await insert(0, 2000, true), { derivedBytes: 0, traversals: { 'directed, reversed': undefined } })
    const paused = await insert(2000, 900, false)
    t.ok(paused.derivedBytes > 0)
    t.match(paused.traversals, { 'directed, reversed': 1 })
    const few = await insert(2900, 100, false)
    t.equal(few.derivedBytes, paused.derivedBytes)
    t.ok(few.traversals['directed, reversed']! >= 2)
  },
)

function bitsOf(byte: number): number {
  return byte.toString(2).replaceAll('0', '').length
}
