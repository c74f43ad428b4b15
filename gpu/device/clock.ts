/** Bytes of a point in time. */
const STAMP_BYTES = 8

/**
 * Points in time on the device, by which measurements tell what recorded work takes there, without the host's part:
 * `Recorder.stamp` sets them, `Device.readClock` reads them.
 */
export class Clock {
  readonly stamps: number
  readonly #querySet: GPUQuerySet
  /** One u64 of nanoseconds for each point, once they are made readable. */
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

  /** Makes the points readable. */
  resolve(encoder: GPUCommandEncoder): void {
    encoder.resolveQuerySet(this.#querySet, 0, this.stamps, this.#resolved, 0)
  }

  /** Where the points are once they are readable. */
  get column(): { readonly buffer: GPUBuffer; readonly bytes: number } {
    return { buffer: this.#resolved, bytes: this.stamps * STAMP_BYTES }
  }

  /** Nanoseconds from the first point to each of them. */
  nanoseconds({ buffer, byteOffset }: Uint8Array): number[] {
    const points = new BigUint64Array(buffer, byteOffset, this.stamps)
    return Array.from(points, (point) => Number(point - points[0]!))
  }

  destroy(): void {
    this.#querySet.destroy()
    this.#resolved.destroy()
  }
}
