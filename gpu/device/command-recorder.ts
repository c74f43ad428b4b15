import type { DeviceMemory } from '../memory/page-run.js'
import type { Buffers, Kernel, Params } from './kernel.js'
import {
  type DirectRecorder,
  type DispatchOptions,
  GROUP_SIZE,
  type GroupRange,
  type Recorder,
} from './recorder.js'

/** Work that was recorded, and is not yet handed to the device. */
export interface Command {
  /** What has a cost of its own for each unit: a kernel, or `COPIES`. */
  readonly kind: object
  /** Workgroups, or words. */
  readonly count: number
  /** Units of cost of each of them. */
  readonly weight: number
  /** Whether a part of it can be recorded by itself. */
  readonly divides: boolean
  readonly record: (recorder: DirectRecorder, range: GroupRange) => void
}

/** Called when all commands before it are in the device's queue; with what has kept them from it, if something has. */
export type Settle = (failure?: unknown) => void

/** The kind of copies and clears. */
export const COPIES = {}

/** Who takes what was recorded, in order. */
export interface CommandTaker {
  take(work: readonly (Command | Settle)[]): void
  /** As `Recorder.submitted`. */
  pending(): Promise<void> | undefined
}

/** Lists commands, for whoever records them piece by piece. */
export class CommandRecorder implements Recorder {
  readonly #taker: CommandTaker
  readonly #work: Command[] = []
  readonly #calls: Settle[] = []

  constructor(taker: CommandTaker) {
    this.#taker = taker
  }

  dispatch(
    kernel: Kernel,
    buffers: Buffers,
    params: Params,
    invocations: number,
    options?: DispatchOptions,
  ): void {
    this.dispatchGroups(kernel, buffers, params, Math.ceil(invocations / GROUP_SIZE), options)
  }

  dispatchGroups(
    kernel: Kernel,
    buffers: Buffers,
    params: Params,
    groups: number,
    { weight = 1 }: DispatchOptions = {},
  ): void {
    if (groups === 0) return
    const record: Command['record'] = (recorder, range) =>
      recorder.dispatchRange(kernel, buffers, params, range)
    this.#work.push({ kind: kernel, count: groups, weight, divides: kernel.divides, record })
  }

  copy(
    source: DeviceMemory,
    sourceOffset: number,
    target: DeviceMemory,
    targetOffset: number,
    size: number,
  ): void {
    this.#move(size, (recorder, first, bytes) =>
      recorder.copy(source, sourceOffset + first, target, targetOffset + first, bytes),
    )
  }

  clear(buffer: DeviceMemory, offset = 0, size = buffer.size - offset): void {
    this.#move(size, (recorder, first, bytes) => recorder.clear(buffer, offset + first, bytes))
  }

  onSubmitted(call: () => void): void {
    this.#calls.push(() => call())
  }

  submit(): void {
    this.#taker.take([...this.#work.splice(0), ...this.#calls.splice(0)])
  }

  submitted(): Promise<void> | undefined {
    return this.#taker.pending()
  }

  #move(size: number, move: (recorder: DirectRecorder, first: number, bytes: number) => void): void {
    if (size === 0) return
    const record: Command['record'] = (recorder, { first, count }) => move(recorder, 4 * first, 4 * count)
    this.#work.push({ kind: COPIES, count: size / 4, weight: 1, divides: true, record })
  }
}
