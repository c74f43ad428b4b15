import type { Device } from '../../../gpu/device/device.js'
import type { KernelTime } from '../../../gpu/device/profiler.js'
import type { DeviceMemory } from '../../../gpu/memory/page-run.js'
import type { JoinRequest, JoinSide } from '../../../gpu/relational/joins/join-types.js'
import { DeviceWork } from '../../../gpu/relational/query/device-work.js'
import type { QueryKernels } from '../../../gpu/relational/query/query-kernels.js'
import { asBytes } from '../../../protocol/columns.js'
import { profiled } from '../../profiled.js'
import { keepWarm, runWarm } from '../../warm-up.js'
import { checksumOf, type Outcome } from './host-join.js'
import type { Workload } from './workload.js'

/** Rounds that count, in each of which every join has its turn, after some that warm up. */
const ROUNDS = 5
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

/** What each run of a join took, in milliseconds. */
export interface JoinTime {
  /** All of its kernels, by the device's timestamps; empty where there are none. */
  readonly kernels: readonly number[]
  /** From the call to the end of the last pass on the device. */
  readonly wall: readonly number[]
  /** Of the last run. */
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
  device.upload(buffer, asBytes(keys))
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
  use?: (left: DeviceMemory, right: DeviceMemory, count: number) => Promise<void>,
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

/** Times joins, which take turns: by the wall clock, and then kernel by kernel, which makes the whole slower. */
export async function timeJoins(parts: JoinParts, requests: readonly JoinRequest[]): Promise<JoinTime[]> {
  const { device, kernels } = parts
  const { primitives } = kernels
  const times = requests.map((request) => ({
    request,
    wall: [] as number[],
    kernels: [] as number[],
    byKernel: [] as readonly KernelTime[],
  }))
  for (let round = -WARM_UP; round < ROUNDS; round++) {
    for (const time of times) {
      const taken = await runWarm(device, primitives, async () => {
        const begin = performance.now()
        await runJoin(parts, time.request)
        await device.gpu.queue.onSubmittedWorkDone()
        return performance.now() - begin
      })
      if (round >= 0) time.wall.push(taken)
    }
  }
  for (let round = 0; round < ROUNDS; round++) {
    for (const time of times) {
      const run = async () => {
        await runJoin(parts, time.request)
        await device.gpu.queue.onSubmittedWorkDone()
      }
      const kernels = await runWarm(device, primitives, () => profiled(device, run))
      if (kernels === undefined) break
      time.byKernel = kernels
      time.kernels.push(kernels.reduce((sum, { microseconds }) => sum + microseconds, 0) / 1e3)
    }
  }
  device.check()
  return times.map(({ wall, kernels, byKernel }) => ({ wall, kernels, byKernel, stages: stagesOf(byKernel) }))
}

/** What a join takes with its keys in host memory before, and its pairs there afterwards; each join in its turn. */
export async function timeWithTransfers(
  parts: JoinParts,
  { left, right }: Workload,
  requests: readonly JoinRequest[],
): Promise<number[][]> {
  const { device, kernels } = parts
  const taken = requests.map((): number[] => [])
  for (let round = -WARM_UP; round < ROUNDS; round++) {
    for (const [i, request] of requests.entries()) {
      await keepWarm(device, kernels.primitives)
      const begin = performance.now()
      device.upload(request.left.keys, asBytes(left))
      device.upload(request.right.keys, asBytes(right))
      await runJoin(parts, request, async (leftRows, rightRows, count) => {
        await device.read(leftRows, 4 * count)
        await device.read(rightRows, 4 * count)
      })
      if (round >= 0) taken[i]!.push(performance.now() - begin)
    }
  }
  return taken
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
