import t from 'tap'
import { isFixedKeyType } from '../../../protocol/types.js'
import { KEY_TYPES, randomShape, runProgram } from '../../differential.js'
import { freshSeed, Random } from '../../random.js'
import { openDevice } from '../open-device.js'
import { treeSubject } from './tree-subject.js'

/** Keys of variable length take a CPU several times as long. */
const PROGRAMS = { fixed: 4, variable: 2 }
const STEPS = 12

t.test('random programs of batched operations against an ordered map', async (t) => {
  const device = await openDevice(t)
  const seed = Number(process.env.WARPDEX_SEED ?? freshSeed())
  t.comment(`WARPDEX_SEED=${seed}`)
  let keys = 0
  let programSeed = seed
  for (const keyType of KEY_TYPES) {
    const programs = isFixedKeyType(keyType) ? PROGRAMS.fixed : PROGRAMS.variable
    for (let program = 0; program < programs; program++, programSeed++) {
      const random = new Random(programSeed)
      const shape = randomShape(random, keyType)
      t.comment(`seed ${programSeed}: ${JSON.stringify(shape)}`)
      keys += await runProgram(treeSubject(device), random, shape, { steps: STEPS })
    }
  }
  t.comment(`${keys} keys`)
  t.pass('every answer equals the model')
})
