import { toWarpdexError, WarpdexError } from '../../protocol/errors.js'
import type { Device } from '../device/device.js'
import type {
  CompactionOptions,
  IndexShape,
  NamedColumn,
  PayloadLists,
  PreparedWrite,
  StructureImage,
  StructureStats,
} from '../index-structure.js'
import type { PageRun } from '../memory/page-run.js'
import { type Allowance, Arena, allowanceOf } from './arena.js'
import type { ItemSource } from './batch/items.js'
import { freeze } from './frozen-arena.js'
import { imageOf } from './image.js'
import { treeShape } from './layout.js'
import type { TraversalPlan } from './partitions/locator.js'
import type { Parts } from './parts.js'
import { regionStats, wholly } from './region-stats.js'
import { after, compacted, NOTHING, type TreeTotals } from './totals.js'
import { BackgroundMerge, type MergeOutcome } from './write/background-merge.js'
import { hasGarbage, isCompactionDue } from './write/compaction-due.js'

/** Room of a new arena; regions double from there. */
const FIRST_NEED = { nodes: 63, tuples: 64, extentWords: 64 }

/** Share of a region's bound past which a tree is to be cut in two before a write needs it. */
const NEARLY_FULL = 7 / 8

/** How the keys of a write are to be found in whatever arena the tree has then. */
type PlanWrite = (arena: Arena) => Promise<TraversalPlan | undefined> | undefined

/** What a tree held at one moment. */
export interface FrozenEntries {
  readonly keys: number
  readonly payloads: number
  /**
   * Its columns, as `StructureEntries` has them; undefined where it was empty.
   * @returns the number of the group that follows
   */
  readonly columns?: (firstGroup: number) => AsyncGenerator<NamedColumn, number>
  release(): void
}

/** What a tree holds: its arena, the numbers that belong to it, and a merge that goes on beside reads and writes if there is one. */
export class TreeState {
  readonly shape: IndexShape
  protected readonly device: Device
  protected readonly parts: Parts
  #allowance: Allowance
  #arena: Arena | undefined
  #totals: TreeTotals = NOTHING
  #merge: BackgroundMerge | undefined
  /** Whether a merge in the background came to nothing, so that the next one is not. */
  #mergeFailed = false

  constructor(device: Device, shape: IndexShape, parts: Parts) {
    this.device = device
    this.shape = shape
    this.parts = parts
    this.#allowance = allowanceOf(device)
  }

