import { setImmediate } from 'node:timers/promises'
import { WarpdexError } from '../../../protocol/errors.js'
import type { Device, DeviceColumn } from '../../device/device.js'
import { DeviceFull } from '../../device/device-full.js'
import type { Profiler } from '../../device/profiler.js'
import type { Recorder } from '../../device/recorder.js'
import type { DeviceMemory } from '../../memory/page-run.js'
import type { Scratch } from '../../memory/scratch.js'
import type { DeviceWord, KeyWords, SortOptions } from '../../primitives/primitives.js'
import type { SortedPairs, UnsortedPairs } from '../../primitives/sort.js'
import { KnownFacts } from '../order/column-facts.js'
import type { QueryKernels } from './query-kernels.js'

/**
 * Bits of `DeviceWork.faults`: an expression has overflowed, or the sum with a number among those of a node, or a condition on the rows that a node is given; the
 * last bit of sums is that of many.
 */
export const EXPRESSION_FAULT = 1
export const CONDITION_FAULT = 2 ** 31
const SUM_FAULTS = 30

export function sumFault(number: number): number {
  return 2 << Math.min(number, SUM_FAULTS - 1)
}

/** The number of the first sum that has overflowed; undefined where it is one of many. */
export function faultySum(faults: number): number | undefined {
  const number = 30 - Math.clz32((faults & -faults) >>> 0)
  return number === SUM_FAULTS - 1 ? undefined : number
}

/** Milliseconds for which a query may have the thread while others wait. */
const LONGEST_TURN_MS = 1

/** Bytes of the device's memory. */
export interface Moved {
  readonly read: number
  readonly written: number
}

/** Something of a step that may have overflowed, which whatever is read next tells. */
interface Watched {
  readonly faults: DeviceMemory
  readonly errorOf: (faults: number) => WarpdexError
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
  readonly absent: DeviceMemory
  /** The same for a binding that it does not write. */
  readonly unwritten: DeviceMemory
  readonly facts: KnownFacts
  /** Whether some result of the step may be a fault, of which nobody has looked yet. */
  mayHaveFault = false
  /** The word of the step's faults, once there can be any. */
  #faults: DeviceMemory | undefined
  /** Faults that were read and not yet taken. */
  #found = 0
  readonly #watched: Watched[] = []
  /** Bytes that the kernels of steps have gone through so far. */
  readonly #moved = { read: 0, written: 0 }
  readonly #profiler: Profiler | undefined
  #recorder: Recorder | undefined
  /** When the query was last given the thread. */
  #turnBegan = performance.now()

  /** @param profiler times the work, if there is one */
  constructor(
    device: Device,
    kernels: QueryKernels,
    scratch: Scratch,
    profiler?: Profiler,
    facts = new KnownFacts(),
  ) {
    this.device = device
    this.kernels = kernels
    this.scratch = scratch
    this.facts = facts
    this.#profiler = profiler
    this.absent = scratch.words(1)
    this.unwritten = scratch.words(1)
  }

