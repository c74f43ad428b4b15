// `npm run fuzz -- --minutes N`: random programs of batched operations against the plain model, or of queries (`--queries`) against DuckDB, for
// as long as asked.
import yargs from 'yargs'
import { hideBin } from 'yargs/helpers'
import { Device } from '../gpu/device/device.js'
import { LIMITS } from '../protocol/limits.js'
import { TRAVERSALS } from '../protocol/traversal.js'
import { MERGED_TUPLES, randomShape, runProgram } from './differential.js'
import { shardSubject } from './gpu/index/shards/shard-subject.js'
import { treeSubject } from './gpu/index/tree-subject.js'
import { Random, seedOfRun } from './random.js'
import { runQueries } from './src/query/fuzz/query-program.js'

const { minutes, seed, steps, queries, adapter } = await yargs(hideBin(process.argv))
  .usage('npm run fuzz -- [options]')
  .option('minutes', { type: 'number', default: 1, describe: 'how long to go on' })
  .option('seed', { type: 'number', describe: 'seed of the first program [a fresh one]' })
  .option('steps', { type: 'number', default: 20, describe: 'batches, or queries, of one program' })
  .option('queries', { type: 'boolean', default: false, describe: 'queries over relations, beside DuckDB' })
  .option('adapter', { choices: ['auto', 'hardware', 'software'] as const, default: 'auto' as const })
  .strict()
  .parseAsync()

/** Of a region, where an index is to be cut into shards. */
const SMALL_SHARD_BYTES = 128 * 1024

const QUERIES = { queries: steps, depth: 5, mostRows: 900 }

/** A program over an index. @returns how many keys it wrote */
async function runIndex(device: Device, random: Random): Promise<number> {
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
    return await runProgram(subject, random, shape, { steps, traversals })
  } catch (error) {
    console.error(`it failed with ${JSON.stringify(shape)}`)
    throw error
  }
}

const device = await Device.open(adapter)
console.log(`adapter: ${device.facts.name}`)
const end = performance.now() + minutes * 60_000
let count = 0
let programs = 0
for (let program = seed ?? seedOfRun(); performance.now() < end; program++) {
  const random = new Random(program)
  try {
    count += queries ? (await runQueries(device, random, QUERIES)).rows : await runIndex(device, random)
  } catch (error) {
    console.error(`--seed ${program} --steps ${steps}${queries ? ' --queries' : ''} failed`)
    throw error
  }
  programs++
}
console.log(
  queries
    ? `${programs} programs of ${steps} queries, ${count} rows: all are DuckDB's`
    : `${programs} programs of ${steps} batches, ${count} keys: every answer equals the model's`,
)
device.destroy()
