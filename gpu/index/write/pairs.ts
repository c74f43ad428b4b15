import type { Device, Kernels } from '../../device/device.js'
import type { Recorder } from '../../device/recorder.js'
import type { Scratch } from '../../memory/scratch.js'
import type { Primitives } from '../../primitives/primitives.js'
import type { Arena } from '../arena.js'
import type { Runs } from '../batch/batch.js'
import type { Items } from '../batch/items.js'
import type { TreeShape } from '../layout.js'

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

/** Finds the resident payloads and the items of a batch that its deletePairs name. For indexes that are not unique. */
export class PairMatcher {
  readonly #primitives: Primitives
  readonly #shape: TreeShape
  readonly #payloadBytes: number
  readonly #kernels: Kernels<'hash_items' | 'link_pairs' | 'match_residents' | 'match_long'>
  readonly #seeds = crypto.getRandomValues(new Uint32Array(2))

  constructor(device: Device, primitives: Primitives, shape: TreeShape, payloadBytes: number) {
    const entryPoints = ['hash_items', 'link_pairs', 'match_residents', 'match_long'] as const
    this.#primitives = primitives
    this.#shape = shape
    this.#payloadBytes = payloadBytes
    this.#kernels = device.kernels('index/write/pairs', entryPoints, shape.conditions)
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
    const hashed = { payloadColumn: items.payloads, order: runs.order, hashes }
    recorder.dispatch(this.#kernels.hash_items, hashed, params, count)
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
    const linked = {
      runsOf: runs.runsOf,
      pairOrder,
      allHashes: hashes,
      payloadColumn: items.payloads,
      itemOrder: runs.order,
      ops: items.ops,
      pairItems: pairs.items,
      links: pairs.links,
      runPairs: pairs.runPairs,
    }
    recorder.dispatch(this.#kernels.link_pairs, linked, params, count)
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

  #params({ count, op }: Items, mark: 0 | 1) {
    const [seed, seedOfRounds] = this.#seeds
    const shape = this.#shape.word
    return { count, shape, payloadBytes: this.#payloadBytes, op, mark, seed, seedOfRounds }
  }

  #match(
    recorder: Recorder,
    arena: Arena,
    items: Items,
    runs: Runs,
    pairs: Pairs,
    counts: GPUBuffer,
    params: Readonly<Record<string, number>>,
  ): void {
    const buffers = {
      ...arena.bindings,
      payloadColumn: items.payloads,
      starts: runs.starts,
      residents: runs.residents,
      pairs: pairs.items,
      matched: pairs.links,
      hasPairs: pairs.runPairs,
      counts,
      longRuns: pairs.longRuns,
    }
    const longGroups = Math.min(LONG_LIST_GROUPS, items.count)
    recorder.dispatch(this.#kernels.match_residents, buffers, params, items.count)
    recorder.dispatchGroups(this.#kernels.match_long, buffers, params, longGroups)
  }
}
