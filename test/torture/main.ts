// `npm run torture -- --minutes N`: faults at random places and moments, one kind after the other, for as long as asked.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import yargs from 'yargs'
import { hideBin } from 'yargs/helpers'
import { Random, seedOfRun } from '../random.js'
import { FAULTS } from './faults.js'

const names = FAULTS.map(({ name }) => name)
const { minutes, seed, kinds, replicaSets } = await yargs(hideBin(process.argv))
  .command('$0 [kinds..]', 'npm run torture -- [kinds of faults] [options]', (command) =>
    command.positional('kinds', { choices: names, array: true, default: names, describe: 'kinds of faults' }),
  )
  .option('minutes', { type: 'number', default: 5, describe: 'how long to go on' })
  .option('seed', { type: 'number', describe: 'seed of the first round [a fresh one]' })
  .option('replica-sets', { type: 'number', default: 1, describe: 'replica sets of the cluster' })
  .strict()
  .parseAsync()

const end = performance.now() + minutes * 60_000
// The types of yargs leave out what only a command has.
const wanted = kinds as readonly string[]
const faults = FAULTS.filter(({ name }) => wanted.includes(name))
for (let round = seed ?? seedOfRun(); performance.now() < end; round++) {
  for (const { name, run } of faults) {
    const directory = mkdtempSync(join(tmpdir(), 'warpdex-torture-'))
    const start = performance.now()
    try {
      const result = await run({ random: new Random(round), directory, replicaSets, onProgress: console.log })
      const seconds = ((performance.now() - start) / 1000).toFixed(1)
      console.log(`${name}, seed ${round}: ${result} (${seconds} s)`)
    } catch (error) {
      console.error(`${name} --seed ${round} failed; the data is left in ${directory}`)
      throw error
    }
    rmSync(directory, { recursive: true })
  }
}
process.exit()
