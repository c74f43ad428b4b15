// `npm run fuzz -- --minutes N`: random programs of batched operations against the plain model, for as long as asked.
import yargs from 'yargs'
import { hideBin } from 'yargs/helpers'
import { Device } from '../gpu/device/device.js'
import { LIMITS } from '../protocol/limits.js'
import { TRAVERSALS } from '../protocol/traversal.js'
import { MERGED_TUPLES, randomShape, runProgram } from './differential.js'
import { treeSubject } from './gpu/prefix-tree/tree-subject.js'
import { shardSubject } from './gpu/shards/shard-subject.js'
import { freshSeed, Random } from './random.js'

const { minutes, seed, steps, adapter } = await yargs(hideBin(process.argv))
  .usage('npm run fuzz -- [options]')
  .option('minutes', { type: 'number', default: 1, describe: 'how long to go on' })
  .option('seed', { type: 'number', describe: 'seed of the first program [a fresh one]' })
  .option('steps', { type: 'number', default: 20, describe: 'batches of one program' })
  .option('adapter', { choices: ['auto', 'hardware', 'software'] as const, default: 'auto' as const })
  .strict()
  .parseAsync()

/** Of a region, where an index is to be cut into shards. */
const SMALL_SHARD_BYTES = 128 * 1024

const device = await Device.open(adapter)
console.log(`adapter: ${device.facts.name}`)
const end = performance.now() + minutes * 60_000
let keys = 0
let programs = 0
for (let program = seed ?? freshSeed(); performance.now() < end; program++) {
  const random = new Random(program)
  const shape = randomShape(random)
  try {
    const { layout, partitionLevels } = shape
    const hasPartitions = layout === 'full' || partitionLevels !== undefined
    const traversals = hasPartitions ? [random.pick(TRAVERSALS)] : []
    // One key's payloads must fit into a shard, and so must a few keys of full trees.
    const isCut = shape.unique && layout !== 'full' && random.chance(0.5)
    device.regionBytes = isCut ? SMALL_SHARD_BYTES : device.facts.bindingBytes
    Object.assign(LIMITS, { mergedTuples: random.pick(MERGED_TUPLES) })
    const subject = isCut ? shardSubject(device) : treeSubject(device)
    keys += await runProgram(subject, random, shape, { steps, traversals })
  } catch (error) {
    console.error(`--seed ${program} --steps ${steps} failed with ${JSON.stringify(shape)}`)
    throw error
  }
  programs++
}
console.log(`${programs} programs of ${steps} batches, ${keys} keys: every answer equals the model's`)
device.destroy()
