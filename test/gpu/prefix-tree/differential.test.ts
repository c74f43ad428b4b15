import t from 'tap'
import { isFixedKeyType, keyWidth } from '../../../protocol/types.js'
import { KEY_TYPES, randomContent, randomLayout, runProgram } from '../../differential.js'
import { freshSeed, Random } from '../../random.js'
import { openDevice } from '../open-device.js'
import { treeSubject } from './tree-subject.js'

/** Keys of variable length take a CPU several times as long. */
const PROGRAMS = { fixed: 2, variable: 1 }
const STEPS = 12

t.test('random programs of batched operations against an ordered map', async (t) => {
  const device = await openDevice(t)
  const seed = Number(process.env.WARPDEX_SEED ?? freshSeed())
  t.comment(`WARPDEX_SEED=${seed}`)
  // Making the pipelines of a layout takes longer than a program, so that keys of each width have one a run, beside the plain one.
  const layouts = [4, 8, undefined].map(
    (width) => [width, randomLayout(new Random(seed + (width ?? 0)))] as const,
  )
  const layoutOf = new Map(layouts)
  let keys = 0
  let program = seed
  for (const keyType of KEY_TYPES) {
    const programs = isFixedKeyType(keyType) ? PROGRAMS.fixed : PROGRAMS.variable
    for (let i = 0; i < programs; i++, program++) {
      const random = new Random(program)
      const isPlain = (program - seed) % 2 === 0
      const shape = { ...randomContent(random, keyType), ...(isPlain ? {} : layoutOf.get(keyWidth(keyType))) }
      t.comment(`seed ${program}: ${JSON.stringify(shape)}`)
      keys += await runProgram(treeSubject(device), random, shape, { steps: STEPS })
    }
  }
  t.comment(`${keys} keys`)
  t.pass('every answer equals the model')
})
