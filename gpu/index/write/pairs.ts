import type { Device } from '../../device/device.js'
import type { Kernel } from '../../device/kernel.js'
import type { Recorder } from '../../device/recorder.js'
import type { Scratch } from '../../memory/scratch.js'
import type { Primitives } from '../../primitives/primitives.js'
import type { Arena } from '../arena.js'
import type { TreeShape } from '../layout.js'
import type { Items } from './items.js'
import type { Runs } from './runs.js'

/** A batch's items in the order of (run, payload), with what deletePair needs to know of them. */
export interface Pairs {
  readonly items: GPUBuffer
  /** By sorted position: the item before with the same payload, and the residents that have it. */
  readonly links: GPUBuffer
  readonly runPairs: GPUBuffer
  readonly longRuns: GPUBuffer
}

/** Workgroups for lists that take one each; each works on one list after the other. */
const LONG_LIST_GROUPS = 512

type Kernels = Readonly<Record<'hashItems' | 'linkPairs' | 'matchResidents' | 'matchLong', Kernel>>

/** Finds the resident payloads and the items of a batch that its deletePairs name. For indexes that are not unique. */
export class PairMatcher {
  readonly #primitives: Primitives
  readonly #shape: TreeShape
  readonly #payloadBytes: number
  readonly #kernels: Kernels
  readonly #seeds = crypto.getRandomValues(new Uint32Array(2))

  private constructor(primitives: Primitives, shape: TreeShape, payloadBytes: number, kernels: Kernels) {
    this.#primitives = primitives
    this.#shape = shape
    this.#payloadBytes = payloadBytes
    this.#kernels = kernels
  }

  static async create(
    device: Device,
    primitives: Primitives,
    shape: TreeShape,
    payloadBytes: number,
  ): Promise<PairMatcher> {
    const common = {
      module: 'index/write/pairs',
      params: 7,
      conditions: shape.conditions,
    }
    const match = {
      ...common,
      firstBinding: 1,
      bindings: ['write', 'write', 'read', 'read', 'read', 'read', 'write', 'read', 'write', 'write'],
    } as const
    const [hashItems, linkPairs, matchResidents, matchLong] = await Promise.all([
      device.kernel({
        ...common,
        entryPoint: 'hash_items',
        firstBinding: 3,
        bindings: ['read', 'read', 'write'],
      }),
      device.kernel({
        ...common,
        entryPoint: 'link_pairs',
        bindings: ['read', 'read', 'read', 'read', 'read', 'read', 'write', 'write', 'write'],
      }),
      device.kernel({ ...match, entryPoint: 'match_residents' }),
      device.kernel({ ...match, entryPoint: 'match_long' }),
    ])
    return new PairMatcher(primitives, shape, payloadBytes, {
      hashItems,
      linkPairs,
      matchResidents,
      matchLong,
    })
  }

  /** Orders the items and counts the residents that each payload names. */
  record(
    recorder: Recorder,
    scratch: Scratch,
    arena: Arena,
    items: Items,
    runs: Runs,
    counts: GPUBuffer,
  ): Pairs {
    const { count } = items
    const params = this.#params(items, 0)
    const hashes = scratch.words(count)
    recorder.dispatch(this.#kernels.hashItems, [items.payloads, runs.order, hashes], params, count)
    const byHash = this.#primitives.sort(recorder, scratch, hashes, undefined, count, 1)
    const runsByHash = scratch.words(count)
    this.#primitives.gather(recorder, runs.runsOf, byHash.values, runsByHash, count, 1)
    const bits = Math.max(1, Math.ceil(Math.log2(count)))
    const { values: pairOrder } = this.#primitives.sort(
      recorder,
      scratch,
      runsByHash,
      byHash.values,
      count,
      1,
      { bits },
    )

    const pairs: Pairs = {
      items: scratch.words(4 * count),
      links: scratch.words(2 * count),
      runPairs: scratch.words(count),
      longRuns: scratch.words(count),
    }
    recorder.clear(pairs.runPairs, 0, count * 4)
    const inputs = [runs.runsOf, pairOrder, hashes, items.payloads, runs.order, items.ops]
    recorder.dispatch(
      this.#kernels.linkPairs,
      [...inputs, pairs.items, pairs.links, pairs.runPairs],
      params,
      count,
    )
    this.#match(recorder, arena, items, runs, pairs, counts, params)
    return pairs
  }

  /** Marks the residents dead that the batch deletes by pair. */
  recordMarks(
    recorder: Recorder,
    arena: Arena,
    items: Items,
    runs: Runs,
    pairs: Pairs,
    counts: GPUBuffer,
  ): void {
    this.#match(recorder, arena, items, runs, pairs, counts, this.#params(items, 1))
  }

  #params(items: Items, mark: 0 | 1): number[] {
    return [items.count, this.#shape.word, this.#payloadBytes, items.op, mark, ...this.#seeds]
  }

  #match(
    recorder: Recorder,
    arena: Arena,
    items: Items,
    runs: Runs,
    pairs: Pairs,
    counts: GPUBuffer,
    params: readonly number[],
  ): void {
    const buffers = [
      arena.tuples.buffer,
      arena.extents.buffer,
      items.payloads,
      runs.starts,
      runs.residents,
      pairs.items,
      pairs.links,
      pairs.runPairs,
      counts,
      pairs.longRuns,
    ]
    recorder.dispatch(this.#kernels.matchResidents, buffers, params, items.count)
    recorder.dispatchGroups(this.#kernels.matchLong, buffers, params, Math.min(LONG_LIST_GROUPS, items.count))
  }
}
