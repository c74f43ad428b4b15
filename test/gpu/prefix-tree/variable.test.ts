import t from 'tap'
import type { KeyType } from '../../../protocol/types.js'
import { randomShape, runProgram } from '../../differential.js'
import { freshSeed, Random } from '../../random.js'
import { openDevice } from '../open-device.js'
import { treeSubject } from './tree-subject.js'

const TYPES: readonly KeyType[] = ['string', 'bytes', 'tuple(u32,string)', 'tuple(bytes,f64,i32)']

t.test('variable', async (t) => {
  const device = await openDevice(t)
  const seed = Number(process.env.WARPDEX_SEED ?? freshSeed())
  t.comment(`WARPDEX_SEED=${seed}`)
  let keys = 0
  for (const [i, keyType] of TYPES.entries()) {
    for (let program = 0; program < 2; program++) {
      const programSeed = seed + i * 2 + program
      const random = new Random(programSeed)
      const shape = randomShape(random, keyType)
      t.comment(`seed ${programSeed}: ${JSON.stringify(shape)}`)
      keys += await runProgram(treeSubject(device), random, shape, 12)
    }
  }
  t.comment(`${keys} keys`)
  t.pass('every answer equals the model')
})
