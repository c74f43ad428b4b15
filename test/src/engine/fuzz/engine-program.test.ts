import { join } from 'node:path'
import t, { type Test } from 'tap'
import { Device } from '../../../../gpu/device/device.js'
import type { StructureFactory } from '../../../../src/engine/index.js'
import { modelStructures } from '../../../model-structure.js'
import { Random, seedOfRun } from '../../../random.js'
import { separateDevices } from '../../../separate-devices.js'
import { runEngine } from './engine-program.js'

separateDevices()

const seed = seedOfRun()

async function run(
  t: Test,
  programs: number,
  steps: number,
  structures: StructureFactory | undefined,
  isReplicated = false,
): Promise<void> {
  t.comment(`TEST_SEED=${seed}`)
  const directory = t.testdir()
  let checks = 0
  for (let program = 0; program < programs; program++) {
    const options = {
      directory: join(directory, String(program)),
      structures,
      openDevice: () => Device.open('software'),
      isCut: false,
      isReplicated,
      onWarning: (message: string) => t.comment(message),
    }
    checks += await runEngine(new Random(seed + program), options, steps)
  }
  t.ok(checks > programs)
  t.comment(`${checks} answers`)
}

t.test('random programs against an engine over models', (t) => run(t, 2, 250, modelStructures))

t.test('a replica that follows them has what they have', (t) => run(t, 1, 250, modelStructures, true))

t.test('and over structures on the device', (t) => run(t, 1, 40, undefined))
