import { WarpdexError } from '../../../protocol/errors.js'
import { BulkBuild } from '../../css-tree/bulk-build.js'
import { DirectoryBuilder } from '../../css-tree/directory.js'
import type { SortedPart } from '../../css-tree/sorted-part.js'
import type { Device } from '../../device/device.js'
import type { IndexShape, WriteBatch } from '../../index-structure.js'
import type { Scratch } from '../../memory/scratch.js'
import type { Primitives } from '../../primitives/primitives.js'
import { type Arena, keyHeaps } from '../arena.js'
import { DirectoryKeeper, hasDirectory } from '../directory.js'
import { type TreeShape, treeShape } from '../layout.js'
import type { Locator, Ready } from '../locate/locator.js'
import type { Builder, NodePlan } from './build.js'
import { COUNTS, Count } from './counts.js'
import { createBuilder } from './create-builder.js'
import { type KeysToStore, KeyWriter } from './created-keys.js'
import { type BatchEntries, EntryLister } from './entries.js'
import { type Items, uploadItems } from './items.js'
import { NewTupleWriter } from './new-tuples.js'
import { OrderLinker } from './order-links.js'
import { PairMatcher, type Pairs } from './pairs.js'
import { PayloadWriter } from './payloads.js'
import { type Plan, Planner } from './plan.js'
import { Remover } from './remove.js'
import { type Outcome, Resolver } from './resolve.js'
import { RunFinder, type Runs } from './runs.js'

/** How a batch changes what the tree holds. */
export interface WriteEffect {
  readonly tuplesCreated: number
  readonly tuplesRemoved: number
  readonly payloadsAdded: number
  readonly payloadsRemoved: number
  readonly garbageBytes: number
}

/** A batch that is settled but not applied. Its scratch buffers live until it is applied or discarded. */
export interface PreparedBatch {
  readonly codes: Uint8Array
  readonly effect: WriteEffect
  /** Changes the tree; reads submitted later see the whole batch. */
  apply(): void
  discard(): void
}

/** Everything that the first half of a write leaves on the device for the second. */
interface Settled {
  readonly items: Items
  readonly counts: GPUBuffer
  readonly runs: Runs
  readonly pairs: Pairs | undefined
  readonly outcome: Outcome
  readonly plan: Plan
  readonly entries: BatchEntries
  /** None where the batch becomes a CSS-tree's sorted part. */
  readonly nodes: NodePlan | undefined
  /** Only where keys have a variable length. */
  readonly keys: KeysToStore | undefined
}

/** Nodes that random keys take, at most about; evenly spread ones take 0.07 to 0.53. */
const NODES_PER_KEY = 0.4

interface Stages {
  readonly runs: RunFinder
  readonly pairs: PairMatcher
  readonly resolver: Resolver
  readonly planner: Planner
  readonly entries: EntryLister
  readonly builder: Builder
  /** Only where keys have a variable length. */
  readonly keys: KeyWriter | undefined
  readonly payloads: PayloadWriter
  /** Only where keys have a fixed width. */
  readonly newTuples: NewTupleWriter | undefined
  readonly remover: Remover
  /** Only where tuples are linked in key order. */
  readonly linker: OrderLinker | undefined
  /** Only where trees may have a directory. */
  readonly directories: DirectoryKeeper | undefined
  /** Only for CSS-trees. */
  readonly separators: DirectoryBuilder | undefined
  /** Only for CSS-trees that can be made so. */
  readonly bulk: BulkBuild | undefined
}

/**
 * Bulk-synchronous writes (design, "Insert" and "Delete"): no locks, every phase a dispatch. A batch is sorted and its keys are
 * located, its outcome is settled, and its need of memory is counted, all without changing the tree; once the memory is made
 * sure of it is applied: payloads dead by pair are marked, tuples and payloads written, new tuples hung in, removed ones
 * taken out, and links between tuples changed where there are any.
 */
export class TreeWriter {
  readonly #device: Device
  readonly #index: IndexShape
  readonly #shape: TreeShape
  readonly #stages: Stages

  private constructor(device: Device, index: IndexShape, stages: Stages) {
    this.#device = device
    this.#index = index
    this.#shape = treeShape(index)
    this.#stages = stages
  }

