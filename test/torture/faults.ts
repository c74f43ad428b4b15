import { join } from 'node:path'
import { childProgram } from '../../bench/child-program.js'
import { Device } from '../../gpu/device/device.js'
import { Engine } from '../../src/engine/index.js'
import { modelStructures } from '../model-structure.js'
import type { Random } from '../random.js'
import { natsLacks } from '../src/cluster/nats-servers.js'
import { tortureCluster } from './cluster/cluster.js'
import { Damaging } from './damage.js'
import { loseDevices } from './device-loss.js'
import { Killing, type KillOptions } from './kill.js'
import { overwrite } from './overwrite.js'
import { startAndStop } from './restarts.js'

/** What a fault gets to work with. */
export interface FaultContext {
  readonly random: Random
  /** An empty folder of its own. */
  readonly directory: string
  /** Of clusters. */
  readonly replicaSets?: number | undefined
  /** Told of what has been done so far. */
  readonly onProgress: (line: string) => void
}

/** One kind of fault. */
export interface Fault {
  readonly name: string
  /**
   * Causes it some times, within some minutes.
   * @returns a line that says what was done
   * @throws Error when something is not as it should be
   */
  run(context: FaultContext): Promise<string>
}

/** Of servers over models, and of those with indexes on the device. */
const KILLS = { model: 200, device: 15 } as const
const DAMAGES = 300
const LOSSES = 5
const RESTARTS = 20
/** Of a cluster, some ten seconds each. */
const ROUNDS = 20

export const FAULTS: readonly Fault[] = [
  { name: 'kill', run: (context) => kill(context, { structures: 'model', longest: 200 }) },
  { name: 'kill-device', run: (context) => kill(context, { structures: 'device', longest: 3000 }) },
  { name: 'damage', run: damage },
  { name: 'device-loss', run: ({ random, directory }) => loseDevices(directory, random, LOSSES) },
  { name: 'overwrite', run: ({ random, directory }) => overwrite(directory, random) },
  { name: 'restarts', run: ({ directory }) => startAndStop(directory, RESTARTS) },
  { name: 'cluster', run: async (context) => natsLacks() ?? tortureCluster({ ...context, rounds: ROUNDS }) },
]

async function kill(
  { random, directory }: FaultContext,
  options: Pick<KillOptions, 'structures' | 'longest'>,
): Promise<string> {
  const server = [...process.execArgv, childProgram('test/torture/kill-server')]
  const killing = new Killing({ ...options, server, random, directory: join(directory, 'data') })
  const kills = KILLS[options.structures]
  while (killing.kills < kills) await killing.round()
  await killing.finish()
  return `${kills} kills, ${killing.acknowledged} writes acknowledged`
}

async function damage({ random, directory }: FaultContext): Promise<string> {
  const device = await Device.open('software')
  const destroy = device.destroy.bind(device)
  // Closing an engine destroys its device.
  device.destroy = () => {}
  const structures = modelStructures
  const open = (options: { directory: string }) =>
    Engine.open({ ...options, structures, openDevice: async () => device })
  const damaging = await Damaging.prepare(directory, open, random)
  const outcomes = new Map<string, number>()
  for (let i = 0; i < DAMAGES; i++) {
    const { outcome } = await damaging.trial()
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
  }
  destroy()
  return [...outcomes].map(([outcome, times]) => `${outcome}: ${times}`).join(', ')
}