  /** Bytes of device memory that it may take; whoever owns the tree may lower them. */
  set allowance(allowance: Allowance) {
    this.#allowance = allowance
    if (this.#arena !== undefined) this.#arena.allowance = allowance
  }

  /** The arena with all that reads need; none where the tree is empty. */
  protected get searchable(): Arena | undefined {
    const arena = this.#arena
    if (arena?.sorted?.isSearchable === false) this.parts.separators?.provide(arena)
    return arena
  }

  protected get totals(): TreeTotals {
    return this.#totals
  }

  /** Takes over an arena and the numbers that belong to it. */
  protected own(arena: Arena, totals: TreeTotals): void {
    arena.allowance = this.#allowance
    this.#arena = arena
    this.#totals = totals
  }

  /** Garbage, or a delta's nodes, may fill a region long before compaction is worthwhile for its own sake; then it makes room. */
  protected async prepareWrite(write: ItemSource, plan: PlanWrite): Promise<PreparedWrite> {
    await this.#merge?.roomFor(write.bytes)
    try {
      return await this.#beginWrite(write, plan)
    } catch (error) {
      if (toWarpdexError(error).code !== 'OUT_OF_DEVICE_MEMORY') throw error
      if (this.#merge !== undefined) {
        // What it takes is given back once it is over.
        await this.#merge.over
        return this.prepareWrite(write, plan)
      }
      if (this.#arena === undefined || !hasGarbage(this.#arena, this.#totals)) throw error
      await this.compact()
      return this.#beginWrite(write, plan)
    }
  }

  /** Prepares a write on the arena, beside a merge if there is one. */
  async #beginWrite(write: ItemSource, plan: PlanWrite): Promise<PreparedWrite> {
    const merge = this.#merge
    merge?.beginWrite()
    try {
      const arena = await this.#provideArena()
      const { writer } = this.parts
      const { codes, change, ...prepared } = await writer.prepareSource(arena, write, await plan(arena))
      return {
        codes,
        apply: () => {
          try {
            prepared.apply()
          } catch (error) {
            void merge?.giveUp()
            throw error
          }
          this.#totals = after(this.#totals, change)
          merge?.endWrite(write)
        },
        discard: () => {
          prepared.discard()
          merge?.endWrite()
        },
      }
    } catch (error) {
      merge?.endWrite()
      throw error
    }
  }

  async #provideArena(): Promise<Arena> {
    if (this.#arena !== undefined) return this.#arena
    return this.#allowance.inTurn(async () => {
      const { bytes } = this.#allowance
      const arena = await Arena.create(this.device, treeShape(this.shape), FIRST_NEED, bytes())
      this.own(arena, NOTHING)
      return arena
    })
  }

  async compactIfWorthwhile({
    inBackground = false,
    goesOn = false,
    keepsRoom = goesOn,
  }: Partial<CompactionOptions> = {}): Promise<boolean> {
    const before = this.#arena
    if (this.#merge !== undefined) await (inBackground ? this.#merge.advance() : this.#merge.over)
    const arena = this.#arena
    if (this.#merge === undefined && arena !== undefined && isCompactionDue(arena, this.#totals)) {
      await this.compact({ inBackground: inBackground && !this.#mergeFailed })
    }
    if (!goesOn && this.#arena !== undefined) await this.parts.traversals?.maintain(this.#arena)
    if (!goesOn) this.parts.separators?.provide(this.#arena)
    if (!keepsRoom) this.#arena?.merges.dropSpare()
    return this.#arena !== before
  }

  /**
   * Rebuilds the tree without its garbage, whether that is worthwhile or not. Called between writes.
   * @param options `inBackground`: only begins it, if there is room for that; see `background`
   */
  async compact({ inBackground } = { inBackground: false }): Promise<void> {
    if (inBackground && this.#merge !== undefined) return
    await this.#merge?.giveUp()
    const arena = this.searchable
    if (arena === undefined) return
    if (inBackground && this.#totals.keys > 0 && (await this.#beginMerge(arena))) return
    await this.#allowance.inTurn(() => this.#compact(arena))
    this.#mergeFailed = false
  }

  /** Resolves when a merge that goes on is over, with an error where it failed. */
  get background(): Promise<WarpdexError | undefined> | undefined {
    return this.#merge?.over.then((outcome) => (outcome instanceof WarpdexError ? outcome : undefined))
  }

  async image(): Promise<StructureImage> {
    const arena = this.#arena
    if (arena === undefined) return { meta: { keys: 0 }, parts: [] }
    return arena.during(() => imageOf(this.device, arena, this.#totals))
  }

  /** Copies all that the tree holds, for reading it in key order. */
  freeze(): FrozenEntries {
    const arena = this.searchable
    const { keys, payloads } = this.#totals
    if (arena === undefined || keys === 0) return { keys: 0, payloads: 0, release() {} }
    const { entryExport } = this.parts
    const frozen = freeze(this.device, treeShape(this.shape), arena, true)
    return {
      keys,
      payloads,
      columns: (firstGroup) => entryExport().columns(frozen, keys, firstGroup),
      release: () => frozen.destroy(),
    }
  }

  async renumber(lists: PayloadLists): Promise<void> {
    const { searchable: arena } = this
    const { renumbering } = this.parts
    if (arena === undefined || renumbering === undefined) return
    this.#totals = after(this.#totals, renumbering.apply(arena, lists))
  }

  get runs(): readonly PageRun[] {
    return this.#arena?.runs ?? []
  }

  get deviceBytes(): number {
    return (this.#arena?.bytes ?? 0) + (this.#merge?.bytes ?? 0)
  }

  /** Whether one of its parts has nearly reached what the device can bind. */
  get isNearlyFull(): boolean {
    const most = this.device.regionBytes * NEARLY_FULL
    for (const { usedBytes } of this.#arena?.regions.values() ?? []) if (usedBytes > most) return true
    return false
  }

  get derivedBytes(): number {
    return this.#arena?.partitions?.bytes ?? 0
  }

  stats(): StructureStats {
    const { keys, payloads, garbageBytes } = this.#totals
    const arena = this.#arena
    return {
      keys,
      payloads,
      shards: 1,
      deviceBytes: this.deviceBytes,
      usedBytes: arena?.usedBytes ?? 0,
      garbageBytes,
      regions: [
        ...(arena === undefined ? [] : regionStats(arena, treeShape(this.shape), this.#totals)),
        ...wholly('merge', this.#merge?.bytes ?? 0),
      ],
      traversals: {},
    }
  }

  destroy(): void {
    const arena = this.#arena
    const merge = this.#merge
    if (merge === undefined) arena?.destroy()
    else {
      void merge.giveUp()
      // It still reads the arena's separators.
      void merge.over.then(() => arena?.destroy())
    }
    this.#arena = undefined
    this.#totals = NOTHING
  }

  /** @returns whether there is room for that */
  async #beginMerge(arena: Arena): Promise<boolean> {
    const replace = (merged: Arena, totals: TreeTotals) => {
      this.own(merged, totals)
    }
    const tree = { arena, totals: () => this.#totals, replace }
    const merge = await BackgroundMerge.begin(this.device, this.shape, this.parts, tree)
    this.#merge = merge
    void merge?.over.then((outcome) => this.#endMerge(outcome))
    return merge !== undefined
  }

  #endMerge(outcome: MergeOutcome): void {
    this.#merge = undefined
    if (outcome !== 'given up') this.#mergeFailed = outcome instanceof WarpdexError
  }

  async #compact(arena: Arena): Promise<void> {
    const { keys } = this.#totals
    if (keys === 0) {
      this.#arena = undefined
    } else {
      this.own(await this.parts.compactor.compact(arena, keys), this.#totals)
    }
    arena.destroy()
    this.#totals = compacted(this.#totals)
    if (this.#arena !== undefined) await this.parts.tops?.provide(this.#arena, keys)
  }
}
