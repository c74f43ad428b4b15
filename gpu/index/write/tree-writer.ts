import { WarpdexError } from '../../../protocol/errors.js'
import { WriteOp } from '../../../protocol/types.js'
import type { Device } from '../../device/device.js'
import type { IndexShape, WriteBatch } from '../../index-structure.js'
import type { Scratch } from '../../memory/scratch.js'
import type { Primitives } from '../../primitives/primitives.js'
import type { Arena } from '../arena.js'
import { type PreparedBatch, preparedBatch } from '../batch/batch.js'
import { COUNTS, Count, needOf } from '../batch/counts.js'
import { columnSource, type ItemSource, type Items } from '../batch/items.js'
import { BatchSort } from '../batch/sort.js'
import { BatchWork } from '../batch/work.js'
import { createBuilder } from '../delta/create-builder.js'
import { EntryLister } from '../delta/entries.js'
import { hasTop, TopKeeper } from '../delta/top.js'
import { type TreeShape, treeShape } from '../layout.js'
import { BulkBuild } from '../main/bulk-build.js'
import { DirectoryBuilder } from '../main/directory.js'
import type { MergeRoom } from '../main/merge-rooms.js'
import { type PlannedMerge, RunMerge } from '../main/merge-run.js'
import type { Locator, TraversalPlan } from '../partitions/locator.js'
import type { TreeTotals } from '../totals.js'
import { Applier } from './apply.js'
import { KeyWriter } from './created-keys.js'
import { OrderLinker } from './order-links.js'
import { Settler } from './settle.js'

/** What the first half of a write leaves on the device for the second. */
interface Settled {
  readonly work: BatchWork
  readonly items: Items
  readonly destination: Destination
}

/**
 * Where the tuples go that a batch creates: to nodes, or to a CSS-tree's sorted part. That is undecided where a batch is large enough to be
 * merged with it at once, until it is known how many tuples it creates.
 */
type Destination = 'nodes' | 'sorted part' | 'undecided'

/** Nodes that random keys take, at most about; evenly spread ones take 0.07 to 0.53. */
const NODES_PER_KEY = 0.4

/**
 * Bulk-synchronous writes: no locks, every phase a dispatch. A batch is sorted and its keys are
 * located, its outcome is settled, and its need of memory is counted, all without changing the tree; once the memory is made
 * sure of it is applied: payloads dead by pair are marked, tuples and payloads written, new tuples hung in, removed ones
 * taken out, and links between tuples changed where there are any.
 */
export class TreeWriter {
  readonly #device: Device
  readonly #primitives: Primitives
  readonly #index: IndexShape
  readonly #shape: TreeShape
  readonly #stages: ReturnType<typeof createStages>

  /** @param locator finds keys by partitions, where trees of the shape have any */
  constructor(device: Device, primitives: Primitives, index: IndexShape, locator?: Locator) {
    this.#device = device
    this.#primitives = primitives
    this.#index = index
    this.#shape = treeShape(index)
    this.#stages = createStages(device, primitives, index, locator)
  }

