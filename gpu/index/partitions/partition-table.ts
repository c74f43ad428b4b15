import { LIMITS } from '../../../protocol/limits.js'
import type { Device, Kernels } from '../../device/device.js'
import { Region } from '../../memory/region.js'
import { PAGE_BYTES } from '../../memory/slab.js'
import type { Primitives } from '../../primitives/primitives.js'
import type { Arena } from '../arena.js'
import type { TreeShape } from '../layout.js'
import { PartitionTable } from './partitions.js'

/** The directory has at least this many slots for each partition, so that few are out of reach of a hash. */
const SLOTS_PER_PARTITION = 1.25
/** Slots of a page. */
const LEAST_DIRECTORY_SLOTS = PAGE_BYTES / 8

/** A tree that has grown by this factor gets new partitions where they would have another number of levels. */
const GROWTH_BEFORE_RESETTLING = 2

/** Levels among which those with the fewest partitions are taken; `partition-table.wesl` has the same number. */
const CHOICES = 3

/** Keeps partition tables in step with their trees. */
export class PartitionKeeper {
  readonly #device: Device
  readonly #primitives: Primitives
  readonly #shape: TreeShape
  readonly #kernels: Kernels<'find_depth' | 'count_roots' | 'find_roots' | 'number_roots' | 'enter_roots'>
  readonly #updates = new WeakMap<Arena, Promise<PartitionTable>>()

  constructor(device: Device, primitives: Primitives, shape: TreeShape) {
    const entryPoints = ['find_depth', 'count_roots', 'find_roots', 'number_roots', 'enter_roots'] as const
    this.#device = device
    this.#primitives = primitives
    this.#shape = shape
    this.#kernels = device.kernels('index/partitions/partition-table', entryPoints, shape.conditions)
  }

  /** An arena's partition table as it is: undefined where there is none, or one that is just being changed. */
  present(arena: Arena): PartitionTable | undefined {
    return this.#updates.has(arena) ? undefined : arena.partitions
  }

  /**
   * An arena's partition table as of its last write: only the nodes that came since the last call are looked at. Nothing may be
   * written meanwhile.
   * @throws WarpdexError `OUT_OF_DEVICE_MEMORY`; the arena is without a table then, and the next call makes one anew
   */
  async update(arena: Arena): Promise<PartitionTable> {
    const { partitions } = arena
    if (partitions?.nodesSeen === arena.nodes.records) return partitions
    let update = this.#updates.get(arena)
    if (update === undefined) {
      update = this.#update(arena).finally(() => this.#updates.delete(arena))
      this.#updates.set(arena, update)
    }
    return update
  }

  async #update(arena: Arena): Promise<PartitionTable> {
    try {
      await this.#settle(arena)
      const table = arena.partitions ?? (await this.#open(arena))
      arena.partitions = table
      await this.#addRoots(arena, table)
      return table
    } catch (error) {
      arena.partitions?.destroy()
      arena.partitions = undefined
      throw error
    }
  }

