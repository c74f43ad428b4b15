// What an adapter takes for the parts of a selection's plan (Sitaridi and Ross §4), each measured with the kernels that queries use, over columns of random
// values. Plans are chosen by these costs (src/query/selection/cost-model.ts):
//
//   scan         a count over one column of 32-bit or 64-bit values
//   r_k          a scan of k columns without branches, as a part of k scans of one (§3.1): less than 1 where loads hide each other's latency
//   granule      the paper's w, how many rows are fetched together; fitted over scans of two columns, of which the second is read for 1/1024 to all of the rows
//   branch       a curve: which part of a column is read behind a branch that a share of the rows takes; and a branch by itself, by how its time grows with the rows
//   gather       a condition at row numbers of a list, whose rows lie two granules apart; and by itself, however few rows there are
//   write        row numbers of 10, 50 and 90 % of the rows
//   copy         a column of 32-bit values: no plan depends on it, `explain` compares operators with it
//   predicates   an interval among several, a step of a search among many, a table of bits, a part of an expression
//   matches      strings of 8 and of 24 bytes, which tells strings from their bytes; the long ones also behind a branch, and of few rows
//   kernel       one kernel more over few rows; and a round trip, the time until the host knows a count
//
// The paper reads min(sel * w, 1) of a column behind a branch; if rows pass independently it is 1 - (1 - sel)^w. One w fits a GPU badly either way: a branch that
// few rows take costs more, since subgroups wait for what one of their rows reads, and one that many take costs less, since others go on meanwhile. So shares are
// a curve, straight between its points, changed as little as makes it rise and never less than proportional. Row numbers and columns that are written are read
// granule by granule, so that w is still fitted for them.
//
// On a GPU the median of the repeats counts, and every repeat reads other columns, so that none finds its own in a cache. On a CPU the least counts, since whatever
// else the CPU does comes on top. For a difference of two selections both run in every repeat, and the median of the differences counts.

import type { ColumnWidth, SelectionCosts, ShareCurve } from '../../../protocol/query/selection-costs.js'
import type { Device } from '../../device/device.js'
import { strategyFor } from '../../primitives/strategy.js'
import { DeviceWork } from '../query/device-work.js'
import { QueryKernels } from '../query/query-kernels.js'
import { fitGranule, fitLine, rising, touchedShare } from './fits.js'
import { RepeatedTimer } from './repeated-timer.js'
import { LONG_STRING_BYTES, SHORT_STRING_BYTES, sampleColumns } from './sample-columns.js'
import { SelectionProbe } from './selection-probe.js'
import { selectionTile } from './selection-tile.js'

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
const HARDWARE: CalibrationSize = { rows: 2 ** 24, repeats: 7, words: 8, wide: 4 }
/** A CPU scans a column of these in a third of a millisecond. */
const SOFTWARE: CalibrationSize = { rows: 2 ** 16, repeats: 9, words: 4, wide: 2 }

/** Shares of rows that a branch lets through, or whose strings are matched. */
const SHARES = [1 / 1024, 1 / 256, 1 / 64, 1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 1]
/** As many times as many rows are read behind a branch to learn what it takes by itself. */
const SOME_BRANCHED = 4
/** Of rows, those that are matched to learn what few of them take: enough for each of many parts of a device to have some. */
const FEW_MATCHED = 1 / 64
/** The share of what matching all rows takes in which part of the device may be idle; it is less unless all of them have room at a time. */
const MOST_IDLE = 1 / 2
/** Shares of rows that are written. */
const WRITTEN = [0, 0.1, 0.5, 0.9]
/** Nanoseconds a row that no memory is fast enough for: a scan that took less was lost in what else the device did. */
const LEAST_SCAN = 1e-5
/** Of a scan, what writing a word takes at least, and what reading a column behind a branch that all rows take. */
const LEAST_WRITE = 1 / 8
const LEAST_READ = 1 / 8
/** Above it a rate is a sign of what else the device did. */
const MOST_RATE = 1.25
/** Rows of a list lie as many granules apart, on average, unless they would leave most of the device idle. */
const APART = 2
const LEAST_LISTED = 1 / 8
/** The share of rows that are few for the device. */
const FEW_LISTED = 1 / 256

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
  const scratch = device.scratch()
  try {
    const columns = await sampleColumns(new DeviceWork(device, kernels, scratch), size)
    const timer = new RepeatedTimer(device, kernels, size, stop)
    const probe = new SelectionProbe(timer, columns, size)
    const tile = selectionTile(device, strategyFor(device))
    return { workgroup: tile.invocations, ...(await measure(probe, tile.entries, size)) }
  } finally {
    scratch.end()
    kernels.selections.destroy()
  }
}

async function measure(
  probe: SelectionProbe,
  tileRows: number,
  size: CalibrationSize,
): Promise<Omit<SelectionCosts, 'workgroup'>> {
  const launch = await probe.launch()
  const roundTrip = await probe.roundTrip()
  const words = await scans(probe, 'word', size.words)
  const wides = await scans(probe, 'wide', size.wide)
  const scan = { word: words[0]!, wide: wides[0]! }
  const [unbranched, ...branched] = await probe.branched([0, ...SHARES])
  const granule = fitGranule(SHARES.map((selectivity, i) => ({ selectivity, nanoseconds: branched[i]! })))
  const branching = await measureBranching(probe, launch)
  const beyond = unbranched! + branching / probe.tallRows
  const read = partsOf(
    branched.map((taken) => taken - beyond),
    scan.word * LEAST_READ,
  )
  const branchedRead = read.part.map(({ value }) => branching / size.rows + value * read.all)
  const written = fitLine(WRITTEN, await probe.written(WRITTEN))
  const gathered = await measureGathers(probe, size, granule, scan, launch)
  return {
    scan,
    rates: { word: ratesOf(words), wide: ratesOf(wides) },
    granule,
    branch: read.part,
    branching,
    ...gathered,
    mark: Math.max(0, written.start),
    write: Math.max(scan.word * LEAST_WRITE, written.slope),
    copy: await probe.copy(),
    predicate: await probe.predicates(),
    match: await measureMatches(probe, Math.min(tileRows, size.rows), size, branchedRead),
    launch,
    roundTrip,
  }
}