  /**
   * Settles a batch and makes sure of its memory.
   * @param plan how to find its keys; see `Locator.plan`
   * @throws WarpdexError `OUT_OF_DEVICE_MEMORY`, or `TOO_LARGE` when a key has no sequence numbers left; nothing is changed then
   */
  async prepare(arena: Arena, batch: WriteBatch, plan?: TraversalPlan): Promise<PreparedBatch> {
    return this.prepareSource(arena, columnSource(this.#device, this.#index, batch), plan)
  }

  /** As `prepare`, for a batch that comes to the device when it is asked for. */
  async prepareSource(arena: Arena, source: ItemSource, plan?: TraversalPlan): Promise<PreparedBatch> {
    const scratch = this.#device.scratch()
    try {
      return await this.prepareItems(arena, scratch, source.provide(scratch), plan)
    } catch (error) {
      scratch.release()
      throw error
    }
  }

  /** As `prepare`, for a batch that is on the device already. Takes over `scratch`, unless it fails. */
  async prepareItems(
    arena: Arena,
    scratch: Scratch,
    items: Items,
    plan?: TraversalPlan,
  ): Promise<PreparedBatch> {
    const { bulk, separators } = this.#stages
    if (bulk?.suits(arena, items)) {
      const prepared = await bulk.prepare(scratch, arena, items)
      if (prepared !== undefined) return prepared
    }
    separators?.provide(arena)
    const settled = await this.#settle(scratch, arena, items, plan)
    const reserving = this.#reserveAhead(arena, settled)
    // Should reading fail, the arena must have come to rest before the next batch is prepared.
    const [totals, codes] = await Promise.all([
      this.#device.readWords(settled.work.column('counts'), COUNTS),
      this.#readCodes(settled),
    ]).finally(() => reserving)
    if (totals[Count.unsettled] > 0)
      return this.prepareItems(arena, scratch, { ...items, leading: undefined }, plan)
    if (totals[Count.exhausted] > 0) throw exhausted()
    return this.#prepared(arena, settled, totals, codes)
  }

  /** Makes sure of all memory that applying a batch takes. */
  async #prepared(
    arena: Arena,
    settled: Settled,
    totals: Uint32Array,
    codes: Uint8Array,
  ): Promise<PreparedBatch> {
    const { work, items, destination } = settled
    const { merge, tops } = this.#stages
    const creates = totals[Count.creates]!
    const becomesSorted = destination === 'sorted part'
    let merging: MergeRoom | undefined
    if (destination === 'undecided') {
      if (merge?.suits(arena, creates, items.goesOn)) {
        await arena.reserve({ ...needOf(totals), isTight: true })
        merging = await arena.merges.provide(creates, items.goesOn)
      }
      if (merging === undefined) {
        work.recorder = this.#device.record()
        // What was made room for may lie elsewhere.
        Object.assign(work.buffers, arena.bindings)
        await this.#planNodes(work, arena)
        const all = await this.#device.readWords(work.column('counts'), COUNTS)
        return this.#prepared(arena, { ...settled, destination: 'nodes' }, all, codes)
      }
    } else await arena.reserve({ ...needOf(totals), ...(becomesSorted && { sorted: creates }) })
    const room = merging ?? (becomesSorted ? await arena.roomForSorted(creates) : undefined)
    try {
      await tops?.provide(arena, arena.tuples.records + creates)
      // Taken now, because applying must not fail.
      work.words('movedFrom', totals[Count.longMoves]! > 0 ? work.count : 1)
      work.words('emptied', totals[Count.removes]! + 1)
      const planned = merging && merge?.plan(work.scratch, merging.merged)
      const apply = () => this.#apply(arena, settled, totals, planned)
      return preparedBatch(work.scratch, { codes, change: changeOf(totals) }, room, apply)
    } catch (error) {
      room?.giveBack()
      throw error
    }
  }

  async #settle(
    scratch: Scratch,
    arena: Arena,
    items: Items,
    plan: TraversalPlan | undefined,
  ): Promise<Settled> {
    const stages = this.#stages
    const { count, op, ops, hasPairs, payloads, matchesWhole } = items
    const params = {
      shape: matchesWhole ? this.#shape.wholeWord : this.#shape.word,
      payloadBytes: this.#index.payloadBytes,
      op,
      hasPairs: hasPairs ? 1 : 0,
      firstTuple: arena.tuples.records,
    }
    const work = new BatchWork(this.#device.record(), scratch, this.#primitives, count, params)
    const counts = work.column('counts')
    work.recorder.clear(counts, 0, 4 * COUNTS)
    const unsettled = { buffer: counts, index: Count.unsettled }
    const sorted = await stages.sort.sort(work.recorder, scratch, items, unsettled)
    work.recorder = sorted.recorder
    const { keys, heap, order } = sorted
    const columns = { ops, payloadColumn: payloads, payloadPairs: payloads }
    Object.assign(work.buffers, arena.bindings, columns, { keys, order, queryHeap: heap, sourceHeap: heap })
    stages.settler.record(work, arena, items, plan)
    stages.entries.recordCreated(work)
    stages.keys?.recordCount(work)
    const destination = this.#destinationOf(arena, items)
    if (destination === 'nodes') await this.#planNodes(work, arena)
    else work.recorder.submit()
    return { work, items, destination }
  }

  /** Counts the nodes that a batch takes, and submits what is recorded. */
  async #planNodes(work: BatchWork, arena: Arena): Promise<void> {
    const { entries, builder } = this.#stages
    const complete = builder.plan(work, entries.record(work, arena), arena)
    work.recorder.submit()
    await complete?.()
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

  async #readCodes({ work, items }: Settled): Promise<Uint8Array> {
    const { codes } = work.buffers
    // Fresh memory is zero, which is the code of what is inserted; filling it would take longer than sorting the batch.
    if (codes === undefined) return new Uint8Array(items.count)
    return this.#device.read(codes, items.count)
  }

