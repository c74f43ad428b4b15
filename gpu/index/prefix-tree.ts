import { WarpdexError } from '../../protocol/errors.js'
import type { Traversal } from '../../protocol/traversal.js'
import type { Device } from '../device/device.js'
import type { TreeReads } from '../device-reads.js'
import type {
  IndexShape,
  IndexStructure,
  PreparedWrite,
  ReadColumns,
  ReadOp,
  ReadRequest,
  ReadResults,
  StructureEntries,
  StructureImage,
  StructureStats,
  WriteBatch,
} from '../index-structure.js'
import type { Arena } from './arena.js'
import { copyArena } from './arena-copy.js'
import { columnSource, type ItemSource } from './batch/items.js'
import { structureEntries } from './entries/structure-entries.js'
import { arenaFromImage } from './image.js'
import { treeShape } from './layout.js'
import type { TraversalPlan } from './partitions/locator.js'
import type { Batch } from './partitions/traversal-costs.js'
import { checkTraversal } from './partitions/traversals.js'
import { partsFor } from './parts.js'
import { NOTHING_FOUND } from './read/nothing-found.js'
import { askedFor, keyCount, type ReadOperation } from './read/read-operation.js'
import { deviceReads } from './read/reads.js'
import { NOTHING, type TreeTotals } from './totals.js'
import { TreeState } from './tree-state.js'
import type { CutPlace, CutSide } from './write/cut.js'

/** Reads of a tree, whose content stays until whoever holds it lets go of it. */
export interface HeldTree extends TreeReads {
  letGo(): void
}

/** Holds trees until what `use` returns has settled. */
export async function holdAll<T>(
  trees: readonly PrefixTree[],
  use: (held: readonly (HeldTree | undefined)[]) => Promise<T>,
): Promise<T> {
  const held: (HeldTree | undefined)[] = []
  try {
    for (const tree of trees) held.push(tree.hold())
    return await use(held)
  } finally {
    for (const tree of held) tree?.letGo()
  }
}

/**
 * An updatable index: Volk's prefix tree with 4-bit digits and records that grow and shrink, and with structure `css` a CSS-tree that
 * has one for its delta (`main/sorted-part.ts`). An empty tree owns no device memory.
 */
export class PrefixTree extends TreeState implements IndexStructure {
  /** Batches by how their keys were found. */
  readonly #traversals = new Map<string, number>()

  /** An empty tree. */
  static async create(device: Device, shape: IndexShape): Promise<PrefixTree> {
    return new PrefixTree(device, shape, await partsFor(device, shape))
  }

  /**
   * A tree from its image.
   * @param mostBytes bytes of device memory that it may take
   * @throws WarpdexError `OUT_OF_DEVICE_MEMORY`
   */
  static async restore(
    device: Device,
    shape: IndexShape,
    image: StructureImage,
    mostBytes?: number,
  ): Promise<PrefixTree> {
    const parts = await partsFor(device, shape)
    if (image.meta.keys === 0) return new PrefixTree(device, shape, parts)
    const { arena, totals } = await arenaFromImage(device, treeShape(shape), image, mostBytes)
    return new PrefixTree(device, shape, parts).#with(arena, totals)
  }

