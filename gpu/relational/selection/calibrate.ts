import type { ColumnWidth, SelectionCosts } from '../../../protocol/query/selection-costs.js'
import type { Device } from '../../device/device.js'
import { strategyFor } from '../../primitives/strategy.js'
import { QueryKernels } from '../query/query-kernels.js'
import { type BranchedScan, fitGranule, touchedShare } from './fit-granule.js'
import { RepeatedTimer } from './repeated-timer.js'
import { SampleColumns } from './sample-columns.js'
import { SelectionProbe } from './selection-probe.js'
import { selectionTile, selectionWorkgroups } from './selection-tile.js'
import { Selections } from './selections.js'
import { warmUp } from './warm-up.js'

/** What is measured, and how often. */
export interface CalibrationSize {
  readonly rows: number
  /** Repeats of which the median counts; where the CPU is the device the least, except of differences. */
  readonly repeats: number
  /** Columns of one word and of two. */
  readonly words: number
  readonly wide: number
}

/** The paper's 16 million rows (§4), and as many columns as leave nothing of one scan in the caches for the next. */
const HARDWARE: CalibrationSize = { rows: 2 ** 24, repeats: 9, words: 8, wide: 4 }
/** A CPU scans a column of these in a third of a millisecond. */
const SOFTWARE: CalibrationSize = { rows: 2 ** 16, repeats: 9, words: 4, wide: 2 }

/** Shares of rows that go on to the second column. */
const BRANCHED = [0, 1 / 256, 1 / 128, 1 / 64, 1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 1]
/** Shares of rows that are written. */
const WRITTEN = [0.1, 0.5, 0.9]
/** Nanoseconds a row that no memory is fast enough for: a scan that took less was lost in what else the device did. */
const LEAST_SCAN = 1e-5
/** Of a scan, what writing a word takes at least. */
const LEAST_WRITE = 1 / 8
/** Above it a rate is a sign of what else the device did. */
const MOST_RATE = 1.25
/** Rows of a list lie as many granules apart, on average, unless there would be too few of them to be timed. */
const APART = 2
const LEAST_LISTED = 1 / 32

/**
 * Measures what selections cost on a device, by running them over columns made for the purpose (Sitaridi and Ross §4, "Model calibration"). Takes
 * up to a few seconds, in which other work on the device goes on.
 *
 * @param stop gives the calibration up, with its reason
 * @param size the one that suits the device, unless given
 * @throws WarpdexError `OUT_OF_DEVICE_MEMORY`
 */
export async function calibrateSelections(
  device: Device,
  stop?: AbortSignal,
  size: CalibrationSize = device.facts.software ? SOFTWARE : HARDWARE,
): Promise<SelectionCosts> {
  const kernels = await QueryKernels.create(device)
  const strategy = strategyFor(device)
  const sized: SizedSelections[] = []
  try {
    for (const each of selectionWorkgroups(device, strategy)) {
      const { invocations: workgroup } = selectionTile(device, strategy, each)
      sized.push({ workgroup, selections: await Selections.create(device, strategy, each) })
    }
    return await measureFastest(device, kernels, sized, size, stop)
  } finally {
    kernels.selections.destroy()
    for (const { selections } of sized) selections.destroy()
  }
}

/** Kernels with workgroups of so many invocations. */
interface SizedSelections {
  readonly workgroup: number
  readonly selections: Selections
}

interface SizedProbe {
  readonly workgroup: number
  readonly probe: SelectionProbe
}

async function measureFastest(
  device: Device,
  kernels: QueryKernels,
  sized: readonly SizedSelections[],
  size: CalibrationSize,
  stop: AbortSignal | undefined,
): Promise<SelectionCosts> {
  const columns = await SampleColumns.create(device, size)
  try {
    await warmUp(device, size.rows, stop)
    const probes = sized.map(({ workgroup, selections }) => {
      const timer = new RepeatedTimer(device, kernels, selections, size, stop)
      return { workgroup, probe: new SelectionProbe(device, kernels.primitives, timer, columns, size) }
    })
    const { workgroup, probe } = await fastest(probes, size)
    return { workgroup, ...(await measure(probe, size)) }
  } finally {
    columns.destroy()
  }
}

/** The one whose scans of one column and of many together take the least. */
async function fastest(probes: readonly SizedProbe[], { words }: CalibrationSize): Promise<SizedProbe> {
  if (probes.length === 1) return probes[0]!
  const taken: number[] = []
  for (const { probe } of probes) {
    taken.push((await probe.scan('word', 1)) + (await probe.scan('word', words)) / words)
  }
  return probes[taken.indexOf(Math.min(...taken))]!
}

async function measure(
  probe: SelectionProbe,
  size: CalibrationSize,
): Promise<Omit<SelectionCosts, 'workgroup'>> {
  const launch = await probe.launch()
  const roundTrip = await probe.roundTrip()
  const words = await scans(probe, 'word', size.words)
  const wides = await scans(probe, 'wide', size.wide)
  const scan = { word: words[0]!, wide: wides[0]! }
  const granule = await measureGranule(probe)
  const write = await measureWrite(probe)
  const gathered = { share: Math.max(LEAST_LISTED, 1 / (APART * granule)), granule, listed: scan.word }
  const [word, wide] = [
    await measureGather(probe, 'word', gathered),
    await measureGather(probe, 'wide', gathered),
  ]
  return {
    scan,
    rates: { word: ratesOf(words), wide: ratesOf(wides) },
    granule,
    // A value at a row number takes no less than one in order.
    gather: { word: Math.max(scan.word, word), wide: Math.max(scan.wide, wide) },
    write: Math.max(scan.word * LEAST_WRITE, write),
    copy: await probe.copy(),
    predicate: await probe.predicates(),
    launch,
    roundTrip,
  }
}

/** What branch-free scans of 1, 2, … columns take, in nanoseconds a row. */
async function scans(probe: SelectionProbe, width: 'word' | 'wide', most: number): Promise<number[]> {
  const taken: number[] = []
  for (let columns = 1; columns <= most; columns++)
    taken.push(Math.max(LEAST_SCAN, await probe.scan(width, columns)))
  return taken
}

/** r_k (§3.1). Two scans take no less than one, and hardly more than two. */
function ratesOf(scans: readonly number[]): number[] {
  return scans.map((taken, i) => {
    const columns = i + 1
    return Math.min(MOST_RATE, Math.max(1 / columns, taken / (columns * scans[0]!)))
  })
}

async function measureGranule(probe: SelectionProbe): Promise<number> {
  const measured: BranchedScan[] = []
  for (const selectivity of BRANCHED) {
    measured.push({ selectivity, nanoseconds: await probe.branched(selectivity) })
  }
  return fitGranule(measured)
}

/** What reading a granule takes because a row of it is in a list, for a list of a share of the rows. */
async function measureGather(
  probe: SelectionProbe,
  width: ColumnWidth,
  { share, granule, listed }: { share: number; granule: number; listed: number },
): Promise<number> {
  const perRow = (await probe.listed(width, share)) - share * listed
  return perRow / (touchedShare(granule, share) / granule)
}

/** The slope, by least squares, of what writing the numbers of a share of the rows takes beyond counting them. */
async function measureWrite(probe: SelectionProbe): Promise<number> {
  let [products, squares] = [0, 0]
  for (const share of WRITTEN) {
    products += share * (await probe.written(share))
    squares += share ** 2
  }
  return products / squares
}
