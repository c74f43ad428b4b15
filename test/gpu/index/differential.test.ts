import t from 'tap'
import { LIMITS } from '../../../protocol/limits.js'
import { keyWidth } from '../../../protocol/types.js'
import { KEY_TYPES, MERGED_TUPLES, randomContent, randomLayout, runProgram } from '../../differential.js'
import { everyOther, Random, seedOfRun } from '../../random.js'
import { openDevice } from '../open-device.js'
import { treeSubject } from './tree-subject.js'

const STEPS = 7

t.test('random programs of batched operations against an ordered map', async (t) => {
  const device = await openDevice(t)
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  // Making the pipelines of a layout takes longer than a program, so that keys of each width have one a run, beside the plain one.
  const layouts = [4, 8, undefined].map(
    (width) => [width, randomLayout(new Random(seed + (width ?? 0)))] as const,
  )
  const layoutOf = new Map(layouts)
  let keys = 0
  // By another bit of the seed than the layout.
  for (const [i, keyType] of everyOther(KEY_TYPES, seed >>> 1).entries()) {
    const random = new Random(seed + i)
    const isPlain = (seed + i) % 2 === 0
    const shape = { ...randomContent(random, keyType), ...(isPlain ? {} : layoutOf.get(keyWidth(keyType))) }
    Object.assign(LIMITS, { mergedTuples: random.pick(MERGED_TUPLES) })
    t.comment(`seed ${seed + i}: ${JSON.stringify(shape)}`)
    keys += await runProgram(treeSubject(device), random, shape, { steps: STEPS })
  }
  t.comment(`${keys} keys`)
  t.pass('every answer equals the model')
})
