import type { Device } from '../../device/device.js'
import type { Kernel, NumberedBinding } from '../../device/kernel.js'
import type { Recorder } from '../../device/recorder.js'
import type { Scratch } from '../../memory/scratch.js'
import type { Primitives } from '../../primitives/primitives.js'
import type { SideRows } from './join-types.js'
import type { Matches } from './matches.js'

/** Rows of a side that match something, or of those that match nothing. */
export interface RowList {
  readonly side: SideRows
  /** Places of the rows in the side. */
  readonly positions: GPUBuffer
  readonly count: number
}

/** Marks the rows that match something, a bit a row, and lists rows by their marks (`matched.wesl`). */
export class Matched {
  readonly #device: Device
  readonly #primitives: Primitives

  constructor(device: Device, primitives: Primitives) {
    this.#device = device
    this.#primitives = primitives
  }

  /** Marks for the rows of a side, none of which is set. */
  recordMarks(recorder: Recorder, scratch: Scratch, { count, rowBound = count }: SideRows): GPUBuffer {
    const words = Math.max(1, Math.ceil(rowBound / 32))
    const marks = scratch.words(words)
    recorder.clear(marks, 0, words * 4)
    return marks
  }

  /** Marks the probes that match something. */
  async markProbes(recorder: Recorder, matches: Matches, marks: GPUBuffer): Promise<void> {
    const { probes, counts, rows, period } = matches
    const kernel = await this.#kernel('mark_probes', [0, 'read'], rows.probe, [[2, 'write']])
    recorder.dispatch(kernel, [counts, ...given(rows.probe), marks], [probes, 0, period, 0], probes)
  }

  /** Lists the rows of a side that are marked, or those that are not. Submits what was recorded, and waits for their number. */
  async list(
    recorder: Recorder,
    scratch: Scratch,
    side: SideRows,
    marks: GPUBuffer,
    marked: boolean,
  ): Promise<RowList> {
    const { count, rows } = side
    const flags = scratch.words(count)
    const positions = scratch.words(count)
    const total = { buffer: scratch.words(1), index: 0 }
    const kernel = await this.#kernel('flag_rows', undefined, rows, [
      [2, 'read'],
      [3, 'write'],
    ])
    recorder.dispatch(kernel, [...given(rows), marks, flags], [count, 0, count, marked ? 0 : 1], count)
    this.#primitives.compact(recorder, scratch, flags, count, positions, total)
    const [bytes] = await this.#device.submitAndRead(recorder, [{ buffer: total.buffer, bytes: 4 }])
    return { side, positions, count: new Uint32Array(bytes!.buffer, bytes!.byteOffset, 1)[0]! }
  }

  /**
   * Writes row numbers of a list.
   * @param first the first one's place in the list
   * @param absent gets `NO_ROW` beside each
   */
  async take(
    recorder: Recorder,
    { side, positions }: RowList,
    first: number,
    count: number,
    taken: GPUBuffer,
    absent: GPUBuffer | undefined,
  ): Promise<void> {
    const outputs: readonly NumberedBinding[] = [
      [2, 'read'],
      [3, 'write'],
      ...(absent === undefined ? [] : ([[4, 'write']] as const)),
    ]
    const kernel = await this.#kernel('take_rows', undefined, side.rows, outputs, absent !== undefined)
    const buffers = [...given(side.rows), positions, taken, ...given(absent)]
    recorder.dispatch(kernel, buffers, [count, first, count, 0], count)
  }

  #kernel(
    entryPoint: string,
    first: NumberedBinding | undefined,
    rows: GPUBuffer | undefined,
    further: readonly NumberedBinding[],
    pairs = false,
  ): Promise<Kernel> {
    const row: readonly NumberedBinding[] = rows === undefined ? [] : [[1, 'read']]
    return this.#device.kernel({
      module: 'relational/joins/matched',
      entryPoint,
      bindings: [],
      further: [...(first === undefined ? [] : [first]), ...row, ...further],
      params: 4,
      conditions: { given_rows: rows !== undefined, pairs },
    })
  }
}

function given(buffer: GPUBuffer | undefined): GPUBuffer[] {
  return buffer === undefined ? [] : [buffer]
}
