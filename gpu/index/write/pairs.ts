import type { Device, Kernels } from '../../device/device.js'
import type { Primitives } from '../../primitives/primitives.js'
import type { BatchWork } from '../batch/work.js'
import type { TreeShape } from '../layout.js'

/** Workgroups for lists that take one each; each works on one list after the other. */
const LONG_LIST_GROUPS = 512

/** Finds the existing payloads and the items of a batch that its deletePairs name. For indexes that are not unique. */
export class PairMatcher {
  readonly #primitives: Primitives
  readonly #kernels: Kernels<'hash_items' | 'link_pairs' | 'match_existing' | 'match_long'>
  readonly #seeds = crypto.getRandomValues(new Uint32Array(2))

  constructor(device: Device, primitives: Primitives, { conditions }: TreeShape) {
    const entryPoints = ['hash_items', 'link_pairs', 'match_existing', 'match_long'] as const
    this.#primitives = primitives
    this.#kernels = device.kernels('index/write/pairs', entryPoints, conditions)
  }

  /** Orders the items and counts the existing payloads that each one names. */
  record(work: BatchWork): void {
    const { count, recorder, scratch } = work
    const primitives = this.#primitives
    const [seed, seedOfRounds] = this.#seeds
    Object.assign(work.params, { seed, seedOfRounds })
    const hashes = work.words('hashes')
    work.dispatch(this.#kernels.hash_items)
    const byHash = primitives.sort(recorder, scratch, hashes, undefined, count, 1)
    const runs = scratch.words(count)
    primitives.gather(recorder, work.column('runsOf'), byHash.values, runs, count, 1)
    const bits = Math.max(1, Math.ceil(Math.log2(count)))
    const byRun = primitives.sort(recorder, scratch, runs, byHash.values, count, 1, { bits })
    work.buffers.pairOrder = byRun.values
    work.words('pairItems', 4 * count)
    work.buffers.matched = work.words('pairLinks', 2 * count)
    recorder.clear(work.words('runPairs'), 0, 4 * count)
    work.words('longRuns')
    work.dispatch(this.#kernels.link_pairs)
    this.#match(work, 0)
  }

  /** Marks the existing payloads dead that the batch deletes by pair. */
  recordMarks(work: BatchWork): void {
    this.#match(work, 1)
  }

  #match(work: BatchWork, mark: 0 | 1): void {
    work.params.mark = mark
    work.dispatch(this.#kernels.match_existing)
    work.dispatchGroups(this.#kernels.match_long, Math.min(LONG_LIST_GROUPS, work.count))
  }
}
