import type { Device, Kernels } from '../../../gpu/device/device.js'
import type { Recorder } from '../../../gpu/device/recorder.js'
import type { DeviceMemory } from '../../../gpu/memory/page-run.js'
import type { Scratch } from '../../../gpu/memory/scratch.js'
import type { Primitives } from '../../../gpu/primitives/primitives.js'
import { PAPER_KERNELS } from '../kernels.js'
import { Cut, type SortedTuples } from './cut.js'

/** How a workgroup joins two ranges in its own memory (Diamos §4.2; `cta-join.wesl`). */
export const CTA_JOINS = ['binarySearch', 'blockedSearch', 'bruteForce', 'hash', 'network'] as const
export type CtaJoin = (typeof CTA_JOINS)[number]

const CONDITIONS: Readonly<Record<CtaJoin, string>> = {
  binarySearch: 'binary_search',
  blockedSearch: 'blocked_search',
  bruteForce: 'brute_force',
  hash: 'hash',
  network: 'network',
}

/** What kernels that join by an algorithm are made with. */
export function ctaJoinConditions(algorithm: CtaJoin): Readonly<Record<string, boolean>> {
  return { [CONDITIONS[algorithm]]: true }
}

/** Tuples of a join. */
export interface Joined {
  readonly keys: DeviceMemory
  /** The second relation's payload and the first one's. */
  readonly payloads: DeviceMemory
}

/** JOIN by one of the CTA joins (`join.wesl`): cut, count, scan, write. */
export class Join {
  readonly #primitives: Primitives
  readonly #cut: Cut
  readonly #kernels: Kernels<'count_matches' | 'write_matches'>

  constructor(device: Device, primitives: Primitives, algorithm: CtaJoin) {
    this.#primitives = primitives
    this.#cut = new Cut(device)
    this.#kernels = device.kernels(
      'diamos/join',
      ['count_matches', 'write_matches'],
      ctaJoinConditions(algorithm),
      PAPER_KERNELS,
    )
  }

  /** @param results how many there are */
  record(
    recorder: Recorder,
    scratch: Scratch,
    first: SortedTuples,
    second: SortedTuples,
    results: number,
  ): Joined {
    const { tiles, cuts } = this.#cut.record(recorder, scratch, first, second)
    const [counts, bases] = [scratch.words(tiles + 1), scratch.words(tiles + 1)]
    const joined = { keys: scratch.words(results + 1), payloads: scratch.words(2 * (results + 1)) }
    const keys = { firstKeys: first.keys, secondKeys: second.keys, cuts }
    const params = { tiles, total: first.count + second.count }
    recorder.dispatchGroups(this.#kernels.count_matches, { ...keys, counts }, params, tiles)
    this.#primitives.scan(recorder, scratch, counts, bases, tiles)
    const buffers = {
      ...keys,
      firstPayloads: first.payloads,
      secondPayloads: second.payloads,
      bases,
      outKeys: joined.keys,
      outPayloads: joined.payloads,
    }
    recorder.dispatchGroups(this.#kernels.write_matches, buffers, params, tiles)
    return joined
  }
}
