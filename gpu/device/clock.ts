/**
 * Points in time on the device, by which measurements tell what recorded work takes there, without the host's part:
 * `Recorder.stamp` sets them, `Device.readClock` reads them.
 */
export class Clock {
  readonly stamps: number
  readonly #querySet: GPUQuerySet
  readonly #resolved: GPUBuffer

  /** @param stamps how many points in time it holds, at least one */
  constructor(device: GPUDevice, stamps: number) {
    this.stamps = stamps
    this.#querySet = device.createQuerySet({ type: 'timestamp', count: stamps })
    this.#resolved = device.createBuffer({
      size: stamps * STAMP_BYTES,
      usage: GPUBufferUsage.QUERY_RESOLVE | GPUBufferUsage.COPY_SRC,
    })
  }

  /**
   * Sets point `i` once everything encoded before is done. WebGPU takes the time only at the ends of a pass, so that it is the
   * end of an empty one.
   */
  stamp(encoder: GPUCommandEncoder, i: number): void {
    const timestampWrites = { querySet: this.#querySet, endOfPassWriteIndex: i }
    encoder.beginComputePass({ timestampWrites }).end()
  }

  /** Makes the points readable: a buffer with one u64 of nanoseconds each, which belongs to the clock. */
  resolve(encoder: GPUCommandEncoder): GPUBuffer {
    encoder.resolveQuerySet(this.#querySet, 0, this.stamps, this.#resolved, 0)
    return this.#resolved
  }

  destroy(): void {
    this.#querySet.destroy()
    this.#resolved.destroy()
  }
}

export const STAMP_BYTES = 8
