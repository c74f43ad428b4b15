import type { Device, Kernels } from '../../device/device.js'
import type { DeviceMemory } from '../../memory/page-run.js'
import type { Scratch } from '../../memory/scratch.js'
import type { DeviceWord, Primitives } from '../../primitives/primitives.js'
import { groupsFor, kernelsFor } from '../../primitives/strategy.js'
import type { DeviceWork } from '../query/device-work.js'
import type { Matches, Roles } from './matches.js'
import type { Tallies, Tally } from './tally.js'

/** Steps of a tile; those of a workgroup are as many as in `expand.wesl`. */
const TILE = { workgroup: 2048, serial: 512 }

/** Pairs of an invocation of `write_single`; as in `expand.wesl`. */
const SINGLE_PAIRS = 4

/** As in `expand.wesl`. */
const HAS_PROBE_ROWS = 1
const HAS_BUILD_ROWS = 2
const HAS_MATCHED = 4

/** What is to be written, and with what. */
export interface PairSource {
  readonly work: DeviceWork
  /** Holds the matches, and what all passes need. */
  readonly scratch: Scratch
  readonly matches: Matches
  /** A word for each build row, to be set for those that are written, if there is one. */
  readonly matched: DeviceMemory | undefined
}

/** The pairs of a pass: row numbers of each. */
export interface WrittenPairs {
  readonly columns: Roles<DeviceMemory>
  readonly count: number
}

/** Neighbouring probes that have fewer than 2^32 pairs. */
interface Slice {
  readonly first: number
  readonly probes: number
  readonly pairs: number
}

/** Records the writing of a slice's pairs from `begin` up to `end`, to the front of columns. */
type PairWriter = (begin: number, end: number, columns: Roles<DeviceMemory>) => void

/** Writes the pairs of a join that were counted, in as many passes as it takes (`expand.wesl`). */
export class Expansion {
  readonly #primitives: Primitives
  readonly #tallies: Tallies
  readonly #slicePairs: number
  readonly #kernels: Kernels<'find_starts' | 'write_single' | 'write_pairs'>

  /** @param slicePairs pairs whose places are counted together, at most, in 32 bits */
  constructor(device: Device, primitives: Primitives, tallies: Tallies, slicePairs: number) {
    const module = 'relational/joins/expand'
    this.#primitives = primitives
    this.#tallies = tallies
    this.#slicePairs = slicePairs
    this.#kernels = {
      ...device.kernels(module, ['find_starts', 'write_single']),
      ...kernelsFor(device, primitives.strategy, module, ['write_pairs']),
    }
  }

  /** Records the writing of all pairs where no probe has more than one. */
  all(source: PairSource): { readonly columns: Roles<DeviceMemory>; readonly total: DeviceWord } {
    const { probes } = source.matches
    const columns = pairColumns(source, probes)
    const { write, total } = this.#singles(source)
    write(0, probes, columns)
    return { columns, total }
  }

  /**
   * Records a pass, and the next one when it is asked for; their columns are the caller's.
   * @param capacity pairs of a pass, at most
   */
  async *passes(source: PairSource, tally: Tally, capacity: number): AsyncGenerator<WrittenPairs> {
    const whole = { first: 0, probes: source.matches.probes, pairs: tally.sum }
    // Then there are no more pairs than probes.
    const isSingle = tally.largest <= 1
    for await (const slice of isSingle ? [whole] : this.#slices(source, whole)) {
      const write = isSingle ? this.#singles(source).write : this.#runs(source, slice)
      for (let begin = 0; begin < slice.pairs; begin += capacity) {
        const end = Math.min(begin + capacity, slice.pairs)
        const columns = pairColumns(source, end - begin)
        write(begin, end, columns)
        yield { columns, count: end - begin }
      }
    }
  }

  /** Where no probe has more than one match: those that have one are listed. */
  #singles(source: PairSource): { readonly write: PairWriter; readonly total: DeviceWord } {
    const { work, scratch, matches } = source
    const { counts, probes } = matches
    const [positions, total] = [scratch.words(probes), { buffer: scratch.words(1), index: 0 }]
    this.#primitives.compact(work.recorder, scratch, counts, probes, positions, total)
    const write: PairWriter = (begin, end, output) => {
      const buffers = { ...buffersOf(source, output), positions, total: total.buffer }
      const params = { begin, end, columns: columnsOf(source) }
      const invocations = Math.ceil((end - begin) / SINGLE_PAIRS)
      work.recorder.dispatch(this.#kernels.write_single, buffers, params, invocations)
    }
    return { write, total }
  }

  /** Runs of any length. */
  #runs(source: PairSource, { first, probes }: Slice): PairWriter {
    const { work, scratch, matches } = source
    const { strategy } = this.#primitives
    const offsets = scratch.words(probes + 1)
    let { counts } = matches
    if (probes < matches.probes) {
      counts = scratch.words(probes)
      work.recorder.copy(matches.counts, first * 4, counts, 0, probes * 4)
    }
    this.#primitives.scan(work.recorder, scratch, counts, offsets, probes, { buffer: offsets, index: probes })
    return (begin, end, output) => {
      const steps = strategy === 'serial' ? TILE.serial : TILE.workgroup
      const tiles = Math.ceil((probes + end - begin) / steps)
      const starts = work.scratch.words(2 * (tiles + 1))
      const buffers = { ...buffersOf(source, output), offsets, starts, tileStarts: starts }
      const params = { probes, steps, tiles, begin, end, firstProbe: first, columns: columnsOf(source) }
      work.recorder.dispatch(this.#kernels.find_starts, buffers, params, tiles + 1)
      work.recorder.dispatchGroups(this.#kernels.write_pairs, buffers, params, groupsFor(strategy, tiles))
    }
  }

  /** Halves probes until places can count the pairs of each part, and leaves those without pairs out. */
  async *#slices(source: PairSource, slice: Slice): AsyncGenerator<Slice> {
    const { first, probes, pairs } = slice
    if (pairs === 0) return
    if (probes === 1 || pairs <= this.#slicePairs) {
      yield slice
      return
    }
    const { counts } = source.matches
    const half = Math.floor(probes / 2)
    const halves = [
      { first, probes: half },
      { first: first + half, probes: probes - half },
    ]
    const columns = halves.map((part) => ({ counts, first: part.first, count: part.probes }))
    const tallies = await this.#tallies.read(source.work, source.scratch, columns)
    for (const [i, { sum }] of tallies.entries()) yield* this.#slices(source, { ...halves[i]!, pairs: sum })
  }
}

function pairColumns({ work }: PairSource, pairs: number): Roles<DeviceMemory> {
  return { probe: work.words(pairs), build: work.words(pairs) }
}

function buffersOf({ work, matches: { firsts, rows }, matched }: PairSource, output: Roles<DeviceMemory>) {
  return {
    firsts,
    probeRows: rows.probe ?? work.absent,
    buildRows: rows.build ?? work.absent,
    outProbeRows: output.probe,
    outBuildRows: output.build,
    matched: matched ?? work.unwritten,
  }
}

function columnsOf({ matches: { rows }, matched }: PairSource): number {
  return (
    (rows.probe === undefined ? 0 : HAS_PROBE_ROWS) |
    (rows.build === undefined ? 0 : HAS_BUILD_ROWS) |
    (matched === undefined ? 0 : HAS_MATCHED)
  )
}