  /** @param locator finds keys by partitions, where trees of the shape have any */
  static async create(
    device: Device,
    primitives: Primitives,
    index: IndexShape,
    locator?: Locator,
  ): Promise<TreeWriter> {
    const shape = treeShape(index)
    const { payloadBytes, unique } = index
    const variable = shape.form !== undefined
    const [
      runs,
      pairs,
      resolver,
      planner,
      entries,
      builder,
      keys,
      payloads,
      newTuples,
      remover,
      linker,
      directories,
      separators,
      bulk,
    ] = await Promise.all([
      RunFinder.create(device, primitives, shape, locator),
      PairMatcher.create(device, primitives, shape, payloadBytes),
      Resolver.create(device, primitives, shape, payloadBytes),
      Planner.create(device, primitives, shape, unique),
      EntryLister.create(device, primitives, shape),
      createBuilder(device, primitives, shape),
      variable ? KeyWriter.create(device, primitives, shape) : undefined,
      PayloadWriter.create(device, shape, payloadBytes, unique),
      variable ? undefined : NewTupleWriter.create(device, shape, payloadBytes),
      Remover.create(device, shape),
      shape.conditions.linked ? OrderLinker.create(device, shape) : undefined,
      hasDirectory(shape) ? DirectoryKeeper.create(device) : undefined,
      shape.conditions.css ? DirectoryBuilder.create(device, shape) : undefined,
      BulkBuild.create(device, primitives, index),
    ])
    return new TreeWriter(device, index, {
      runs,
      pairs,
      resolver,
      planner,
      entries,
      builder,
      keys,
      payloads,
      newTuples,
      remover,
      linker,
      directories,
      separators,
      bulk,
    })
  }

  /**
   * Settles a batch and makes sure of its memory.
   * @param ready how to find its keys; see `Locator.ready`
   * @throws WarpdexError `OUT_OF_DEVICE_MEMORY`, or `TOO_LARGE` when a key has no sequence numbers left; nothing is changed then
   */
  async prepare(arena: Arena, batch: WriteBatch, ready?: Ready): Promise<PreparedBatch> {
    const { keys, keyOffsets } = batch
    const count =
      keyOffsets === undefined ? keys.byteLength / (4 * this.#shape.keyWords) : keyOffsets.length - 1
    const provide = (scratch: Scratch) => uploadItems(this.#device, scratch, this.#index, batch, count)
    return this.prepareSource(arena, { provide }, ready)
  }

  /** As `prepare`, for a batch that comes to the device, or from another place on it, when it is asked for. */
  async prepareSource(
    arena: Arena,
    source: { readonly provide: (scratch: Scratch) => Items },
    ready?: Ready,
  ): Promise<PreparedBatch> {
    const scratch = this.#device.scratch()
    let items: Items
    try {
      items = source.provide(scratch)
    } catch (error) {
      scratch.release()
      throw error
    }
    return this.prepareItems(arena, scratch, items, ready)
  }

  /** As `prepare`, for a batch that is on the device already. Takes over `scratch`. */
  async prepareItems(arena: Arena, scratch: Scratch, items: Items, ready?: Ready): Promise<PreparedBatch> {
    try {
      const { bulk } = this.#stages
      if (bulk?.suits(arena, items)) {
        const prepared = await bulk.prepare(scratch, arena, items)
        if (prepared !== undefined) return prepared
      }
      const settled = await this.#settle(scratch, arena, items, ready)
      const becomesSorted = settled.nodes === undefined
      const reserving = this.#reserveAhead(arena, items, becomesSorted)
      // Should reading fail, the arena must have come to rest before the next batch is prepared.
      const [counts, codes] = await Promise.all([
        this.#device.readWords(settled.counts, COUNTS),
        this.#readCodes(settled),
      ]).finally(() => reserving)
      if (counts[Count.unsettled] > 0)
        return await this.prepareItems(arena, scratch, { ...items, leading: undefined }, ready)
      if (counts[Count.exhausted] > 0) throw exhausted()
      await arena.reserve({
        nodes: counts[Count.nodes],
        tuples: counts[Count.creates],
        extentWords: counts[Count.extentWords],
        keyWords: counts[Count.keyWords],
        ...(becomesSorted && { sorted: counts[Count.creates] }),
      })
      await this.#stages.directories?.provide(arena, arena.tuples.records + counts[Count.creates])
      // Taken now, because applying must not fail.
      const movedFrom = scratch.words(counts[Count.longMoves] > 0 ? items.count : 1)
      const emptied = scratch.words(counts[Count.removes] + 1)
      // The last thing that may fail, since nobody would give it back.
      const sorted = becomesSorted ? await arena.provideSorted(counts[Count.creates]) : undefined
      return {
        codes,
        effect: effectOf(counts),
        apply: () => {
          try {
            this.#apply(arena, settled, { movedFrom, emptied }, counts, sorted)
          } finally {
            scratch.release()
          }
        },
        discard: () => {
          sorted?.destroy()
          scratch.release()
        },
      }
    } catch (error) {
      scratch.release()
      throw error
    }
  }

  async #settle(scratch: Scratch, arena: Arena, items: Items, ready: Ready | undefined): Promise<Settled> {
    const { count } = items
    const stages = this.#stages
    const counts = scratch.words(COUNTS)
    const sorting = this.#device.record()
    sorting.clear(counts)
    const sorted = await stages.runs.sort(sorting, scratch, items, counts)
    const { recorder } = sorted
    const runs = stages.runs.record(recorder, scratch, arena, sorted, count, counts, ready)
    const pairs = items.hasPairs
      ? stages.pairs.record(recorder, scratch, arena, items, runs, counts)
      : undefined
    const outcome = stages.resolver.record(recorder, scratch, arena, items, runs, pairs, counts)
    const plan = stages.planner.record(recorder, scratch, arena, runs, outcome, count, counts)
    const entries = stages.entries.record(recorder, scratch, arena, runs, plan, count, counts)
    const becomesSorted = this.#becomesSorted(arena)
    const nodes = becomesSorted
      ? undefined
      : stages.builder.plan(recorder, scratch, entries, counts, keyHeaps(arena, runs.heap), arena)
    const { createdKeys } = entries
    const keys =
      runs.heap && stages.keys?.recordCount(recorder, scratch, createdKeys, runs.heap, count, counts)
    recorder.submit()
    await nodes?.complete?.()
    return { items, counts, runs, pairs, outcome, plan, entries, nodes, keys }
  }

  /** What comes to an empty CSS-tree is its sorted part: created tuples are in key order. */
  #becomesSorted(arena: Arena): boolean {
    return this.#shape.conditions.css && arena.tuples.records === 0
  }