  /** Takes over an arena whose separators and top are to be made; it is given back where that fails. */
  async #with(arena: Arena, totals: TreeTotals): Promise<PrefixTree> {
    this.own(arena, totals)
    try {
      await this.parts.tops?.provide(arena, totals.keys)
      this.parts.separators?.provide(arena)
      return this
    } catch (error) {
      this.destroy()
      throw error
    }
  }

  async copy(): Promise<PrefixTree> {
    const { searchable: arena, totals } = this
    const tree = new PrefixTree(this.device, this.shape, this.parts)
    if (arena === undefined || totals.keys === 0) return tree
    const copied = await arena.during(() => copyArena(this.device, treeShape(this.shape), arena))
    return tree.#with(copied, totals)
  }

  async read<Op extends ReadOp>(request: ReadRequest<Op>, columns: ReadColumns): Promise<ReadResults[Op]> {
    const { operations, context } = this.parts.reads
    const operation: ReadOperation<Op> = operations[request.op]
    const named = 'traversal' in request ? request.traversal : undefined
    if (named !== undefined) checkTraversal(context.tree, named)
    const { searchable: arena, totals } = this
    const asked = askedFor(this.shape.keyType, request, columns)
    if (arena === undefined || asked.count === 0) return NOTHING_FOUND[request.op](context, asked, request)
    arena.hold()
    try {
      // Nothing is waited for where that needs no plan, so that the read is submitted when it is called.
      const { keys } = asked
      const coming =
        operation.isPlanned && keys !== undefined
          ? this.#plan(arena, () => context.batch(keys), named)
          : undefined
      const plan = coming && (await coming)
      return await operation.run({ arena, keys: totals.keys, plan }, request, asked)
    } finally {
      arena.letGo()
    }
  }

  async prepare(batch: WriteBatch): Promise<PreparedWrite> {
    const { context } = this.parts.reads
    const { keys, traversal } = batch
    if (traversal !== undefined) checkTraversal(context.tree, traversal)
    if (keyCount(this.shape.keyType, keys) === 0)
      return { codes: new Uint8Array(0), apply() {}, discard() {} }
    const source = columnSource(this.device, this.shape, batch)
    return this.prepareItems(source, () => context.batch(keys), traversal)
  }

  /** As `prepare`, for a batch that comes to the device when it is asked for. */
  prepareItems(
    source: ItemSource,
    batch: () => Batch,
    traversal: Traversal | undefined,
  ): Promise<PreparedWrite> {
    return this.prepareWrite(source, (arena) => this.#plan(arena, batch, traversal))
  }

  /** Holds what it has, for reads of keys that are on the device, or to it; nothing where the tree is empty. */
  hold(): HeldTree | undefined {
    const { searchable: arena, totals } = this
    if (arena === undefined || totals.keys === 0) return undefined
    arena.hold()
    const plan: TreeReads['plan'] = (batch, traversal) => this.#plan(arena, () => batch, traversal)
    const reads = deviceReads(this.parts.reads, arena, totals.payloads, plan)
    return { ...reads, letGo: () => arena.letGo() }
  }

  /**
   * Shares this tree's content out to two new ones, at a key; it stays as it is. Called between writes.
   * @throws WarpdexError `OUT_OF_DEVICE_MEMORY`
   */
  async cut(place: CutPlace): Promise<{ lower: PrefixTree; upper: PrefixTree; boundary: Uint8Array }> {
    await this.background
    const { searchable: arena, totals } = this
    const create = () => new PrefixTree(this.device, this.shape, this.parts)
    if (arena === undefined || totals.keys === 0) {
      if (!('key' in place)) throw new WarpdexError('INTERNAL', 'an empty tree can only be cut at a key')
      return { lower: create(), upper: create(), boundary: place.key }
    }
    const cutter = this.parts.cutter()
    const { lower, upper, boundary } = await cutter.cut(arena, totals, place)
    const trees = { lower: create(), upper: create() }
    try {
      await trees.lower.#take(lower)
      await trees.upper.#take(upper)
      return { ...trees, boundary }
    } catch (error) {
      lower.arena?.destroy()
      upper.arena?.destroy()
      throw error
    }
  }

  async #take({ arena, keys, payloads }: CutSide): Promise<void> {
    if (arena === undefined) return
    this.own(arena, { ...NOTHING, keys, payloads })
    await this.parts.tops?.provide(arena, keys)
  }

  /** How the keys of a batch are to be found; undefined at once where that needs no plan, so that reads are submitted when they are called. */
  #plan(
    arena: Arena,
    batch: () => Batch,
    named: Traversal | undefined,
  ): Promise<TraversalPlan | undefined> | undefined {
    const coming = this.parts.traversals?.plan(arena, this.totals.keys, batch, named)
    if (coming === undefined) this.#countTraversal(undefined)
    void coming?.then(
      (plan) => this.#countTraversal(plan?.traversal),
      () => {},
    )
    return coming
  }

  #countTraversal({ strategy, resolution }: Traversal = { strategy: 'sequential' }): void {
    const name = resolution === undefined ? strategy : `${strategy}, ${resolution}`
    this.#traversals.set(name, (this.#traversals.get(name) ?? 0) + 1)
  }

  async entries(): Promise<StructureEntries> {
    return structureEntries([this.freeze()])
  }

  override stats(): StructureStats {
    return { ...super.stats(), traversals: Object.fromEntries(this.#traversals) }
  }
}
