import type { Clock } from '../../../gpu/device/clock.js'
import type { Device, DeviceColumn } from '../../../gpu/device/device.js'
import type { Recorder } from '../../../gpu/device/recorder.js'
import type { Scratch } from '../../../gpu/memory/scratch.js'
import type { ClockKind } from '../../kernel-time.js'
import { leastAndMost, median, type Spread } from '../../report.js'
import { DriverClock } from './driver-clock.js'
import type { Stages } from './subject.js'

/** The parts of a request that a caller brings. */
export interface Request<Uploaded> {
  /** Bytes of the columns that are read back. */
  readonly replyBytes: number
  upload(scratch: Scratch): Uploaded
  /** Records the device's work; the columns that are to be read back, of whole words. */
  record(recorder: Recorder, scratch: Scratch, uploaded: Uploaded): readonly DeviceColumn[]
}

/**
 * Takes the microseconds of each stage of a request (Figure 8 (f)). Uploads are copied when they are handed over; the device fetches them
 * later, which counts as `readback`, as all does that is neither seen on the host nor between the timestamps; none is left of it where
 * the device began before the submission returned. Without timestamps `kernel` ends when the host hears of it.
 */
export class StageTimer<Uploaded> {
  readonly #device: Device
  readonly #request: Request<Uploaded>
  readonly #clock: Clock | undefined
  readonly #staging: GPUBuffer
  readonly #driver: DriverClock

  constructor(device: Device, request: Request<Uploaded>) {
    this.#device = device
    this.#request = request
    this.#driver = new DriverClock(device)
    this.#clock = device.createClock(2)
    const usage = GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST
    this.#staging = device.gpu.createBuffer({ size: request.replyBytes, usage })
  }

  get clock(): ClockKind {
    return this.#clock === undefined ? 'submission' : 'device'
  }

  async time(): Promise<Stages> {
    const device = this.#device
    const clock = this.#clock
    const scratch = device.scratch()
    try {
      const start = performance.now()
      const uploaded = this.#request.upload(scratch)
      const uploadEnd = performance.now()
      const driver = this.#driver.time(() => this.#launch(scratch, uploaded))
      const launchEnd = performance.now()
      if (clock === undefined) await device.gpu.queue.onSubmittedWorkDone()
      const waited = performance.now() - launchEnd
      await this.#staging.mapAsync(GPUMapMode.READ)
      new Uint8Array(this.#staging.getMappedRange()).slice()
      this.#staging.unmap()
      const end = performance.now()
      device.check()
      const kernel = clock === undefined ? waited : (await device.readClock(clock))[1]! / 1e6
      return {
        upload: (uploadEnd - start) * 1e3,
        launch: (launchEnd - uploadEnd) * 1e3,
        driver,
        kernel: kernel * 1e3,
        readback: Math.max(0, end - launchEnd - kernel) * 1e3,
      }
    } finally {
      scratch.release()
    }
  }

  #launch(scratch: Scratch, uploaded: Uploaded): void {
    const clock = this.#clock
    const recorder = this.#device.record()
    if (clock !== undefined) recorder.stamp(clock, 0)
    const columns = this.#request.record(recorder, scratch, uploaded)
    if (clock !== undefined) recorder.stamp(clock, 1)
    let at = 0
    for (const { buffer, bytes } of columns) {
      recorder.copy(buffer, 0, this.#staging, at, bytes)
      at += bytes
    }
    recorder.submit()
  }

  destroy(): void {
    this.#staging.destroy()
    this.#clock?.destroy()
  }
}

/** The middle of each stage, and the least and the most of it. */
export function stagesOf(measured: readonly Stages[]): {
  readonly figures: Readonly<Record<string, number>>
  readonly spread: Spread
} {
  const stages = ['upload', 'launch', 'driver', 'kernel', 'readback'] as const
  const taken = stages.map((stage) => [stage, measured.map((one) => one[stage])] as const)
  return {
    figures: Object.fromEntries(taken.map(([stage, values]) => [stage, median(values)])),
    spread: Object.fromEntries(taken.map(([stage, values]) => [stage, leastAndMost(values)])),
  }
}
