// `npm run tpch -- --scale S`: the questions of TPC-H at any scale against DuckDB, with the time of both and what the steps did.
import yargs from 'yargs'
import { hideBin } from 'yargs/helpers'
import { Device } from '../../gpu/device/device.js'
import type { QueryExplanation } from '../../protocol/query/explanation.js'
import { seedOfRun } from '../random.js'
import { QueryBed } from '../src/query/query-bed.js'
import { generateTpch } from './generator.js'
import { QUESTIONS } from './questions.js'
import { runSqlQuestions } from './sql/run.js'
import { fastest, showSteps } from './timing.js'

const options = await yargs(hideBin(process.argv))
  .usage('npm run tpch -- [options]')
  .option('scale', { type: 'number', default: 0.01, describe: '1 for 6 million line items' })
  .option('seed', { type: 'number', describe: 'of the relations [a fresh one]' })
  .option('rounds', {
    type: 'number',
    default: 3,
    describe: 'times that a question is asked at least, for a second at least; the fastest counts',
  })
  .option('steps', { type: 'boolean', default: false, describe: 'show what each operator did' })
  .option('sql', {
    type: 'boolean',
    default: false,
    describe: 'ask all 22 in SQL, over relations that are imported',
  })
  .option('adapter', { choices: ['auto', 'hardware', 'software'] as const, default: 'auto' as const })
  .strict()
  .parseAsync()

const seed = options.seed ?? seedOfRun()
if (options.sql) await runSqlQuestions({ ...options, seed })
else await runTrees()

/** The seven questions that there are trees of. */
async function runTrees(): Promise<void> {
  const device = await Device.open(options.adapter)
  console.log(`adapter: ${device.facts.name}; --scale ${options.scale} --seed ${seed}`)
  const bed = await QueryBed.fill(device, generateTpch(options.scale, seed), undefined, true)
  let failed = false
  for (const { name, query, sql, ordered } of QUESTIONS) {
    const { difference, rows } = await bed.compare(query.tree, sql, ordered)
    failed ||= difference !== undefined
    const own = await fastest(options.rounds, () => bed.batches(query.tree))
    const duck = await fastest(options.rounds, () => bed.oracle.rows(sql))
    const verdict = difference ?? `${rows} rows, equal`
    const explanation = await bed.explain(query.tree)
    const bytes = rowBytes(explanation)
    console.log(`${name}: ${own.toFixed(1)} ms, DuckDB ${duck.toFixed(1)} ms; ${bytes}; ${verdict}`)
    if (options.steps) showSteps(explanation)
  }
  bed.oracle.close()
  device.destroy()
  if (failed) process.exitCode = 1
}

/** What all steps together read and wrote for each row of the largest relation. */
function rowBytes(explanation: QueryExplanation): string {
  const steps = stepsOf(explanation)
  const rows = Math.max(...steps.map((step) => (step.op === 'scan' ? step.rows : 0)))
  const perRow = (bytes: (step: QueryExplanation) => number) =>
    (steps.reduce((sum, step) => sum + bytes(step), 0) / rows).toFixed(1)
  return `${perRow((step) => step.bytesRead)} bytes read and ${perRow((step) => step.bytesWritten)} written a row`
}

function stepsOf(step: QueryExplanation): QueryExplanation[] {
  return [step, ...step.inputs.flatMap(stepsOf)]
}
