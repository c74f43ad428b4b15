import { type DeviceMemory, placeOf, placeToWrite } from '../memory/page-run.js'
import type { Clock } from './clock.js'
import type { IdleTime } from './idle-time.js'
import type { BoundKernel, Buffers, Kernel, Params } from './kernel.js'
import type { Profiler } from './profiler.js'

/** Invocations of a workgroup: the most that every adapter gives. `grid.wesl` has the same number. */
export const GROUP_SIZE = 256

/**
 * The same where each invocation searches a tree for itself, in `search_index` of `grid.wesl`: of a few searches more cores have a share, and on CPUs an
 * invocation past the last search takes about as long as one.
 */
export const SEARCH_GROUP_SIZE = 64

/** Workgroups of a dispatch that is a part of a larger one. */
export interface GroupRange {
  readonly first: number
  readonly count: number
}

/** What of a dispatch its kernel and buffers do not say. */
export interface DispatchOptions {
  /** How much longer a workgroup takes than one of another dispatch of the kernel: as the length of what it goes through says; 1 if absent. */
  readonly weight?: number
}

/**
 * Records device work in order: dispatches, copies and clears. Each sees what the ones before it wrote. Nothing runs before `submit`.
 */
export interface Recorder {
  /** Runs a kernel with at least `invocations` invocations; the kernel ignores those past its own count. */
  dispatch(
    kernel: Kernel,
    buffers: Buffers,
    params: Params,
    invocations: number,
    options?: DispatchOptions,
  ): void
  /** Runs a kernel with at least `groups` workgroups; the kernel ignores those past its own count. */
  dispatchGroups(
    kernel: Kernel,
    buffers: Buffers,
    params: Params,
    groups: number,
    options?: DispatchOptions,
  ): void
  /** Copies `size` bytes; offsets and size are multiples of 4. */
  copy(
    source: DeviceMemory,
    sourceOffset: number,
    target: DeviceMemory,
    targetOffset: number,
    size: number,
  ): void
  /** Zeroes `size` bytes from `offset`, both multiples of 4; to the buffer's end without a size. */
  clear(buffer: DeviceMemory, offset?: number, size?: number): void
  /** Has something called once everything recorded is handed to the device's queue, or never will be. */
  onSubmitted(call: () => void): void
  /**
   * Hands everything recorded to the device's queue; in slices where the recorder is a lane's (`turns.ts`). A recorder is used once.
   * @throws WarpdexError what the device reported, as `Device.check`; then nothing of what was recorded runs
   */
  submit(): void
  /** After `submit`: settles when all of it is in the queue; undefined where it is. */
  submitted(): Promise<void> | undefined
}

/** What a recorder needs of its device. */
export interface RecordingDevice {
  readonly gpu: GPUDevice
  /** Workgroups that a dimension of a dispatch holds. */
  readonly groupsPerDimension: number
  /** Copies within a buffer. */
  readonly wordMover: Kernel
  readonly idleTime: IdleTime
  /** Throws what the device has reported. */
  check(): void
}

/**
 * Records for the device's queue at once. Nothing is encoded before `submit`, so that memory that is moved in between (`page-pool.ts`) is found where it
 * is then. Dispatches that follow each other share a compute pass.
 */
export class DirectRecorder implements Recorder {
  readonly #device: RecordingDevice
  readonly #profiler: Profiler | undefined
  readonly #work: ((encoding: Encoding) => void)[] = []
  readonly #submitted: (() => void)[] = []

  /** @param profiler times every dispatch, if there is one */
  constructor(device: RecordingDevice, profiler?: Profiler) {
    this.#device = device
    this.#profiler = profiler
  }

  dispatch(kernel: Kernel, buffers: Buffers, params: Params, invocations: number): void {
    this.dispatchGroups(kernel, buffers, params, Math.ceil(invocations / GROUP_SIZE))
  }

  dispatchGroups(kernel: Kernel, buffers: Buffers, params: Params, groups: number): void {
    this.dispatchRange(kernel, buffers, params, { first: 0, count: groups })
  }

