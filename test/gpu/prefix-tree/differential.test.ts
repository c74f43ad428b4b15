import t from 'tap'
import { FIXED_KEY_TYPES } from '../../../protocol/types.js'
import { randomShape, runProgram } from '../../differential.js'
import { freshSeed, Random } from '../../random.js'
import { openDevice } from '../open-device.js'
import { treeSubject } from './tree-subject.js'

const PROGRAMS_PER_TYPE = 4
const STEPS = 12

t.test('random programs of batched operations against an ordered map', async (t) => {
  const device = await openDevice(t)
  const seed = Number(process.env.WARPDEX_SEED ?? freshSeed())
  t.comment(`WARPDEX_SEED=${seed}`)
  let keys = 0
  for (const [i, keyType] of FIXED_KEY_TYPES.entries()) {
    for (let program = 0; program < PROGRAMS_PER_TYPE; program++) {
      const programSeed = seed + i * PROGRAMS_PER_TYPE + program
      const random = new Random(programSeed)
      const shape = randomShape(random, keyType)
      t.comment(`seed ${programSeed}: ${JSON.stringify(shape)}`)
      keys += await runProgram(treeSubject(device), random, shape, STEPS)
    }
  }
  t.comment(`${keys} keys`)
  t.pass('every answer equals the model')
})