/** What branch-free scans of 1, 2, … columns take, in nanoseconds a row. */
async function scans(probe: SelectionProbe, width: ColumnWidth, most: number): Promise<number[]> {
  const columns = Array.from({ length: most }, (_, i) => i + 1)
  return (await probe.scans(width, columns)).map((taken) => Math.max(LEAST_SCAN, taken))
}

/** r_k (§3.1). Two scans take no less than one, and hardly more than two. */
function ratesOf(scans: readonly number[]): number[] {
  return scans.map((taken, i) => {
    const columns = i + 1
    return Math.min(MOST_RATE, Math.max(1 / columns, taken / (columns * scans[0]!)))
  })
}

/**
 * What a branch takes of so many rows is its own time and what it reads. Only the latter grows with rows. A branch is cheaper than a kernel in
 * any case.
 */
async function measureBranching(probe: SelectionProbe, launch: number): Promise<number> {
  const all = await probe.branching(probe.tallRows)
  const some = await probe.branching(probe.tallRows / SOME_BRANCHED)
  const own = (SOME_BRANCHED * some - all) / (SOME_BRANCHED - 1)
  return Math.min(launch, Math.max(0, own))
}

/**
 * What reading at row numbers takes a granule, since a row of it is in the list, and what it takes few rows beyond that. A value at a row number
 * takes no less than one in order, and waiting for a few is cheaper than a kernel in any case.
 */
async function measureGathers(
  probe: SelectionProbe,
  { rows }: CalibrationSize,
  granule: number,
  scan: SelectionCosts['scan'],
  launch: number,
): Promise<Pick<SelectionCosts, 'gather' | 'gathering'>> {
  const share = Math.max(LEAST_LISTED, 1 / (APART * granule))
  const pieces = (selectivity: number) => touchedShare(granule, selectivity) / granule
  const [word, wide] = await probe.listed(share)
  const least = (taken: number, width: ColumnWidth) =>
    Math.max(scan[width], (taken - share * scan.word) / pieces(share))
  const gather = { word: least(word!, 'word'), wide: least(wide!, 'wide') }
  const [few] = await probe.listed(FEW_LISTED)
  const beyond = few! - FEW_LISTED * scan.word - pieces(FEW_LISTED) * gather.word
  return { gather, gathering: Math.min(launch, Math.max(0, beyond * rows)) }
}

/** What shares of rows take. */
interface Parts {
  /** All of them, in nanoseconds a row. */
  readonly all: number
  /** As a part of that. */
  readonly part: ShareCurve
}

/** Nothing takes less the more rows want it, nor less than in proportion. */
function partsOf(taken: readonly number[], least: number): Parts {
  const risen = rising(taken)
  const all = Math.max(least, risen.at(-1)!)
  const part = SHARES.map((share, i) => ({ share, value: Math.min(1, Math.max(share, risen[i]! / all)) }))
  return { all, part }
}

/**
 * What strings take, and their bytes, is told apart by two columns of strings of different lengths. A tile by itself takes as long as with as many others as the
 * device holds; that the last of them leave it half idle, on average, is no part of what a string takes.
 */
async function measureMatches(
  probe: SelectionProbe,
  tile: number,
  { rows }: CalibrationSize,
  branchedRead: readonly number[],
): Promise<SelectionCosts['match']> {
  const short = await matched(probe, 'short', [[0, 1]])
  const long = await matched(probe, 'long', [[0, 1]])
  const branched = await matched(probe, 'long', [[0], [1]])
  const ofByte = long.map((taken, i) => (taken - short[i]!) / (LONG_STRING_BYTES - SHORT_STRING_BYTES))
  const byte = partsOf(ofByte, LEAST_SCAN)
  const string = partsOf(
    short.map((taken, i) => taken - SHORT_STRING_BYTES * ofByte[i]!),
    LEAST_SCAN,
  )
  const few = Math.max(tile, Math.round(rows * FEW_MATCHED))
  const whole = string.all + LONG_STRING_BYTES * byte.all
  const idle = Math.min(MOST_IDLE, (await probe.matchedFew(few)) / 2 / rows / whole)
  const busy = 1 - Math.max(0, idle)
  return {
    row: Math.max(0, await probe.unmatched()),
    string: busy * string.all,
    byte: busy * byte.all,
    part: { string: string.part, byte: byte.part },
    branched: SHARES.map((share, i) => {
      return { share, value: Math.max(0, branched[i]! - branchedRead[i]! - long[i]!) }
    }),
    tile,
    tiles: Math.max(1, (2 * (1 - busy) * rows) / busy / tile),
  }
}

/** What matching strings of each share of the rows takes beyond hardly any, in nanoseconds a row. */
async function matched(
  probe: SelectionProbe,
  strings: 'short' | 'long',
  groups: readonly (readonly number[])[],
): Promise<number[]> {
  const [none, ...taken] = await probe.matched(strings, [0, ...SHARES], groups)
  return taken.map((each) => each - none!)
}
