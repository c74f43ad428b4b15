import t from 'tap'
import { LAYOUTS, TRAVERSALS } from '../../../../protocol/traversal.js'
import { KEY_TYPES, randomShape, runProgram } from '../../../differential.js'
import { freshSeed, Random } from '../../../random.js'
import { openDevice } from '../../open-device.js'
import { treeSubject } from '../tree-subject.js'

t.test('every traversal gives the answers of an ordered map, in reads and in writes', async (t) => {
  const device = await openDevice(t)
  const seed = Number(process.env.WARPDEX_SEED ?? freshSeed())
  t.comment(`WARPDEX_SEED=${seed}`)
  let programSeed = seed
  for (const keyType of KEY_TYPES) {
    const random = new Random(programSeed)
    const partitionLevels = random.pick([1, 2, 3, 7, 16, 'auto'] as const)
    const shape = { ...randomShape(random, keyType), layout: random.pick(LAYOUTS), partitionLevels }
    t.comment(`seed ${programSeed++}: ${JSON.stringify(shape)}`)
    await runProgram(treeSubject(device), random, shape, { steps: 4, most: 257, traversals: TRAVERSALS })
  }
  t.pass('every answer equals the model')
})
