import { mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import { badRequest } from '../../protocol/errors.js'
import { quotedText } from '../../protocol/shown.js'
import { parsePayloadKind } from '../../protocol/types.js'
import { command, flag, type Given, text } from '../cli/command.js'
import { ExitCode } from '../cli/exit-code.js'
import { untilSignal } from '../cli/interrupt.js'
import { grouped, printLines } from '../cli/output.js'
import { writeOutputFile } from '../cli/output-file.js'
import { packageVersion } from '../cli/package-version.js'
import { showProgress } from '../cli/progress.js'
import { CLIENT_OPTIONS, DEFAULT_URL } from '../cli/session.js'
import { systemReason } from '../cli/system-error.js'
import { ARRIVALS } from './arrivals.js'
import { DISTRIBUTIONS } from './distributions.js'
import { KEY_TYPES } from './key-space.js'
import type { LoadTestOptions } from './options.js'
import type { IntervalFigures } from './report.js'
import { WORKLOAD_NAMES, workload } from './workloads.js'

/** Seconds between lines where standard error is no terminal. */
const LINE_SECONDS = 5

const POSITIONALS = {
  workload: {
    choices: WORKLOAD_NAMES,
    default: 'lookup',
    describe: 'YCSB a to f, short walks by getNext, or batches of lookups, scans, inserts, or of all',
  },
} as const

const OPTIONS = {
  ...CLIENT_OPTIONS,
  target: text('Address of what is tested, in the place of --url; redis://host:port is a Redis server'),
  index: { type: 'string', default: 'loadtest', describe: 'Name of the index' },
  records: text('Items of the data set [1M; 0 for ingest]'),
  key: { choices: KEY_TYPES, default: 'u64', describe: 'Type of the keys' },
  payload: {
    type: 'string',
    default: 'fixed(16)',
    describe: 'Kind of the payloads: u32, u64, fixed(n) or bytes',
  },
  'payload-bytes': text('Bytes of each payload of kind bytes [100]'),
  distribution: {
    choices: DISTRIBUTIONS,
    describe: 'Which items are wanted [zipfian for a, b, c, e, f, walk; latest for d; else uniform]',
  },
  batch: text('Items per request [1 for a to f and walk, 100 for scan, 1,000 for mixed, else 10,000]'),
  'scan-length': text('Entries of a scan or a walk, 1 to this many [100; 10 for walk]'),
  depth: text('Requests of a connection that are under way [16 for a to f and walk, else 8, ingest 4]'),
  connections: text('Connections of each process [1]'),
  processes: text('Processes that make requests [1]'),
  rate: text('Requests per second in total, at fixed times (open loop)'),
  arrivals: { choices: ARRIVALS, default: ARRIVALS[0], describe: 'How requests of an open loop come' },
  duration: text('Seconds to measure [10]'),
  operations: text('Items to ask for, instead of --duration'),
  'warm-up': text('Seconds before that [2]'),
  prepared: text('Items to choose before, and to take again and again [0: fresh ones]'),
  seed: text('Of all that is random [1]'),
  verify: flag('Check every answer'),
  load: {
    type: 'boolean',
    default: true,
    describe: 'Load the data set first; with --no-load it is there already',
  },
  keep: flag('Leave the data set there'),
  json: text('File for the report as JSON'),
  html: text('File for the report as a page with plots'),
} as const

type Options = Given<typeof POSITIONALS & typeof OPTIONS>

export const add = command({
  usage: '$0 [workload]',
  about: 'Measure a server under load',
  positionals: POSITIONALS,
  options: OPTIONS,
  examples: [
    ['$0', 'lookups in batches of 10,000 among a million keys'],
    ['$0 a --verify --html a.html', 'YCSB A; checks all answers; a page with plots'],
    ['$0 c --rate 5000 --duration 60', 'latency at 5,000 requests per second'],
    ['$0 lookup --batch 65536 --processes 4', 'from four processes'],
    ['$0 b --keep && $0 c --no-load', 'two workloads on one data set'],
    ['$0 lookup --target redis://127.0.0.1:6379', 'the same on Redis: MGET'],
  ],
  epilogue:
    'Numbers may end with k, M or G. Ctrl-C ends the measurement, and what was measured is reported.\nExit codes: 0 done, 1 requests failed or answers were wrong, 2 an error.',
  async run(given) {
    const options = loadTestOptions(given)
    const { runLoadTest } = await import('./load-test.js')
    const live = liveLine(options)
    const report = await untilSignal((stop) => runLoadTest(options, packageVersion(), live, stop)).finally(
      live.stop,
    )
    const { reportLines } = await import('./text-report.js')
    await printLines(reportLines(report))
    if (given.json !== undefined) await write(given.json, `${JSON.stringify(report, null, 2)}\n`)
    if (given.html !== undefined) {
      const { htmlReport } = await import('./html-report.js')
      await write(given.html, htmlReport(report))
    }
    const { hasFailed } = await import('./report.js')
    if (hasFailed(report)) process.exitCode = ExitCode.miss
  },
})

function loadTestOptions(given: Options): LoadTestOptions {
  const { index, arrivals, verify, load, keep } = given
  const defaults = workload(given.workload)
  return {
    workload: given.workload,
    ...address(given),
    index,
    keyType: given.key,
    payloadKind: parsePayloadKind(given.payload),
    payloadBytes: amount('--payload-bytes', given.payloadBytes) ?? 100,
    records: amount('--records', given.records) ?? defaults.records,
    distribution: given.distribution ?? defaults.distribution,
    batch: amount('--batch', given.batch) ?? defaults.batch,
    scanLength: amount('--scan-length', given.scanLength) ?? defaults.scanLength,
    depth: amount('--depth', given.depth) ?? defaults.depth,
    connections: amount('--connections', given.connections) ?? 1,
    processes: amount('--processes', given.processes) ?? 1,
    rate: amount('--rate', given.rate),
    arrivals,
    warmUp: amount('--warm-up', given.warmUp) ?? 2,
    seconds: amount('--duration', given.duration) ?? 10,
    operations: amount('--operations', given.operations),
    prepared: amount('--prepared', given.prepared) ?? 0,
    seed: amount('--seed', given.seed) ?? 1,
    verify,
    load,
    keep,
  }
}

function address({ url, token, target }: Options): Pick<LoadTestOptions, 'url' | 'token'> {
  if (url !== undefined && target !== undefined) {
    throw badRequest('--url and --target both say where the server is; give one of them')
  }
  const { WARPDEX_URL, WARPDEX_TOKEN } = process.env
  return { url: target ?? url ?? WARPDEX_URL ?? DEFAULT_URL, token: token ?? WARPDEX_TOKEN }
}

const AMOUNT = /^(\d+\.?\d*|\.\d+)([kMG]?)$/
const FACTORS: Readonly<Record<string, number>> = { '': 1, k: 1e3, M: 1e6, G: 1e9 }

/** A number as people write it: 10000, 2.5, 10k, 1M. */
function amount(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const [, digits, unit] = AMOUNT.exec(text) ?? []
  if (digits === undefined) {
    throw badRequest(`${name} is ${quotedText(text)}; it must be a number such as 100, 10k or 1M`)
  }
  return Number(digits) * FACTORS[unit]
}

/** Writes a report, in a folder that need not be there. */
async function write(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true }).catch((cause) => {
    throw badRequest(`${dirname(path)} cannot be made: ${systemReason(cause)}`, { cause })
  })
  await writeOutputFile(path, [text])
}