  /**
   * A batch that is as large as the tree will mostly create tuples. Allocating takes the host as long as sorting takes the
   * device, so both go on at once. It is a guess: where it fails, the exact need may still be met, or fail for all to see.
   */
  async #reserveAhead(arena: Arena, items: Items, becomesSorted: boolean): Promise<void> {
    if (!items.allAlive || items.count < arena.tuples.records) return
    const nodes = becomesSorted ? 0 : Math.ceil(items.count * NODES_PER_KEY)
    const need = { nodes, tuples: items.count, extentWords: 0 }
    try {
      await arena.reserve(need)
    } catch {
      // The exact need is reserved next.
    }
  }

  async #readCodes({ items, outcome }: Settled): Promise<Uint8Array> {
    // Fresh memory is zero, which is the code of what is inserted; filling it would take longer than sorting the batch.
    if (outcome.codes === undefined) return new Uint8Array(items.count)
    return this.#device.read(outcome.codes, items.count, (view) => view.slice())
  }

  #apply(
    arena: Arena,
    settled: Settled,
    { movedFrom, emptied }: { readonly movedFrom: GPUBuffer; readonly emptied: GPUBuffer },
    totals: Uint32Array,
    sorted: SortedPart | undefined,
  ): void {
    const { items, counts, runs, pairs, outcome, plan, nodes, keys } = settled
    const stages = this.#stages
    const recorder = this.#device.record()
    if (pairs !== undefined) stages.pairs.recordMarks(recorder, arena, items, runs, pairs, counts)
    const firstNode = arena.takeNodes(totals[Count.nodes]!)
    const firstTuple = arena.takeTuples(totals[Count.creates]!)
    const created = { runs: totals[Count.runs]!, firstTuple }
    // Each run creates a tuple, and no payload is left that would need an extent.
    const areNew = totals[Count.creates] === totals[Count.runs] && totals[Count.extentWords] === 0
    if (areNew && stages.newTuples !== undefined) {
      stages.newTuples.record(recorder, arena, items, runs, outcome, created)
    } else {
      stages.payloads.record(recorder, arena, items, runs, outcome, plan, counts, {
        ...created,
        longMoves: totals[Count.longMoves]!,
        extentWords: totals[Count.extentWords]!,
        movedFrom,
        firstExtent: arena.extents.take(totals[Count.extentWords]!),
      })
    }
    if (keys !== undefined && arena.heap !== undefined) {
      const firstWord = arena.heap.take(totals[Count.keyWords]!)
      stages.keys?.record(recorder, arena, keys, counts, totals[Count.creates]!, firstTuple, firstWord)
    }
    if (totals[Count.entries]! > 0) {
      nodes?.record(recorder, arena, totals[Count.entries]!, firstNode, keyHeaps(arena, runs.heap))
    }
    if (totals[Count.removes]! > 0) {
      stages.remover.record(recorder, arena, runs, plan, totals[Count.runs]!, counts, emptied)
    }
    stages.linker?.record(recorder, arena, runs, plan, counts, {
      runs: totals[Count.runs]!,
      creates: totals[Count.creates]!,
      removes: totals[Count.removes]!,
      firstTuple,
    })
    stages.directories?.recordFill(recorder, arena)
    if (sorted !== undefined) {
      arena.replaceSorted(sorted)
      stages.separators?.record(recorder, arena)
    }
    recorder.submit()
  }
}

function effectOf(counts: Uint32Array): WriteEffect {
  return {
    tuplesCreated: counts[Count.creates]!,
    tuplesRemoved: counts[Count.removes]!,
    payloadsAdded: counts[Count.payloadsAdded]!,
    payloadsRemoved: counts[Count.payloadsRemoved]!,
    garbageBytes: counts[Count.garbageWords]! * 4,
  }
}

function exhausted(): WarpdexError {
  return new WarpdexError(
    'TOO_LARGE',
    'a key of the batch has been given 2^31 payloads and can take no more; delete the key, or replace its payloads',
  )
}
