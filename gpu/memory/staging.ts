import type { Recorder } from '../device/recorder.js'
import type { BufferPool } from './buffer-pool.js'
import type { DeviceMemory } from './page-run.js'
import type { WaitingDevice } from './readback.js'

/**
 * Columns go up in pieces of so many bytes at most, so that buffers serve columns of any length: making one takes the host twice as long as filling it, since
 * its memory is new.
 */
export const STAGED_PIECE_BYTES = 2 ** 22

/**
 * Uploads through buffers that the host has mapped: three to four times as fast as `queue.writeBuffer` for columns of hundreds
 * of kilobytes, and no faster for small ones. A buffer is mapped again once the device has done with it, and is written then
 * without waiting.
 */
export class Staging {
  readonly #device: Pick<WaitingDevice, 'waitFor'>
  readonly #pool: BufferPool

  /** @param pool of buffers that are mapped when they are made */
  constructor(device: Pick<WaitingDevice, 'waitFor'>, pool: BufferPool) {
    this.#device = device
    this.#pool = pool
  }

  /** Records the copy of a column to byte `offset` of a buffer; a last partial word is filled up with zeros. */
  record(recorder: Recorder, target: DeviceMemory, offset: number, column: Uint8Array): void {
    for (let begin = 0; begin < column.byteLength; begin += STAGED_PIECE_BYTES) {
      const piece = column.subarray(begin, begin + STAGED_PIECE_BYTES)
      this.#recordPiece(recorder, target, offset + begin, piece)
    }
  }

  #recordPiece(recorder: Recorder, target: DeviceMemory, offset: number, column: Uint8Array): void {
    const bytes = Math.ceil(column.byteLength / 4) * 4
    const buffer = this.#pool.acquire(bytes)
    // No more of it than is written: what ranges have counts as memory for the collector, and would have it run all the time.
    const words = new Uint8Array(buffer.getMappedRange(0, bytes))
    words.fill(0, column.byteLength)
    words.set(column)
    buffer.unmap()
    recorder.copy(buffer, 0, target, offset, bytes)
    recorder.onSubmitted(() => void this.#mapAgain(buffer))
  }

  async #mapAgain(buffer: GPUBuffer): Promise<void> {
    try {
      await this.#device.waitFor(buffer.mapAsync(GPUMapMode.WRITE))
    } catch {
      // The device is gone, or is being destroyed.
      return
    }
    this.#pool.release(buffer)
  }
}
