import type { Device, Kernels } from '../../device/device.js'
import { groupsFor, kernelsFor, type Strategy } from '../../primitives/strategy.js'
import type { DeviceWork } from '../query/device-work.js'
import type { Matches, PairWriter, Roles } from './matches.js'

/** Steps of a tile; those of a workgroup are as many as in `expand.wesl`. */
const TILE = { workgroup: 2048, serial: 512 }

/** Pairs of an invocation of `write_single`; as in `expand.wesl`. */
const SINGLE_PAIRS = 4

/** As in `expand.wesl`. */
const HAS_PROBE_ROWS = 1
const HAS_BUILD_ROWS = 2
const HAS_MATCHED = 4

/** Probes next to each other, fewer than 2^32 pairs altogether. */
export interface Slice {
  readonly first: number
  readonly probes: number
  /** Of each probe, and past the last: the pairs before it. */
  readonly offsets: GPUBuffer
}

/** The pairs of a slice that a pass writes. */
export interface Window {
  readonly begin: number
  readonly end: number
}

/** Where a pass goes: row numbers of each pair. */
export type PairColumns = Roles<GPUBuffer>

/** The probes that have a match, where none has several. */
export interface SingleMatches {
  readonly positions: GPUBuffer
  /** A word: how many they are. */
  readonly total: GPUBuffer
}

/** Writes the pairs of a join, a pass at a time (`expand.wesl`). */
export class Expansion {
  readonly #strategy: Strategy
  readonly #kernels: Kernels<'find_starts' | 'write_single' | 'write_pairs'>

  constructor(device: Device, strategy: Strategy) {
    const module = 'relational/joins/expand'
    this.#strategy = strategy
    this.#kernels = {
      ...device.kernels(module, ['find_starts', 'write_single']),
      ...kernelsFor(device, strategy, module, ['write_pairs']),
    }
  }

  /** What writes the pairs of a slice, runs of any length, to the front of columns. */
  runs(matches: Matches, { first, probes, offsets }: Slice): PairWriter {
    return (work, { begin, end }, output, matched) => {
      const steps = this.#strategy === 'serial' ? TILE.serial : TILE.workgroup
      const tiles = Math.ceil((probes + end - begin) / steps)
      const starts = work.scratch.words(2 * (tiles + 1))
      const buffers = { ...buffersOf(work, matches, output, matched), offsets, starts, tileStarts: starts }
      const columns = columnsOf(matches, matched)
      const params = {
        probes,
        steps,
        tiles,
        begin,
        end,
        firstProbe: first,
        period: matches.period,
        columns,
      }
      work.recorder.dispatch(this.#kernels.find_starts, buffers, params, tiles + 1)
      const groups = groupsFor(this.#strategy, tiles)
      work.recorder.dispatchGroups(this.#kernels.write_pairs, buffers, params, groups)
    }
  }

  /** The same where no probe has more than one match, and so there is one slice. */
  single(matches: Matches, single: SingleMatches): PairWriter {
    return (work, { begin, end }, output, matched) => {
      const buffers = { ...buffersOf(work, matches, output, matched), ...single }
      const columns = columnsOf(matches, matched)
      const params = { begin, end, firstProbe: 0, period: matches.period, columns }
      const invocations = Math.ceil((end - begin) / SINGLE_PAIRS)
      work.recorder.dispatch(this.#kernels.write_single, buffers, params, invocations)
    }
  }
}

function buffersOf(
  work: DeviceWork,
  { firsts, rows }: Matches,
  output: PairColumns,
  matched: GPUBuffer | undefined,
) {
  return {
    firsts,
    probeRows: rows.probe ?? work.absent,
    buildRows: rows.build ?? work.absent,
    outProbeRows: output.probe,
    outBuildRows: output.build,
    matched: matched ?? work.unwritten,
  }
}

function columnsOf({ rows }: Matches, matched: GPUBuffer | undefined): number {
  return (
    (rows.probe === undefined ? 0 : HAS_PROBE_ROWS) |
    (rows.build === undefined ? 0 : HAS_BUILD_ROWS) |
    (matched === undefined ? 0 : HAS_MATCHED)
  )
}
