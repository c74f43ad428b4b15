import type { Device } from '../../device/device.js'
import type { Kernel, NumberedBinding } from '../../device/kernel.js'
import { groupsFor, type Strategy } from '../../primitives/strategy.js'
import type { Matches, PairWriter, Roles } from './matches.js'

/** Steps of a tile; as in `expand.wesl`. */
const TILE = { workgroup: 2048, serial: 512 }

/** Pairs of an invocation of `write_single`; as in `expand.wesl`. */
const SINGLE_PAIRS = 4

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

/** Writes the pairs of a join, a pass at a time (`expand.wesl`). */
export class Expansion {
  readonly #device: Device
  readonly #strategy: Strategy
  readonly #findStarts: Kernel

  private constructor(device: Device, strategy: Strategy, findStarts: Kernel) {
    this.#device = device
    this.#strategy = strategy
    this.#findStarts = findStarts
  }

  static async create(device: Device, strategy: Strategy): Promise<Expansion> {
    const findStarts = await device.kernel({
      module: 'relational/joins/expand',
      entryPoint: 'find_starts',
      bindings: ['read', 'write'],
      params: 6,
      conditions: { serial: strategy === 'serial' },
    })
    return new Expansion(device, strategy, findStarts)
  }

  /**
   * What writes the pairs of a slice, runs of any length, to the front of columns.
   * @param mark whether build rows that are written are marked
   */
  async runs(matches: Matches, slice: Slice, mark: boolean): Promise<PairWriter> {
    const kernel = await this.#kernel('write_pairs', matches, mark)
    return (recorder, scratch, { begin, end }, output, marks) => {
      const steps = this.#strategy === 'serial' ? TILE.serial : TILE.workgroup
      const tiles = Math.ceil((slice.probes + end - begin) / steps)
      const starts = scratch.words(2 * (tiles + 1))
      const params = [slice.probes, tiles, begin, end, slice.first, matches.period]
      recorder.dispatch(this.#findStarts, [slice.offsets, starts], params, tiles + 1)
      const buffers = [slice.offsets, starts, ...columnsOf(matches, output, marks)]
      recorder.dispatchGroups(kernel, buffers, params, groupsFor(this.#strategy, tiles))
    }
  }

  /**
   * The same where no probe has more than one match, and so there is one slice.
   * @param positions the probes that have one
   */
  async single(matches: Matches, positions: GPUBuffer, mark: boolean): Promise<PairWriter> {
    const kernel = await this.#kernel('write_single', matches, mark)
    return (recorder, _scratch, { begin, end }, output, marks) => {
      const params = [matches.probes, 0, begin, end, 0, matches.period]
      const buffers = [positions, ...columnsOf(matches, output, marks)]
      recorder.dispatch(kernel, buffers, params, Math.ceil((end - begin) / SINGLE_PAIRS))
    }
  }

  #kernel(entryPoint: 'write_pairs' | 'write_single', { rows }: Matches, mark: boolean): Promise<Kernel> {
    const given = (column: GPUBuffer | undefined, number: number): readonly NumberedBinding[] =>
      column === undefined ? [] : [[number, 'read']]
    return this.#device.kernel({
      module: 'relational/joins/expand',
      entryPoint,
      bindings: [],
      further: [
        ...(entryPoint === 'write_pairs' ? ([[0, 'read']] as const) : []),
        [1, 'read'],
        [2, 'read'],
        ...given(rows.probe, 3),
        ...given(rows.build, 4),
        [5, 'write'],
        [6, 'write'],
        ...(mark ? ([[7, 'write']] as const) : []),
      ],
      params: 6,
      conditions: {
        serial: this.#strategy === 'serial',
        probe_rows: rows.probe !== undefined,
        build_rows: rows.build !== undefined,
        mark,
      },
    })
  }
}

/** The buffers of the bindings that all writers have in common. */
function columnsOf(
  { firsts, rows }: Matches,
  output: PairColumns,
  marks: GPUBuffer | undefined,
): readonly GPUBuffer[] {
  const all = [firsts, rows.probe, rows.build, output.probe, output.build, marks]
  return all.filter((buffer) => buffer !== undefined)
}
