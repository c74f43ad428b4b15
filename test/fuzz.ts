// `npm run fuzz -- --minutes N`: random programs of batched operations on a structure, or of all operations on an engine, against plain models, or of
// queries against DuckDB, for as long as asked.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import yargs from 'yargs'
import { hideBin } from 'yargs/helpers'
import { Device } from '../gpu/device/device.js'
import { LIMITS } from '../protocol/limits.js'
import { TRAVERSALS } from '../protocol/traversal.js'
import { MERGED_TUPLES, randomShape, runProgram } from './differential.js'
import { shardSubject } from './gpu/index/shards/shard-subject.js'
import { treeSubject } from './gpu/index/tree-subject.js'
import { modelStructures } from './model-structure.js'
import { Random, seedOfRun } from './random.js'
import { runEngine } from './src/engine/fuzz/engine-program.js'
import { runQueries } from './src/query/fuzz/query-program.js'

const { minutes, seed, steps, of, adapter } = await yargs(hideBin(process.argv))
  .usage('npm run fuzz -- [options]')
  .option('minutes', { type: 'number', default: 1, describe: 'how long to go on' })
  .option('seed', { type: 'number', describe: 'seed of the first program [a fresh one]' })
  .option('steps', { type: 'number', default: 20, describe: 'batches, operations or queries of one program' })
  .option('of', {
    choices: ['structures', 'engine', 'queries'] as const,
    default: 'structures' as const,
    describe: 'what runs: batches on one structure, all that an engine does, or queries beside DuckDB',
  })
  .option('adapter', { choices: ['auto', 'hardware', 'software'] as const, default: 'auto' as const })
  .strict()
  .parseAsync()

/** Of a region, where an index is to be cut into shards. */
const SMALL_SHARD_BYTES = 128 * 1024
/** Of device memory, where indexes are to be paged out. */
const LITTLE_MEMORY = 2 ** 21

const QUERIES = { queries: steps, depth: 5, mostRows: 900 }

/** A program over an index. @returns how many keys it wrote */
async function runStructure(device: Device, random: Random): Promise<number> {
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

/** A program over an engine, whose device may be lost. @returns how many answers were compared */
async function runEngineProgram(random: Random): Promise<number> {
  const directory = mkdtempSync(join(tmpdir(), 'warpdex-fuzz-'))
  const isCut = random.chance(0.3)
  Object.assign(LIMITS, { mergedTuples: random.pick(MERGED_TUPLES) })
  const openDevice = async () => {
    const device = await Device.open(adapter)
    if (isCut) device.regionBytes = SMALL_SHARD_BYTES
    return device
  }
  const deviceMemory = random.pick([undefined, LITTLE_MEMORY])
  // Models in the place of structures make ten times as many steps.
  const structures = random.chance(0.5) ? modelStructures : undefined
  const isReplicated = random.chance(0.5)
  const options = { directory, openDevice, isCut, deviceMemory, structures, isReplicated }
  const checks = await runEngine(random, options, steps)
  rmSync(directory, { recursive: true })
  rmSync(`${directory}-follower`, { recursive: true, force: true })
  return checks
}

/** What is run, and what it is said to have shown. */
const PROGRAMS = {
  structures: { run: runStructure, shown: "keys: every answer equals the model's" },
  engine: {
    run: (_device: Device, random: Random) => runEngineProgram(random),
    shown: "answers: all equal the models'",
  },
  queries: {
    run: async (device: Device, random: Random) => (await runQueries(device, random, QUERIES)).rows,
    shown: "rows: all are DuckDB's",
  },
} as const

const { run, shown } = PROGRAMS[of]
const device = await Device.open(adapter)
console.log(`adapter: ${device.facts.name}`)
const end = performance.now() + minutes * 60_000
let count = 0
let programs = 0
let program = seed ?? seedOfRun()
process.once('unhandledRejection', (reason) => {
  console.error(
    `--of ${of} --seed ${program} --steps ${steps} failed: nothing awaits a promise that was rejected`,
  )
  throw reason
})
for (; performance.now() < end; program++) {
  try {
    count += await run(device, new Random(program))
  } catch (error) {
    console.error(`--of ${of} --seed ${program} --steps ${steps} failed`)
    throw error
  }
  programs++
}
console.log(`${programs} programs of ${steps} steps, ${count} ${shown}`)
device.destroy()
