import type { Device, Kernels } from '../../../gpu/device/device.js'
import type { Recorder } from '../../../gpu/device/recorder.js'
import type { DeviceMemory } from '../../../gpu/memory/page-run.js'
import { PAPER_KERNELS } from '../kernels.js'
import { CTA_JOINS, type CtaJoin, ctaJoinConditions } from './join.js'

/** The CTA joins, and the join network whose steps are known when it is compiled, of ranges of one size only (`static-network.wesl`). */
export const REPEATED_JOINS = [...CTA_JOINS, 'staticNetwork'] as const
export type RepeatedJoinAlgorithm = CtaJoin | 'staticNetwork'

/** Invocations of a workgroup and tuples of each, of both ranges: `cta-join.wesl` has the same numbers. */
export const THREADS = [128, 256, 512] as const
export const BLOCKINGS = [1, 2, 4] as const

export interface JoinShape {
  readonly threads: (typeof THREADS)[number]
  readonly blocking: (typeof BLOCKINGS)[number]
}

/** Whether a device has workgroups of this shape: keys of both ranges lie in their memory, and a table as large. */
export function fits({ gpu: { limits } }: Device, { threads, blocking }: JoinShape): boolean {
  // One place in 33 is skipped, and the kernel has some words more.
  const bytes = 4 * (2.1 * 2 * threads * blocking + 2 * threads)
  return threads <= limits.maxComputeInvocationsPerWorkgroup && bytes <= limits.maxComputeWorkgroupStorageSize
}

/** Workgroups that join the same two ranges again and again (Diamos' Table 3; `repeated-join.wesl`). */
export class RepeatedJoin {
  readonly #kernels: Kernels<'join_repeatedly'>

  /** @param prefixSum whether results are given their places, too */
  constructor(
    device: Device,
    algorithm: RepeatedJoinAlgorithm,
    { threads, blocking }: JoinShape,
    prefixSum: boolean,
  ) {
    const join = algorithm === 'staticNetwork' ? { static_network: true } : ctaJoinConditions(algorithm)
    const shape = { equal_sides: true, [`threads_${threads}`]: true, [`blocking_${blocking}`]: true }
    const conditions = { ...join, ...shape, prefix_sum: prefixSum }
    this.#kernels = device.kernels('diamos/repeated-join', ['join_repeatedly'], conditions, PAPER_KERNELS)
  }

  /**
   * @param keys of both ranges
   * @param digests a word for each workgroup, to which the sum of `digestOf` over all rounds is added
   */
  record(
    recorder: Recorder,
    keys: readonly [first: DeviceMemory, second: DeviceMemory],
    digests: DeviceMemory,
    groups: number,
    rounds: number,
  ): void {
    const buffers = { firstKeys: keys[0], secondKeys: keys[1], digests }
    recorder.dispatchGroups(this.#kernels.join_repeatedly, buffers, { rounds, change: 0 }, groups)
  }
}

/** What a plain loop finds: how many results, and what a round adds to a digest. */
export function resultsOf(
  first: Uint32Array,
  second: Uint32Array,
  { blocking }: JoinShape,
  prefixSum: boolean,
): { readonly outputs: number; readonly digest: number } {
  let outputs = 0
  let digest = 0
  let at = 0
  for (const [i, key] of first.entries()) {
    if (prefixSum && i % blocking === 0) {
      digest = (digest + Math.imul(outputs, Math.floor(i / blocking) + 1)) >>> 0
    }
    while (at < second.length && second[at]! < key) at++
    let count = 0
    while (second[at + count] === key) count++
    digest = (digest + Math.imul(Math.imul(i + 1, at + 1), count)) >>> 0
    outputs += count
  }
  return { outputs, digest }
}
