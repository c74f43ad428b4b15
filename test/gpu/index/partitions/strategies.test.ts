import t from 'tap'
import { PrefixTree } from '../../../../gpu/index/prefix-tree.js'
import { columnOf } from '../../../../protocol/columns.js'
import { LAYOUTS, TRAVERSALS } from '../../../../protocol/traversal.js'
import { isFixedKeyType } from '../../../../protocol/types.js'
import { KEY_TYPES, randomContent, runProgram } from '../../../differential.js'
import { Random, seedOfRun } from '../../../random.js'
import { reads } from '../../../reads.js'
import { prepareBatch } from '../../../writes.js'
import { openDevice } from '../../open-device.js'
import { treeSubject } from '../tree-subject.js'

const device = await openDevice(t)

t.test('every traversal gives the answers of an ordered map, in reads and in writes', async (t) => {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  const heights = new Random(seed)
  // Keys of one width are linked, or those of variable length: both for both would be twice the pipelines, which take longest.
  const fixedAreLinked = seed % 4 < 2
  for (const [i, keyType] of KEY_TYPES.entries()) {
    const random = new Random(seed + i)
    const layout = LAYOUTS[(seed + i) % LAYOUTS.length]
    const partitionLevels = random.pick([1, 2, 3, 7, 16, 'auto'] as const)
    const linked = isFixedKeyType(keyType) === fixedAreLinked
    const shape = { ...randomContent(random, keyType), layout, partitionLevels, linked }
    t.comment(`seed ${seed + i}: ${JSON.stringify(shape)}`)
    // Blocks of few bands, or of many.
    device.traversalCosts = {
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