  #apply(arena: Arena, settled: Settled, totals: Uint32Array, merge: PlannedMerge | undefined): void {
    const { work, items, destination } = settled
    const stages = this.#stages
    const creates = totals[Count.creates]!
    const entries = totals[Count.entries]!
    work.recorder = this.#device.record()
    // What was made room for may lie elsewhere.
    Object.assign(work.buffers, arena.bindings)
    if (items.hasPairs) stages.settler.recordMarks(work)
    const firstNode = arena.takeNodes(totals[Count.nodes]!)
    arena.takeTuples(creates)
    stages.applier.recordPayloads(work, totals, arena.extents.take(totals[Count.extentWords]!))
    stages.keys?.record(work, arena, creates, totals[Count.keyWords]!)
    if (destination === 'nodes' && entries > 0) stages.builder.record(work, arena, entries, firstNode)
    if (totals[Count.removes]! > 0) stages.applier.recordRemovals(work, arena, totals[Count.runs]!)
    stages.linker?.record(work, totals)
    stages.tops?.recordFill(work.recorder, arena)
    if (merge !== undefined) stages.merge?.record(work.recorder, arena, merge)
    work.recorder.submit()
  }
}

/** By how much a write changes a tree's totals, by its own. */
function changeOf(totals: Uint32Array): TreeTotals {
  const removes = totals[Count.removes]!
  return {
    keys: totals[Count.creates]! - removes,
    payloads: totals[Count.payloadsAdded]! - totals[Count.payloadsRemoved]!,
    tuplesRemoved: removes,
    garbageBytes: totals[Count.garbageWords]! * 4,
  }
}

function exhausted(): WarpdexError {
  return new WarpdexError(
    'TOO_LARGE',
    'a key of the batch has been given 2^31 payloads and can take no more; delete the key, or replace its payloads',
  )
}

/** What writes to trees of one shape are made of. */
function createStages(
  device: Device,
  primitives: Primitives,
  index: IndexShape,
  locator: Locator | undefined,
) {
  const shape = treeShape(index)
  const { css, linked, variable } = shape.conditions
  const merge = css ? new RunMerge(device, shape) : undefined
  return {
    sort: new BatchSort(device, primitives, shape),
    settler: new Settler(device, shape, index.unique, locator),
    entries: new EntryLister(device, shape),
    builder: createBuilder(device, shape),
    applier: new Applier(device, shape, index.payloadBytes, index.unique),
    /** Only where keys have a variable length. */
    keys: variable ? new KeyWriter(device, shape) : undefined,
    /** Only where tuples are linked in key order. */
    linker: linked ? new OrderLinker(device, shape) : undefined,
    /** Only where trees may have a table of their top. */
    tops: hasTop(shape) ? new TopKeeper(device) : undefined,
    /** Only for CSS-trees. */
    separators: css ? new DirectoryBuilder(device, shape) : undefined,
    merge,
    /** Only for CSS-trees over keys of fixed width. */
    bulk: merge && !variable ? new BulkBuild(device, primitives, index, merge) : undefined,
  }
}
