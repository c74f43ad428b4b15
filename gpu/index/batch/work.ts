import { WarpdexError } from '../../../protocol/errors.js'
import type { Kernel, Params } from '../../device/kernel.js'
import type { Recorder } from '../../device/recorder.js'
import type { DeviceMemory } from '../../memory/page-run.js'
import type { Scratch } from '../../memory/scratch.js'
import type { Primitives } from '../../primitives/primitives.js'
import { COUNTS, Count } from './counts.js'

/**
 * Device work on a batch: every step leaves what it finds under the name that kernels have for it, and the steps behind it take what they
 * name.
 */
export class BatchWork {
  /** What to go on recording with. */
  recorder: Recorder
  readonly scratch: Scratch
  readonly primitives: Primitives
  /** Items, which bound all that follows from them. */
  readonly count: number
  /** Buffers by the names that kernels have for them, those of the tree included. `counts` are there from the start, but for their content. */
  readonly buffers: Record<string, DeviceMemory | undefined> = {}
  /** Parameters that kernels have in common, by their names. */
  readonly params: Record<string, number>

  constructor(
    recorder: Recorder,
    scratch: Scratch,
    primitives: Primitives,
    count: number,
    params: Readonly<Record<string, number>>,
  ) {
    this.recorder = recorder
    this.scratch = scratch
    this.count = count
    this.params = { ...params, count }
    this.primitives = primitives
    this.words('counts', COUNTS)
  }

  /** Makes a column of so many words, whose content is undefined. */
  words(name: string, words = this.count): DeviceMemory {
    const column = this.scratch.words(words)
    this.buffers[name] = column
    return column
  }

  column(name: string): DeviceMemory {
    const column = this.buffers[name]
    if (column === undefined) throw new WarpdexError('INTERNAL', `the batch has no ${name} yet`)
    return column
  }

  /** @param params in place of those that kernels have in common, or beside them */
  dispatch(kernel: Kernel, threads = this.count, params: Params = this.params): void {
    this.recorder.dispatch(kernel, this.buffers, params, threads)
  }

  dispatchGroups(kernel: Kernel, groups: number): void {
    this.recorder.dispatchGroups(kernel, this.buffers, this.params, groups)
  }

  /** Puts the exclusive prefix sums of a column in its place, and their total into `counts`. */
  scan(name: string, total: keyof typeof Count, count = this.count): void {
    const column = this.column(name)
    const word = { buffer: this.column('counts'), index: Count[total] }
    this.primitives.scan(this.recorder, this.scratch, column, column, count, word)
  }

  /** As `scan`, with the total also behind the column, which has a word more. */
  scanWithTotal(name: string, total: keyof typeof Count): void {
    const column = this.column(name)
    const word = { buffer: column, index: this.count }
    this.primitives.scan(this.recorder, this.scratch, column, column, this.count, word)
    this.countTotal(name, total)
  }

  /** Takes the word behind a column over into `counts`. */
  countTotal(name: string, total: keyof typeof Count): void {
    this.recorder.copy(this.column(name), 4 * this.count, this.column('counts'), 4 * Count[total], 4)
  }
}
