import type { Device } from '../../../gpu/device/device.js'
import type { KernelTime } from '../../../gpu/device/profiler.js'
import type { JoinRequest, JoinSide } from '../../../gpu/relational/joins/join-types.js'
import { DeviceWork } from '../../../gpu/relational/query/device-work.js'
import type { QueryKernels } from '../../../gpu/relational/query/query-kernels.js'
import { profiled } from '../../profiled.js'
import { median } from '../../report.js'
import { warmUp } from '../../warm-up.js'
import { checksumOf, type Outcome } from './host-join.js'

/** Joins of which the median counts, after some that warm up. */
const REPEATS = 5
const WARM_UP = 2

/** Stages of He's Figure 12 and the kernels that belong to them, by how their names begin. */
const STAGES: Readonly<Record<string, readonly string[]>> = {
  index: ['relational/joins/index-join find_buckets'],
  match: [
    'relational/joins/index-join',
    'relational/joins/sort-merge-join',
    'relational/joins/hash-join match_items',
    'relational/joins/nested-loop-join',
  ],
  partition: ['relational/joins/hash-join'],
  write: ['relational/joins/expand'],
  count: ['relational/joins/tally'],
  scan: ['primitives/prefix-scan', 'primitives/compact'],
  sort: ['primitives/'],
}

/** What a join takes, in milliseconds. */
export interface JoinTime {
  /** All of its kernels, by the device's timestamps; undefined where there are none. */
  readonly kernels: number | undefined
  /** From the call to the end of the last pass on the device. */
  readonly wall: number
  readonly stages: Readonly<Record<string, number>>
  readonly byKernel: readonly KernelTime[]
}

/** A side of a join whose keys are uploaded. */
export async function uploadKeys(
  device: Device,
  keys: Uint32Array,
  keyWords: 1 | 2,
): Promise<JoinSide & { destroy(): void }> {
  const buffer = await device.allocate(keys.byteLength, 'keys')
  device.upload(buffer, new Uint8Array(keys.buffer, keys.byteOffset, keys.byteLength))
  return { keys: buffer, count: keys.length / keyWords, destroy: () => buffer.destroy() }
}

/** What joins are measured with. */
export interface JoinParts {
  readonly device: Device
  readonly kernels: QueryKernels
}

/** Runs a join, to the end of its last pass. */
async function runJoin(
  { device, kernels }: JoinParts,
  request: JoinRequest,
  use?: (left: GPUBuffer, right: GPUBuffer, count: number) => Promise<void>,
): Promise<number> {
  const work = new DeviceWork(device, kernels, device.scratch())
  const result = await kernels.joins.join(work, request)
  let pairs = 0
  for await (const { left, right, count } of result.passes()) {
    work.submit()
    pairs += count
    await use?.(left, right!, count)
  }
  result.destroy()
  work.scratch.release()
  return pairs
}

/** Reads what a join finds; its checksum is one of sets, so that any order will do. */
export async function readJoin(parts: JoinParts, request: JoinRequest): Promise<Outcome> {
  let checksum = 0
  const pairs = await runJoin(parts, request, async (left, right, count) => {
    const leftRows = await parts.device.readWords(left, count)
    const rightRows = await parts.device.readWords(right, count)
    checksum = (checksum + checksumOf(leftRows, rightRows, count)) >>> 0
  })
  return { pairs, checksum }
}

/** Times a join: by the wall clock, and then kernel by kernel, which makes the whole slower. */
export async function timeJoin(parts: JoinParts, request: JoinRequest, repeats = REPEATS): Promise<JoinTime> {
  const {
    device,
    kernels: { primitives },
  } = parts
  // The host may have been busy for seconds, with the model.
  await warmUp(device, primitives)
  const walls: number[] = []
  for (let repeat = -WARM_UP; repeat < repeats; repeat++) {
    const begin = performance.now()
    await runJoin(parts, request)
    await device.gpu.queue.onSubmittedWorkDone()
    if (repeat >= 0) walls.push(performance.now() - begin)
  }
  let byKernel: readonly KernelTime[] = []
  const totals: number[] = []
  for (let repeat = 0; repeat < repeats; repeat++) {
    const kernels = await profiled(device, async () => {
      await runJoin(parts, request)
      await device.gpu.queue.onSubmittedWorkDone()
    })
    if (kernels === undefined) break
    byKernel = kernels
    totals.push(kernels.reduce((sum, { microseconds }) => sum + microseconds, 0) / 1e3)
  }
  device.check()
  const kernels = totals.length === 0 ? undefined : median(totals)
  return { kernels, wall: median(walls), stages: stagesOf(byKernel), byKernel }
}

function stagesOf(byKernel: readonly KernelTime[]): Record<string, number> {
  const stages: Record<string, number> = {}
  for (const { kernel, microseconds } of byKernel) {
    const [stage] = Object.entries(STAGES).find(([, names]) =>
      names.some((name) => kernel.startsWith(name)),
    ) ?? ['other']
    stages[stage] = (stages[stage] ?? 0) + microseconds / 1e3
  }
  return stages
}
