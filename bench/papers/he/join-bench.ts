import type { JoinRequest, JoinSide } from '../../../gpu/relational/joins/join-types.js'
import { median, spreadOf } from '../../report.js'
import {
  type JoinParts,
  type JoinTime,
  readJoin,
  timeJoins,
  timeWithTransfers,
  uploadKeys,
} from './device-join.js'
import type { Outcome } from './host-join.js'
import type { Workload } from './workload.js'

/** The paper's joins but NINLJ, which gets fewer rows. */
export const ALGORITHMS = ['inlj', 'smj', 'hj'] as const
export type Algorithm = (typeof ALGORITHMS)[number] | 'ninlj'

/** Results of a pass: all of them in most cases. */
const PASS_BYTES = 2 ** 29

/** What is varied besides keys and algorithms. */
export interface Variant {
  /** Words of a key; 1 unless given. */
  readonly keyWords?: 1 | 2
  /** The width of a band; equal keys unless given. */
  readonly delta?: bigint
  /** Sides whose keys lie in order. */
  readonly sorted?: readonly ('left' | 'right')[]
}

/** Joins of host keys on the device, each of which is compared with the model's before any is timed. */
export class JoinBench {
  readonly #parts: JoinParts

  constructor(parts: JoinParts) {
    this.#parts = parts
  }

  /**
   * What joins by these algorithms take, in turns.
   * @throws Error where one finds other pairs than the model
   */
  times(
    workload: Workload,
    algorithms: readonly Algorithm[],
    model: Outcome,
    variant: Variant = {},
  ): Promise<JoinTime[]> {
    return this.#withRequests(workload, algorithms, variant, async (requests) => {
      await this.#check(requests, model)
      return timeJoins(this.#parts, requests)
    })
  }

  /** The same in milliseconds, from keys in host memory to pairs in host memory. */
  withTransfers(workload: Workload, algorithms: readonly Algorithm[], model: Outcome): Promise<number[][]> {
    return this.#withRequests(workload, algorithms, {}, async (requests) => {
      await this.#check(requests, model)
      return timeWithTransfers(this.#parts, workload, requests)
    })
  }

  async #check(requests: readonly JoinRequest[], model: Outcome): Promise<void> {
    for (const request of requests) {
      const found = await readJoin(this.#parts, request)
      if (found.pairs === model.pairs && found.checksum === model.checksum) continue
      throw new Error(
        `${request.algorithm} found ${found.pairs} pairs, other ones than the model's ${model.pairs}`,
      )
    }
  }

  async #withRequests<T>(
    workload: Workload,
    algorithms: readonly Algorithm[],
    { keyWords = 1, delta, sorted = [] }: Variant,
    work: (requests: readonly JoinRequest[]) => Promise<T>,
  ): Promise<T> {
    const upload = async (name: 'left' | 'right') => ({
      ...(await uploadKeys(this.#parts.device, workload[name], keyWords)),
      sorted: sorted.includes(name),
    })
    const sides = { left: await upload('left'), right: await upload('right') }
    const { left, right }: { left: JoinSide; right: JoinSide } = sides
    const request = { left, right, keyWords, passBytes: PASS_BYTES, delta }
    try {
      return await work(algorithms.map((algorithm) => ({ ...request, algorithm })))
    } finally {
      sides.left.destroy()
      sides.right.destroy()
    }
  }
}

/** Milliseconds of the device where they can be had. */
export function deviceTimes({ kernels, wall }: JoinTime): readonly number[] {
  return kernels.length > 0 ? kernels : wall
}

export function ms(time: JoinTime): number {
  return median(deviceTimes(time))
}

/** The times of a join as figures. */
export function timeFigures(time: JoinTime): Record<string, number | string> {
  const kernels =
    time.kernels.length > 0 ? spreadOf('kernels ms', time.kernels) : { 'kernels ms': 'no timestamps' }
  return { ...kernels, ...spreadOf('wall ms', time.wall) }
}

/** A number of rows. */
export function show(count: number): string {
  return count >= 2 ** 20 ? `${count / 2 ** 20} M` : `${count}`
}