  /** For steps that go on beside: what they record and hold is their own, until it is taken over. */
  beside(): DeviceWork {
    this.submit()
    return new DeviceWork(this.device, this.kernels, this.scratch.part(), this.#profiler, this.facts)
  }

  /** Has what is left of work that went on beside as its own from now on. */
  takeOver(other: DeviceWork): void {
    other.submit()
    this.scratch.takeOver(other.scratch)
    this.moves(other.moved)
    this.#watched.push(...other.#watched)
  }

  /** A word with a bit for each thing of the step that has overflowed: `EXPRESSION_FAULT`, `sumFault`. */
  get faults(): DeviceMemory {
    if (this.#faults === undefined) {
      this.#faults = this.scratch.words(1)
      this.recorder.clear(this.#faults, 0, 4)
    }
    return this.#faults
  }

  get recorder(): Recorder {
    this.#recorder ??=
      this.#profiler === undefined ? this.scratch.record() : this.device.record(this.#profiler)
    return this.#recorder
  }

  /** The bytes that were read and written so far. */
  get moved(): Moved {
    return { ...this.#moved }
  }

  /** Counts bytes that what is recorded reads, and what it writes to other buffers than those of `words`. */
  moves({ read = 0, written = 0 }: Partial<Moved>): void {
    this.#moved.read += read
    this.#moved.written += written
  }

  /** A buffer for results, which count as written. */
  words(count: number): DeviceMemory {
    this.moves({ written: count * 4 })
    return this.scratch.words(count)
  }

  /** A buffer that begins with these bytes. */
  upload(bytes: Uint8Array): DeviceMemory {
    const buffer = this.scratch.bytes(bytes.byteLength)
    this.device.upload(buffer, bytes, 0, this.recorder)
    return buffer
  }

  /** A validity of so many rows which all have a value. */
  ones(rows: number): DeviceMemory {
    const words = Math.ceil(rows / 32)
    const buffer = this.words(words)
    this.kernels.primitives.fill(this.recorder, buffer, words, 0xffffffff)
    return buffer
  }

  /** Sorts as `Primitives.sort` does. Each pass of a byte reads the keys twice, to count digits and to move the pairs. */
  sort(
    { keys, values }: UnsortedPairs,
    count: number,
    keyWords: KeyWords,
    options: SortOptions = {},
    scratch: Scratch = this.scratch,
  ): SortedPairs {
    const { bits = 32 * keyWords, from = 0 } = options
    const bytes = 4 * count * Math.ceil((bits - from) / 8)
    this.moves({ read: bytes * (2 * keyWords + 1), written: bytes * (keyWords + 1) })
    const { primitives } = this.kernels
    return primitives.sort(this.recorder, scratch, keys, values, count, keyWords, options)
  }

  /** Hands what was recorded to the lane of the scratch memory. */
  submit(): void {
    // Work that the device refuses is not handed to it again with what comes next.
    const recorder = this.#recorder
    this.#recorder = undefined
    recorder?.submit()
  }

  /** Lets others have the thread where the query has had it for long, as where it makes large buffers. */
  async letOthers(): Promise<void> {
    if (performance.now() - this.#turnBegan < LONGEST_TURN_MS) return
    await setImmediate()
    this.#turnBegan = performance.now()
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
  keepOnly(buffers: Iterable<DeviceMemory>): void {
    this.submit()
    const watched = this.#watched.map(({ faults }) => faults)
    const own = [
      this.absent,
      this.unwritten,
      ...watched,
      ...(this.#faults === undefined ? [] : [this.#faults]),
    ]
    this.scratch.release(new Set([...own, ...buffers]))
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
      if (isWatched) this.#found |= values.pop()!
      return values
    } catch (error) {
      this.mayHaveFault ||= isWatched
      throw error
    }
  }

  /** The bits of the faults since this was last asked. Waits for the device only if there can be some of which nobody has heard. */
  async takeFaults(): Promise<number> {
    if (this.mayHaveFault) await this.read([])
    const faults = this.#found
    this.#found = 0
    if (faults !== 0) this.recorder.clear(this.faults, 0, 4)
    return faults
  }

  /**
   * The step is over: whatever is read next throws what has overflowed in it.
   * @throws what is known of already
   */
  watchFaults(errorOf: (faults: number) => WarpdexError): void {
    if (this.#found !== 0) throw errorOf(this.#found)
    if (!this.mayHaveFault) return
    this.#watched.push({ faults: this.faults, errorOf })
    this.#faults = undefined
    this.mayHaveFault = false
  }

  /** Throws what has overflowed in steps that are over, if nothing was read since. */
  async refuseFaults(): Promise<void> {
    if (this.#watched.length > 0) await this.readColumns([])
  }

  /**
   * Submits, and waits for columns.
   * @throws what has overflowed in steps that are over
   */
  async readColumns(columns: readonly DeviceColumn[]): Promise<Uint8Array[]> {
    const { recorder } = this
    this.#recorder = undefined
    const watched = [...this.#watched]
    const words = watched.map(({ faults }) => ({ buffer: faults, bytes: 4 }))
    const read = await this.device.submitAndRead(recorder, [...columns, ...words])
    this.#turnBegan = performance.now()
    this.#watched.splice(0, watched.length)
    for (const [i, bytes] of read.splice(columns.length).entries()) {
      const [faults] = new Uint32Array(bytes.buffer, bytes.byteOffset, 1)
      if (faults !== 0) throw watched[i]!.errorOf(faults!)
    }
    return read
  }
}

/** Whether something takes more memory than the query may have, or than a buffer can be. */
export function isTooLarge(error: unknown): boolean {
  if (!(error instanceof WarpdexError) || error instanceof DeviceFull) return false
  return error.code === 'TOO_LARGE' || error.code === 'OUT_OF_DEVICE_MEMORY'
}
