import type { Device, Kernels } from '../../device/device.js'
import type { DeviceMemory } from '../../memory/page-run.js'
import type { Scratch } from '../../memory/scratch.js'
import type { DeviceWord, Primitives } from '../../primitives/primitives.js'
import type { DeviceWork } from '../query/device-work.js'
import type { Matches } from './matches.js'

/** Which rows of a side are asked for. */
export type Wanted = 'matched' | 'unmatched'

/** A word for each row of a side: 1 for those that are wanted, once all matches are marked. */
export interface RowFlags {
  readonly flags: DeviceMemory
  readonly rows: number
  readonly wanted: Wanted
}

/** Rows of a side, ascending, whose number is on the device. */
export interface RecordedRows {
  readonly rows: DeviceMemory
  readonly total: DeviceWord
}

/** Finds the rows of a side that match something, or nothing (`matched.wesl`). */
export class MatchedRows {
  readonly #primitives: Primitives
  readonly #kernels: Kernels<'mark_probes'>

  constructor(device: Device, primitives: Primitives) {
    this.#primitives = primitives
    this.#kernels = device.kernels('relational/joins/matched', ['mark_probes'])
  }

  /** Flags of rows, none of which has been found to match yet. */
  flags({ recorder }: DeviceWork, scratch: Scratch, rows: number, wanted: Wanted): RowFlags {
    const flags = scratch.words(rows)
    this.#primitives.fill(recorder, flags, rows, wanted === 'unmatched' ? 1 : 0)
    return { flags, rows, wanted }
  }

  /** Marks the probes that match something. */
  markProbes(work: DeviceWork, matches: Matches, { flags, wanted }: RowFlags): void {
    const { probes, counts, rows } = matches
    const hasRows = rows.probe === undefined ? 0 : 1
    const params = { count: probes, hasRows, mark: wanted === 'matched' ? 1 : 0 }
    const buffers = { counts, probeRows: rows.probe ?? work.absent, matched: flags }
    work.recorder.dispatch(this.#kernels.mark_probes, buffers, params, probes)
  }

  list({ recorder }: DeviceWork, scratch: Scratch, { flags, rows: count }: RowFlags): RecordedRows {
    const rows = scratch.words(count)
    const total = { buffer: scratch.words(1), index: 0 }
    this.#primitives.compact(recorder, scratch, flags, count, rows, total)
    return { rows, total }
  }
}