/** Says how far the test is: a bar on a terminal, else a line every few seconds. */
function liveLine({ seconds, operations, records }: LoadTestOptions) {
  const total = operations === undefined ? seconds : undefined
  let bar = showProgress('loading', records)
  let said = Number.NEGATIVE_INFINITY
  const say = (text: string) => {
    if (!process.stderr.isTTY) process.stderr.write(`warpdex-loadtest: ${text}\n`)
  }
  return {
    onLoading: (stored: number) => bar.update(stored, `${grouped(stored)} records`),
    onWarmUp: () => {
      bar.stop()
      say('warming up')
      bar = showProgress('measuring', total)
    },
    onInterval: (interval: IntervalFigures) => {
      const note = intervalNote(interval)
      bar.update(interval.seconds, note)
      if (interval.seconds - said < LINE_SECONDS) return
      said = interval.seconds
      say(`${interval.seconds.toFixed(0)} s: ${note}`)
    },
    stop: () => bar.stop(),
  }
}

function intervalNote({ itemsPerSecond, requestsPerSecond, p50, p99, errors }: IntervalFigures): string {
  const failed = errors > 0 ? `, ${errors} errors` : ''
  const latency = `p50 ${p50.toPrecision(3)} ms, p99 ${p99.toPrecision(3)} ms`
  return `${grouped(itemsPerSecond)} keys/s, ${grouped(requestsPerSecond)} requests/s, ${latency}${failed}`
}
