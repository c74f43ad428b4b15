import { toWarpdexError } from '../../protocol/errors.js'
import type { Recorder } from '../device/recorder.js'
import type { BufferPool } from './buffer-pool.js'
import type { DeviceMemory } from './page-run.js'
import type { ResultMemory } from './result-memory.js'

/** A column that lies in a buffer. */
export interface DeviceColumn {
  readonly buffer: DeviceMemory
  readonly bytes: number
  /** Byte offset of its start, a multiple of 4; 0 if absent. */
  readonly offset?: number
}

/** What readbacks and uploads need of their device. */
export interface WaitingDevice {
  /** Settles as a promise of the device does; told of every one that is waited for. */
  waitFor<T>(work: Promise<T>): Promise<T>
  /** Throws what the device has reported. */
  check(): void
}

/** Reads columns through buffers that the host maps. */
export class Readback {
  readonly #device: WaitingDevice
  readonly #pool: BufferPool

  /** @param pool of buffers that can be mapped */
  constructor(device: WaitingDevice, pool: BufferPool) {
    this.#device = device
    this.#pool = pool
  }

  /**
   * Submits what was recorded, waits for it and brings columns that it wrote to memory of the caller's: a view a column, each aligned
   * to 8 bytes.
   * @throws WarpdexError as `Device.read`
   */
  async columns(
    recorder: Recorder,
    columns: readonly DeviceColumn[],
    memory: ResultMemory,
  ): Promise<Uint8Array[]> {
    let bytes = 0
    for (const column of columns) bytes += alignedBytes(column)
    const all = bytes === 0 ? NOTHING : await this.#read(recorder, columns, bytes, memory)
    if (bytes === 0) recorder.submit()
    const views: Uint8Array[] = []
    let begin = 0
    for (const column of columns) {
      views.push(all.subarray(begin, begin + column.bytes))
      begin += alignedBytes(column)
    }
    return views
  }

  /** @param bytes of all columns, one after the other */
  async #read(
    recorder: Recorder,
    columns: readonly DeviceColumn[],
    bytes: number,
    memory: ResultMemory,
  ): Promise<Uint8Array> {
    const device = this.#device
    const staging = this.#pool.acquire(bytes)
    let at = 0
    for (const column of columns) {
      recorder.copy(column.buffer, column.offset ?? 0, staging, at, Math.ceil(column.bytes / 4) * 4)
      at += alignedBytes(column)
    }
    try {
      recorder.submit()
      const waiting = recorder.submitted()
      if (waiting !== undefined) await waiting
      await device.waitFor(staging.mapAsync(GPUMapMode.READ, 0, bytes))
      device.check()
      const result = memory.allocate(bytes)
      result.set(new Uint8Array(staging.getMappedRange(0, bytes)))
      return result
    } catch (thrown) {
      device.check()
      throw toWarpdexError(thrown)
    } finally {
      staging.unmap()
      this.#pool.release(staging)
    }
  }
}

const NOTHING = new Uint8Array(0)

/** Bytes that a column takes in a readback: typed views of up to 64 bits can start at each. */
function alignedBytes(column: DeviceColumn): number {
  return Math.ceil(column.bytes / 8) * 8
}
