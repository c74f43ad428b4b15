import t from 'tap'
import { LAYOUTS, TRAVERSALS } from '../../../../protocol/traversal.js'
import { isFixedKeyType } from '../../../../protocol/types.js'
import { KEY_TYPES, randomContent, runProgram } from '../../../differential.js'
import { Random, seedOfRun } from '../../../random.js'
import { openDevice } from '../../open-device.js'
import { treeSubject } from '../tree-subject.js'

t.test('every traversal gives the answers of an ordered map, in reads and in writes', async (t) => {
  const device = await openDevice(t)
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  // Keys of one width are linked, or those of variable length: both for both would be twice the pipelines, which take longest.
  const fixedAreLinked = seed % 4 < 2
  for (const [i, keyType] of KEY_TYPES.entries()) {
    const random = new Random(seed + i)
    const layout = LAYOUTS[(seed + i) % LAYOUTS.length]
    const partitionLevels = random.pick([1, 2, 3, 7, 16, 'auto'] as const)
    const linked = isFixedKeyType(keyType) === fixedAreLinked
    const shape = { ...randomContent(random, keyType), layout, partitionLevels, linked }
    t.comment(`seed ${seed + i}: ${JSON.stringify(shape)}`)
    const options = { steps: 4, most: 257, traversals: TRAVERSALS }
    // In full trees every half byte is a level, and some strategies take a thread for each partition and key. Compact ones have long keys.
    const longestPart = layout === 'full' ? random.pick([2, 12, 40]) : undefined
    await runProgram(treeSubject(device), random, shape, { ...options, ...(longestPart && { longestPart }) })
  }
  t.pass('every answer equals the model')
})
