import type { Clock } from '../../gpu/device/clock.js'
import type { Device, DeviceColumn } from '../../gpu/device/device.js'
import type { Recorder } from '../../gpu/device/recorder.js'
import type { Scratch } from '../../gpu/memory/scratch.js'
import { median } from '../report.js'
import { repeated } from './kernel-time.js'
import type { Effort, Stages } from './subject.js'

/** The parts of a request that a caller brings. */
export interface Request<Uploaded> {
  /** Bytes of the columns that are read back. */
  readonly replyBytes: number
  upload(scratch: Scratch): Uploaded
  /** Records the device's work; the columns that are to be read back, of whole words. */
  record(recorder: Recorder, scratch: Scratch, uploaded: Uploaded): readonly DeviceColumn[]
}

/**
 * Microseconds that each stage of a request takes (Figure 8 (f)): the middle of each over the repeats. Uploads are copied when they are
 * handed over; the device fetches them later, which counts as `readback`, as all does that is neither seen on the host nor
 * between the timestamps; none is left of it where the device began before the submission returned. Without timestamps `kernel`
 * ends when the host hears of it.
 */
export async function measureStages<Uploaded>(
  device: Device,
  effort: Effort,
  request: Request<Uploaded>,
): Promise<Stages> {
  const clock = device.createClock(2)
  const usage = GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST
  const staging = device.gpu.createBuffer({ size: request.replyBytes, usage })
  const measured: Stages[] = []
  try {
    const { repeats } = await repeated(effort, async () => {
      const start = performance.now()
      measured.push(await measureOnce(device, clock, staging, request))
      return performance.now() - start
    })
    const counted = measured.slice(-repeats)
    const middle = (stage: keyof Stages) => median(counted.map((stages) => stages[stage]))
    return {
      upload: middle('upload'),
      launch: middle('launch'),
      kernel: middle('kernel'),
      readback: middle('readback'),
    }
  } finally {
    staging.destroy()
    clock?.destroy()
  }
}

async function measureOnce<Uploaded>(
  device: Device,
  clock: Clock | undefined,
  staging: GPUBuffer,
  request: Request<Uploaded>,
): Promise<Stages> {
  const scratch = device.scratch()
  try {
    const start = performance.now()
    const uploaded = request.upload(scratch)
    const uploadEnd = performance.now()
    const recorder = device.record()
    if (clock !== undefined) recorder.stamp(clock, 0)
    const columns = request.record(recorder, scratch, uploaded)
    if (clock !== undefined) recorder.stamp(clock, 1)
    let at = 0
    for (const { buffer, bytes } of columns) {
      recorder.copy(buffer, 0, staging, at, bytes)
      at += bytes
    }
    recorder.submit()
    const launchEnd = performance.now()
    if (clock === undefined) await device.gpu.queue.onSubmittedWorkDone()
    const waited = performance.now() - launchEnd
    await staging.mapAsync(GPUMapMode.READ)
    new Uint8Array(staging.getMappedRange()).slice()
    staging.unmap()
    const end = performance.now()
    device.check()
    const kernel = clock === undefined ? waited : (await device.readClock(clock))[1]! / 1e6
    return {
      upload: (uploadEnd - start) * 1e3,
      launch: (launchEnd - uploadEnd) * 1e3,
      kernel: kernel * 1e3,
      readback: Math.max(0, end - launchEnd - kernel) * 1e3,
    }
  } finally {
    scratch.release()
  }
}
