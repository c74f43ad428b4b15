import yargs from 'yargs'
import { hideBin } from 'yargs/helpers'
import type { AdapterChoice } from '../gpu/device/adapter.js'
import { Device } from '../gpu/device/device.js'
import { benchDevice } from './device.js'
import { benchPrimitives } from './primitives.js'
import { folderName, printTable, type Row, writeReport } from './report.js'

/** Logarithm of the largest index that is measured by default. */
const LARGEST = { hardware: 26, software: 20 }

interface Setting {
  readonly adapter: AdapterChoice
  readonly device: Device
  /** Logarithm of the largest index. */
  readonly largest: number
}

const SUITES: Record<string, (setting: Setting) => Promise<Row[]>> = {
  device: ({ adapter, largest }) => benchDevice(adapter, sizes(largest)),
  primitives: ({ device }) => benchPrimitives(device),
}

/** Logarithms of the sizes to measure: 16, 18, … and the largest. */
function sizes(largest: number): number[] {
  const even = [16, 18, 20, 22, 24].filter((logarithm) => logarithm < largest)
  return [...even, largest]
}

const options = await yargs(hideBin(process.argv))
  .usage('npm run bench -- <suite> [options]')
  .command(
    '$0 <suite>',
    'Runs one suite of measurements, prints its table and keeps its figures',
    (command) => command.positional('suite', { choices: Object.keys(SUITES), demandOption: true }),
  )
  .option('adapter', { choices: ['auto', 'hardware', 'software'] as const, default: 'auto' as const })
  .option('json', {
    type: 'string',
    describe: 'where to write the figures [bench/results/<adapter>/<suite>.json]',
  })
  .option('max', {
    type: 'number',
    describe: 'logarithm of the largest index [26; 20 on the software adapter]',
  })
  .strict()
  .parseAsync()

const suite = String(options.suite)
const device = await Device.open(options.adapter)
const { name, software } = device.facts
const largest = options.max ?? (software ? LARGEST.software : LARGEST.hardware)
const rows = await SUITES[suite]({ adapter: options.adapter, device, largest })
printTable(`${suite} on ${name}`, rows)
writeReport(options.json ?? `bench/results/${folderName(name)}/${suite}.json`, { suite, adapter: name, rows })
device.destroy()
