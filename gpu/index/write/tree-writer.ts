import { WarpdexError } from '../../../protocol/errors.js'
import { WriteOp } from '../../../protocol/types.js'
import type { Device } from '../../device/device.js'
import type { Recorder } from '../../device/recorder.js'
import type { IndexShape, WriteBatch } from '../../index-structure.js'
import type { Scratch } from '../../memory/scratch.js'
import type { Primitives } from '../../primitives/primitives.js'
import { type Arena, type ArenaNeed, keyHeaps } from '../arena.js'
import type { Plan, PreparedBatch, Runs, WriteEffect } from '../batch/batch.js'
import { COUNTS, Count } from '../batch/counts.js'
import { type Items, uploadItems } from '../batch/items.js'
import type { NodePlan } from '../delta/build.js'
import type { Created } from '../delta/entries.js'
import { type TreeShape, treeShape } from '../layout.js'
import type { MergeRoom } from '../main/merge-rooms.js'
import type { PlannedMerge } from '../main/merge-run.js'
import type { SortedPart } from '../main/sorted-part.js'
import type { Locator, Ready } from '../partitions/locator.js'
import type { KeysToStore } from './created-keys.js'
import type { Pairs } from './pairs.js'
import type { Outcome } from './resolve.js'
import { createStages, type Stages } from './stages.js'

/** Everything that the first half of a write leaves on the device for the second. */
interface Settled {
  readonly items: Items
  readonly counts: GPUBuffer
  readonly runs: Runs
  readonly pairs: Pairs | undefined
  readonly outcome: Outcome
  readonly plan: Plan
  readonly created: Created
  readonly destination: Destination
  /** Only where the tuples go to nodes. */
  readonly nodes: NodePlan | undefined
  /** Only where keys have a variable length. */
  readonly keys: KeysToStore | undefined
}

/**
 * Where the tuples go that a batch creates: to nodes, or to a CSS-tree's sorted part. That is undecided where a batch is large enough to be
 * merged with it at once, until it is known how many tuples it creates.
 */
type Destination = 'nodes' | 'sorted part' | 'undecided'

/** What applying a batch takes beyond what the arena has. */
interface ReadyMemory {
  readonly movedFrom: GPUBuffer
  readonly emptied: GPUBuffer
  readonly merge: PlannedMerge | undefined
  readonly sorted: SortedPart | undefined
}