  /** Drops a table whose partitions have the levels of a much smaller tree. */
  async #settle(arena: Arena): Promise<void> {
    const table = arena.partitions
    if (table === undefined || this.#shape.partitionLevels !== 'auto') return
    if (arena.nodes.records < GROWTH_BEFORE_RESETTLING * table.settledAt) return
    if ((await this.#levelsFor(arena)) === table.levels) return
    table.destroy()
    arena.partitions = undefined
  }

  async #open(arena: Arena): Promise<PartitionTable> {
    const device = this.#device
    const levels = await this.#levelsFor(arena)
    const { records } = arena.nodes
    const roots = await Region.create(device, 'derived', 'partition roots', 1, 1)
    const directory = device.allocatePages('derived', 8 * LEAST_DIRECTORY_SLOTS, 'partition directory')
    return new PartitionTable(levels, records, roots, directory)
  }

  /**
   * Levels of a partition: √N is the best there is in theory (Volk §3.1). In a compact tree, whose lowest levels may have a node for
   * every few keys, that or a little more, so that no partition begins there.
   */
  async #levelsFor(arena: Arena): Promise<number> {
    const { partitionLevels, form, levels, full } = this.#shape
    if (typeof partitionLevels === 'number') return partitionLevels
    const isKnown = full && form === undefined
    const depth = isKnown ? levels : 1 + (await this.#readCounts(arena, 'find_depth', 0, 1))[0]!
    const root = Math.min(LIMITS.partitionLevels, Math.max(1, Math.round(Math.sqrt(depth))))
    if (full) return root
    const counts = await this.#readCounts(arena, 'count_roots', root, CHOICES)
    return Math.min(LIMITS.partitionLevels, root + counts.indexOf(Math.min(...counts)))
  }

  /** What a kernel finds out of all nodes. */
  async #readCounts(
    arena: Arena,
    name: 'find_depth' | 'count_roots',
    levels: number,
    words: number,
  ): Promise<Uint32Array> {
    return this.#device.withScratch(async (scratch) => {
      const { records } = arena.nodes
      const counts = scratch.words(words)
      const recorder = this.#device.record()
      recorder.clear(counts, 0, 4 * words)
      const buffers = { ...arena.bindings, deepest: counts, counts }
      recorder.dispatch(this.#kernels[name], buffers, { count: records, first: 0, levels }, records)
      recorder.submit()
      return this.#device.readWords(counts, words)
    })
  }

  async #addRoots(arena: Arena, table: PartitionTable): Promise<void> {
    const { roots, levels, nodesSeen: first } = table
    const { records } = arena.nodes
    const count = records - first
    return this.#device.withScratch(async (scratch) => {
      const [flags, positions] = [scratch.words(count), scratch.words(count)]
      const [totals, deepest] = [scratch.words(2), scratch.words(1)]
      const params = { count, first, levels, partitions: roots.records }
      const finding = this.#device.record()
      finding.clear(deepest, 0, 4)
      const found = { ...arena.bindings, ...table.bindings, deepest, flags }
      finding.dispatch(this.#kernels.find_depth, found, params, count)
      finding.dispatch(this.#kernels.find_roots, found, params, count)
      this.#primitives.compact(finding, scratch, flags, count, positions, { buffer: totals, index: 0 })
      finding.copy(deepest, 0, totals, 4, 4)
      finding.submit()

      const [added, depth] = await this.#device.readWords(totals, 2)
      await roots.reserve(added)
      const before = roots.take(added)
      const numbering = this.#device.record()
      const places = { count: added, first, levels, partitions: before }
      const numbered = { ...arena.bindings, ...table.bindings, positions }
      numbering.dispatch(this.#kernels.number_roots, numbered, places, added)
      numbering.submit()
      await this.#enter(arena, table, before)
      table.nodesSeen = records
      table.depth = Math.max(table.depth, depth)
      table.dropLists()
    })
  }

  /** Enters the partitions from `first` on in the directory: all of them in a new one when it has grown too small. */
  async #enter(arena: Arena, table: PartitionTable, first: number): Promise<void> {
    const slots = 2 ** Math.ceil(Math.log2(SLOTS_PER_PARTITION * table.count))
    let from = first
    if (8 * slots > table.directory.size) {
      const larger = this.#device.allocatePages('derived', 8 * slots, 'partition directory')
      table.directory.destroy()
      table.directory = larger
      from = 0
    }
    return this.#device.withScratch(async (scratch) => {
      const recorder = this.#device.record()
      const { roots, directory, levels } = table
      // No key of a request is looked at.
      const own = { partitions: roots.buffer, directory, queryHeap: scratch.words(1) }
      const count = table.count - from
      const params = { count, first: from, levels, shape: this.#shape.word }
      recorder.dispatch(this.#kernels.enter_roots, { ...arena.bindings, ...own }, params, count)
      recorder.submit()
    })
  }
}
