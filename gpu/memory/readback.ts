import { toWarpdexError } from '../../protocol/errors.js'
import type { Recorder } from '../device/recorder.js'
import { BufferPool } from './buffer-pool.js'
import type { ResultMemory } from './result-memory.js'

/** A column that lies in a buffer. */
export interface DeviceColumn {
  readonly buffer: GPUBuffer
  readonly bytes: number
  /** Byte offset of its start, a multiple of 4; 0 if absent. */
  readonly offset?: number
}

/** What a readback needs of its device. */
export interface ReadbackDevice {
  /** Makes a buffer that can be mapped. */
  create(size: number): GPUBuffer
  /** Is told of every promise of the device that is waited for. */
  wait<T>(work: Promise<T>): Promise<T>
  /** Throws what the device has reported. */
  check(): void
}

/** Reads columns through buffers that the host maps. */
export class Readback {
  readonly #device: ReadbackDevice
  readonly #pool: BufferPool

  /** @param keptBytes bytes of buffers to keep that are not in use */
  constructor(device: ReadbackDevice, largest: number, keptBytes: number) {
    this.#device = device
    this.#pool = new BufferPool((size) => device.create(size), largest, keptBytes)
  }

  /**
   * Submits what was recorded, waits for it and passes columns that it wrote to `consume`, one after the other from multiples of 8 bytes on.
   * The view dies when `consume` returns.
   * @throws WarpdexError as `Device.read`
   */
  async read<T>(
    recorder: Recorder,
    columns: readonly DeviceColumn[],
    consume: (view: Uint8Array) => T,
  ): Promise<T> {
    const capacity = columns.reduce((sum, column) => sum + alignedBytes(column), 0)
    if (capacity === 0) {
      recorder.submit()
      return consume(new Uint8Array(0))
    }
    const staging = this.#pool.acquire(capacity)
    let at = 0
    for (const column of columns) {
      recorder.copy(column.buffer, column.offset ?? 0, staging, at, Math.ceil(column.bytes / 4) * 4)
      at += alignedBytes(column)
    }
    const { check, wait } = this.#device
    try {
      recorder.submit()
      const waiting = recorder.submitted()
      if (waiting !== undefined) await waiting
      await wait(staging.mapAsync(GPUMapMode.READ, 0, capacity))
      check()
      return consume(new Uint8Array(staging.getMappedRange(0, capacity)))
    } catch (thrown) {
      check()
      throw toWarpdexError(thrown)
    } finally {
      staging.unmap()
      this.#pool.release(staging)
    }
  }

  /** The same into memory of the caller's: a view a column, each aligned to 8 bytes. */
  async columns(
    recorder: Recorder,
    columns: readonly DeviceColumn[],
    memory: ResultMemory,
  ): Promise<Uint8Array[]> {
    const all = await this.read(recorder, columns, (view) => {
      const result = memory.allocate(view.byteLength)
      result.set(view)
      return result
    })
    let end = 0
    return columns.map((column) => {
      const begin = end
      end += alignedBytes(column)
      return all.subarray(begin, begin + column.bytes)
    })
  }

  /** Destroys every buffer that is not in use. */
  destroy(): void {
    this.#pool.destroy()
  }
}

/** Bytes that a column takes in a readback: typed views of up to 64 bits can start at each. */
function alignedBytes(column: DeviceColumn): number {
  return Math.ceil(column.bytes / 8) * 8
}