/** Nodes that random keys take, at most about; evenly spread ones take 0.07 to 0.53. */
const NODES_PER_KEY = 0.4

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

  /** @param locator finds keys by partitions, where trees of the shape have any */
  constructor(device: Device, primitives: Primitives, index: IndexShape, locator?: Locator) {
    this.#device = device
    this.#index = index
    this.#shape = treeShape(index)
    this.#stages = createStages(device, primitives, index, locator)
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
      const { bulk, separators } = this.#stages
      if (bulk?.suits(arena, items)) {
        const prepared = await bulk.prepare(scratch, arena, items)
        if (prepared !== undefined) return prepared
      }
      separators?.provide(arena)
      const settled = await this.#settle(scratch, arena, items, ready)
      const reserving = this.#reserveAhead(arena, settled)
      // Should reading fail, the arena must have come to rest before the next batch is prepared.
      const [counts, codes] = await Promise.all([
        this.#device.readWords(settled.counts, COUNTS),
        this.#readCodes(settled),
      ]).finally(() => reserving)
      if (counts[Count.unsettled] > 0)
        return await this.prepareItems(arena, scratch, { ...items, leading: undefined }, ready)
      if (counts[Count.exhausted] > 0) throw exhausted()
      return await this.#makeSure(scratch, arena, settled, counts, codes)
    } catch (error) {
      scratch.release()
      throw error
    }
  }

  /** Makes sure of all memory that applying a batch takes. */
  async #makeSure(
    scratch: Scratch,
    arena: Arena,
    settled: Settled,
    counts: Uint32Array,
    codes: Uint8Array,
  ): Promise<PreparedBatch> {
    if (settled.destination !== 'undecided') return this.#prepared(scratch, arena, settled, counts, codes)
    const { goesOn } = settled.items
    if (this.#stages.merge?.suits(arena, counts[Count.creates]!, goesOn)) {
      await arena.reserve(needOf(counts))
      const room = await arena.merges.provide(arena, counts[Count.creates]!, goesOn)
      if (room !== undefined) {
        try {
          return await this.#prepared(scratch, arena, settled, counts, codes, room)
        } catch (error) {
          arena.merges.giveBack(room)
          throw error
        }
      }
    }
    const recorder = this.#device.record()
    const nodes = this.#planNodes(recorder, scratch, arena, settled)
    recorder.submit()
    await nodes.complete?.()
    const all = await this.#device.readWords(settled.counts, COUNTS)
    return this.#prepared(scratch, arena, { ...settled, nodes }, all, codes)
  }

  /** @param room where the batch is merged at once, room for that; then the rest is made sure of, too */
  async #prepared(
    scratch: Scratch,
    arena: Arena,
    settled: Settled,
    counts: Uint32Array,
    codes: Uint8Array,
    room?: MergeRoom,
  ): Promise<PreparedBatch> {
    const creates = counts[Count.creates]!
    const becomesSorted = settled.destination === 'sorted part'
    if (room === undefined)
      await arena.reserve({ ...needOf(counts), ...(becomesSorted && { sorted: creates }) })
    await this.#stages.directories?.provide(arena, arena.tuples.records + creates)
    // Taken now, because applying must not fail.
    const memory = {
      movedFrom: scratch.words(counts[Count.longMoves]! > 0 ? settled.items.count : 1),
      emptied: scratch.words(counts[Count.removes]! + 1),
      merge: room && this.#stages.merge?.plan(scratch, room),
      // The last thing that may fail, since nobody would give it back.
      sorted: becomesSorted ? await arena.provideSorted(creates) : undefined,
    }
    return {
      codes,
      effect: effectOf(counts),
      apply: () => {
        try {
          this.#apply(arena, settled, memory, counts)
        } finally {
          scratch.release()
        }
      },
      discard: () => {
        memory.sorted?.destroy()
        if (room !== undefined) arena.merges.giveBack(room)
        scratch.release()
      },
    }
  }

  async #settle(scratch: Scratch, arena: Arena, items: Items, ready: Ready | undefined): Promise<Settled> {
    const { count } = items
    const stages = this.#stages
    const counts = scratch.words(COUNTS)
    const sorting = this.#device.record()
    sorting.clear(counts)
    const unsettled = { buffer: counts, index: Count.unsettled }
    const sorted = await stages.sort.sort(sorting, scratch, items, unsettled)
    const { recorder } = sorted
    const runs = stages.runs.record(recorder, scratch, arena, sorted, count, counts, ready)
    const pairs = items.hasPairs
      ? stages.pairs.record(recorder, scratch, arena, items, runs, counts)
      : undefined
    const outcome = stages.resolver.record(recorder, scratch, arena, items, runs, pairs, counts)
    const plan = stages.planner.record(recorder, scratch, arena, runs, outcome, count, counts)
    const created = stages.entries.recordCreated(recorder, scratch, runs, plan, count, counts)
    const keys =
      runs.heap && stages.keys?.recordCount(recorder, scratch, created.createdKeys, runs.heap, count, counts)
    const settled = { items, counts, runs, pairs, outcome, plan, created, keys }
    const destination = this.#destinationOf(arena, items)
    const nodes = destination === 'nodes' ? this.#planNodes(recorder, scratch, arena, settled) : undefined
    recorder.submit()
    await nodes?.complete?.()
    return { ...settled, destination, nodes }
  }

  /** Counts the nodes that a batch takes. */
  #planNodes(
    recorder: Recorder,
    scratch: Scratch,
    arena: Arena,
    { items, counts, runs, plan, created }: Omit<Settled, 'destination' | 'nodes'>,
  ): NodePlan {
    const { entries, builder } = this.#stages
    const hung = entries.record(recorder, scratch, arena, runs, plan, created, items.count, counts)
    return builder.plan(recorder, scratch, hung, counts, keyHeaps(arena, runs.heap), arena)
  }

  /** Where the tuples go that a batch creates. */
  #destinationOf(arena: Arena, { op, count, goesOn }: Items): Destination {
    // Created tuples are in key order.
    if (this.#shape.conditions.css && arena.tuples.records === 0) return 'sorted part'
    const inserts = op === WriteOp.insert || op === WriteOp.insertIfAbsent || op === WriteOp.replace
    return inserts && this.#stages.merge?.suits(arena, count, goesOn) ? 'undecided' : 'nodes'
  }

  /**
   * A batch that is as large as the tree will mostly create tuples. Allocating takes the host as long as sorting takes the
   * device, so both go on at once. It is a guess: where it fails, the exact need may still be met, or fail for all to see.
   */
  async #reserveAhead(arena: Arena, { items, destination }: Settled): Promise<void> {
    if (!items.allAlive || items.count < arena.tuples.records) return
    const nodes = destination === 'nodes' ? Math.ceil(items.count * NODES_PER_KEY) : 0
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
    { movedFrom, emptied, merge, sorted }: ReadyMemory,
    totals: Uint32Array,
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
    if (merge !== undefined) stages.merge?.record(recorder, arena, merge)
    recorder.submit()
    if (sorted !== undefined) arena.replaceSorted(sorted)
    if (merge !== undefined) arena.merges.take(arena, merge.room, items.goesOn)
  }
}

function needOf(counts: Uint32Array): ArenaNeed {
  return {
    nodes: counts[Count.nodes]!,
    tuples: counts[Count.creates]!,
    extentWords: counts[Count.extentWords]!,
    keyWords: counts[Count.keyWords]!,
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
