import type { SelectionCosts } from '../../../protocol/query/selection-costs.js'
import type { Device } from '../../device/device.js'
import { QueryKernels } from '../query/query-kernels.js'
import { type BranchedScan, fitGranule } from './fit-granule.js'
import { SampleColumns } from './sample-columns.js'
import { SelectionProbe } from './selection-probe.js'
import { Selections } from './selections.js'

/** What is measured, and how often. */
export interface CalibrationSize {
  readonly rows: number
  /** Repeats of which the median counts. */
  readonly repeats: number
  /** Columns of one word and of two. */
  readonly words: number
  readonly wide: number
}

/** The paper's 16 million rows (§4), and as many columns as leave nothing of one scan in the caches for the next. */
const HARDWARE: CalibrationSize = { rows: 2 ** 24, repeats: 9, words: 8, wide: 4 }
/** A CPU scans these in less than a millisecond a column. */
const SOFTWARE: CalibrationSize = { rows: 2 ** 15, repeats: 3, words: 4, wide: 2 }

/** Shares of rows that go on to the second column. */
const BRANCHED = [1 / 256, 1 / 128, 1 / 64, 1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2]
/** Shares of rows that are written. */
const WRITTEN = [0.1, 0.5, 0.9]
/** Rows that are gathered lie as many granules apart, on average. */
const APART = 2

/**
 * Measures what selections cost on a device, by running them over columns made for the purpose (Sitaridi and Ross §4, "Model calibration"). Takes
 * up to a few seconds, in which other work on the device goes on.
 *
 * @param stop gives the calibration up, with its reason
 * @throws WarpdexError `OUT_OF_DEVICE_MEMORY`
 */
export async function calibrateSelections(device: Device, stop?: AbortSignal): Promise<SelectionCosts> {
  const size = device.facts.software ? SOFTWARE : HARDWARE
  const kernels = await QueryKernels.create(device)
  const selections = await Selections.create(device)
  const columns = await SampleColumns.create(device, size)
  try {
    const probe = new SelectionProbe(device, kernels, selections, columns, size, stop)
    await probe.warmUp()
    return await measure(probe, size)
  } finally {
    columns.destroy()
  }
}

async function measure(probe: SelectionProbe, size: CalibrationSize): Promise<SelectionCosts> {
  const launch = await probe.launch()
  const roundTrip = await probe.roundTrip()
  const words = await scans(probe, 'word', size.words)
  const wides = await scans(probe, 'wide', size.wide)
  const scan = { word: words[0]!, wide: wides[0]! }
  const granule = await measureGranule(probe)
  const write = await measureWrite(probe)
  const share = 1 / (APART * granule)
  return {
    workgroup: probe.workgroup,
    scan,
    rates: { word: ratesOf(words), wide: ratesOf(wides) },
    granule,
    gather: {
      word: await probe.gather('word', share, scan.word),
      wide: await probe.gather('wide', share, scan.word),
    },
    write,
    predicate: await probe.predicates(),
    launch,
    roundTrip,
  }
}

/** What branch-free scans of 1, 2, … columns take, in nanoseconds a row. */
async function scans(probe: SelectionProbe, width: 'word' | 'wide', most: number): Promise<number[]> {
  const taken: number[] = []
  for (let columns = 1; columns <= most; columns++) taken.push(await probe.scan(width, columns))
  return taken
}

/** r_k (§3.1). */
function ratesOf(scans: readonly number[]): number[] {
  return scans.map((taken, i) => taken / ((i + 1) * scans[0]!))
}

async function measureGranule(probe: SelectionProbe): Promise<number> {
  const none = await probe.branched(0)
  const all = await probe.branched(1)
  const measured: BranchedScan[] = []
  for (const selectivity of BRANCHED) {
    measured.push({ selectivity, nanoseconds: await probe.branched(selectivity) })
  }
  return fitGranule(none, all, measured)
}

/** The slope, by least squares, of what writing the numbers of a share of the rows takes beyond counting them. */
async function measureWrite(probe: SelectionProbe): Promise<number> {
  let [products, squares] = [0, 0]
  for (const share of WRITTEN) {
    products += share * (await probe.written(share))
    squares += share ** 2
  }
  return Math.max(0, products / squares)
}
