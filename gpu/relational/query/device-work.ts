import { WarpdexError } from '../../../protocol/errors.js'
import type { Device, DeviceColumn } from '../../device/device.js'
import { DeviceFull } from '../../device/device-full.js'
import type { Profiler } from '../../device/profiler.js'
import type { Recorder } from '../../device/recorder.js'
import type { Scratch } from '../../memory/scratch.js'
import type { DeviceWord } from '../../primitives/primitives.js'
import { KnownFacts } from '../order/column-facts.js'
import type { QueryKernels } from './query-kernels.js'

/** Bits of `DeviceWork.faults`: an expression has overflowed, or the sum with a number among those of a node; the last bit is that of many. */
export const EXPRESSION_FAULT = 1
const SUM_FAULTS = 30

export function sumFault(number: number): number {
  return 2 << Math.min(number, SUM_FAULTS - 1)
}

/** The number of the first sum that has overflowed; undefined where it is one of many. */
export function faultySum(faults: number): number | undefined {
  const number = 30 - Math.clz32((faults & -faults) >>> 0)
  return number === SUM_FAULTS - 1 ? undefined : number
}

/**
 * What the steps of one query record with. What is recorded is submitted when something is read, or by `submit`; memory is the query's
 * until its scratch is released.
 */
export class DeviceWork {
  readonly device: Device
  readonly kernels: QueryKernels
  readonly scratch: Scratch
  /** Bound where a kernel has a binding that it does not read. */
  readonly absent: GPUBuffer
  /** The same for a binding that it does not write. */
  readonly unwritten: GPUBuffer
  /** A word with a bit for each thing that has overflowed: `EXPRESSION_FAULT`, `sumFault`. */
  readonly faults: GPUBuffer
  readonly facts = new KnownFacts()
  /** Whether some result may be a fault, of which nobody has looked yet. */
  mayHaveFault = false
  /** Faults that were read and not yet taken. */
  #faults = 0
  /** Bytes that steps have read and written, as far as they are told. */
  movedBytes = 0
  readonly #profiler: Profiler | undefined
  #recorder: Recorder | undefined

  /** @param profiler times the work, if there is one */
  constructor(device: Device, kernels: QueryKernels, scratch: Scratch, profiler?: Profiler) {
    this.device = device
    this.kernels = kernels
    this.scratch = scratch
    this.#profiler = profiler
    this.absent = scratch.words(1)
    this.unwritten = scratch.words(1)
    this.faults = scratch.words(1)
    this.recorder.clear(this.faults, 0, 4)
  }

  get recorder(): Recorder {
    this.#recorder ??=
      this.#profiler === undefined ? this.scratch.record() : this.device.record(this.#profiler)
    return this.#recorder
  }

  /** A buffer for results, which count as moved. */
  words(count: number): GPUBuffer {
    this.movedBytes += count * 4
    return this.scratch.words(count)
  }

  /** A buffer that begins with these bytes. */
  upload(bytes: Uint8Array): GPUBuffer {
    const buffer = this.scratch.bytes(bytes.byteLength)
    this.device.upload(buffer, bytes, 0, this.recorder)
    return buffer
  }

  /** A validity of so many rows which all have a value. */
  ones(rows: number): GPUBuffer {
    const words = Math.ceil(rows / 32)
    const buffer = this.words(words)
    this.kernels.primitives.fill(this.recorder, buffer, words, 0xffffffff)
    return buffer
  }

  /** Hands what was recorded to the lane of the scratch memory. */
  submit(): void {
    // Work that the device refuses is not handed to it again with what comes next.
    const recorder = this.#recorder
    this.#recorder = undefined
    recorder?.submit()
  }

  /** Submits, and waits until all of it is in the device's queue: what others submit then comes after it. */
  async submitted(): Promise<void> {
    this.submit()
    await this.scratch.submitted()
  }

  /** The same until the device has done it. */
  async done(): Promise<void> {
    await this.submitted()
    await this.device.workDone()
  }

  /** Does what reads or writes something that changes or goes afterwards: whatever it recorded is in the device's queue then. */
  async untilSubmitted<T>(task: () => Promise<T>): Promise<T> {
    try {
      return await task()
    } finally {
      await this.submitted()
    }
  }

  /** Gives back all memory but these buffers. */
  keepOnly(buffers: Iterable<GPUBuffer>): void {
    this.submit()
    this.scratch.release(new Set([this.absent, this.unwritten, this.faults, ...buffers]))
  }

  /**
   * Does what the query can do without. What it took is given back where it comes to nothing, or would take more memory than the query may have or than a
   * buffer can be. Where the device is full the error goes on, since others may make room.
   * @returns undefined where the task does, or there is too little memory
   */
  async attempt<T>(task: () => Promise<T | undefined>): Promise<T | undefined> {
    const { held } = this.scratch
    try {
      const result = await task()
      if (result !== undefined) return result
    } catch (error) {
      if (!isTooLarge(error)) throw error
    }
    this.keepOnly(held)
    return undefined
  }

  /** Submits, and waits for some words; where there may be faults for these too, so that nobody waits for them alone. */
  async read(words: readonly DeviceWord[]): Promise<number[]> {
    const isWatched = this.mayHaveFault
    const all = isWatched ? [...words, { buffer: this.faults, index: 0 }] : words
    this.mayHaveFault = false
    try {
      const read = await this.readColumns(
        all.map(({ buffer, index }) => ({ buffer, bytes: 4, offset: index * 4 })),
      )
      const values = read.map((bytes) => new Uint32Array(bytes.buffer, bytes.byteOffset, 1)[0]!)
      if (isWatched) this.#faults |= values.pop()!
      return values
    } catch (error) {
      this.mayHaveFault ||= isWatched
      throw error
    }
  }

  /** The bits of the faults since this was last asked. Waits for the device only if there can be some of which nobody has heard. */
  async takeFaults(): Promise<number> {
    if (this.mayHaveFault) await this.read([])
    const faults = this.#faults
    this.#faults = 0
    if (faults !== 0) this.recorder.clear(this.faults, 0, 4)
    return faults
  }

  /** Submits, and waits for columns. */
  readColumns(columns: readonly DeviceColumn[]): Promise<Uint8Array[]> {
    const { recorder } = this
    this.#recorder = undefined
    return this.device.submitAndRead(recorder, columns)
  }
}

function isTooLarge(error: unknown): boolean {
  if (!(error instanceof WarpdexError) || error instanceof DeviceFull) return false
  return error.code === 'TOO_LARGE' || error.code === 'OUT_OF_DEVICE_MEMORY'
}