  /** Runs a part of the workgroups of a kernel that can be divided. More than a dimension holds are a multiple of that, unless they are the last ones. */
  dispatchRange(kernel: Kernel, buffers: Buffers, params: Params, range: GroupRange): void {
    if (range.count === 0) return
    // Who records may put other buffers into these names for what comes next.
    const bound = kernel.bound(buffers, params, range.first)
    this.#work.push((encoding) => encoding.dispatch(kernel, bound, range.count))
  }

  copy(
    source: DeviceMemory,
    sourceOffset: number,
    target: DeviceMemory,
    targetOffset: number,
    size: number,
  ): void {
    if (size === 0) return
    this.#work.push((encoding) => encoding.copy(source, sourceOffset, target, targetOffset, size))
  }

  clear(memory: DeviceMemory, offset = 0, size = memory.size - offset): void {
    if (size === 0) return
    this.#work.push((encoding) => encoding.clear(memory, offset, size))
  }

  /** Takes the device's time, as point `i` of a clock, once everything recorded and submitted so far is done. */
  stamp(clock: Clock, i: number): void {
    this.#work.push((encoding) => clock.stamp(encoding.betweenPasses(), i))
  }

  /** Makes a clock's points readable; see `Clock.resolve`. */
  resolve(clock: Clock): void {
    this.#work.push((encoding) => clock.resolve(encoding.betweenPasses()))
  }

  onSubmitted(call: () => void): void {
    this.#submitted.push(call)
  }

  submitted(): undefined {}

  submit(): void {
    const encoding = new Encoding(this.#device, this.#profiler)
    for (const encode of this.#work) encode(encoding)
    this.#device.gpu.queue.submit([encoding.betweenPasses().finish()])
    this.#device.idleTime.noteSubmission()
    for (const call of this.#submitted) call()
    this.#device.check()
  }
}

/** What is handed to the queue at one time, as it is being encoded. */
class Encoding {
  readonly #device: RecordingDevice
  readonly #encoder: GPUCommandEncoder
  readonly #profiler: Profiler | undefined
  #pass: GPUComputePassEncoder | undefined

  constructor(device: RecordingDevice, profiler: Profiler | undefined) {
    this.#device = device
    this.#encoder = device.gpu.createCommandEncoder()
    this.#profiler = profiler
  }

  dispatch(kernel: Kernel, bound: BoundKernel, groups: number): void {
    const profiler = this.#profiler
    if (profiler !== undefined) {
      const timestampWrites = profiler.passOf(kernel)
      this.#pass = this.betweenPasses().beginComputePass({ timestampWrites })
    }
    this.#pass ??= this.#encoder.beginComputePass()
    kernel.setOn(this.#pass, bound)
    const x = Math.min(groups, this.#device.groupsPerDimension)
    this.#pass.dispatchWorkgroups(x, Math.ceil(groups / x))
  }

  copy(
    source: DeviceMemory,
    sourceOffset: number,
    target: DeviceMemory,
    targetOffset: number,
    size: number,
  ): void {
    const [from, to] = [placeOf(source), placeToWrite(target)]
    if (from.buffer === to.buffer) {
      const params = { count: size / 4, sourceWord: sourceOffset / 4, movedWord: targetOffset / 4 }
      const { wordMover } = this.#device
      const bound = wordMover.bound({ source, moved: target }, params, 0)
      this.dispatch(wordMover, bound, Math.ceil(params.count / 4 / GROUP_SIZE))
      return
    }
    const [begin, end] = [from.offset + sourceOffset, to.offset + targetOffset]
    this.betweenPasses().copyBufferToBuffer(from.buffer, begin, to.buffer, end, size)
  }

  clear(memory: DeviceMemory, offset: number, size: number): void {
    const { buffer, offset: begin } = placeToWrite(memory)
    this.betweenPasses().clearBuffer(buffer, begin + offset, size)
  }

  /** The encoder, for what is in no compute pass. */
  betweenPasses(): GPUCommandEncoder {
    this.#pass?.end()
    this.#pass = undefined
    return this.#encoder
  }
}
