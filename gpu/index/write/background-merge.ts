import { toWarpdexError, WarpdexError } from '../../../protocol/errors.js'
import { LIMITS } from '../../../protocol/limits.js'
import type { Device } from '../../device/device.js'
import type { Recorder } from '../../device/recorder.js'
import type { IndexShape } from '../../index-structure.js'
import type { Arena } from '../arena.js'
import type { ItemSource } from '../batch/items.js'
import { type FrozenArena, freeze, frozenBytes } from '../frozen-arena.js'
import { treeShape } from '../layout.js'
import { roomOr } from '../main/merge-rooms.js'
import type { Parts } from '../parts.js'
import { after, compacted, type TreeTotals } from '../totals.js'

/** Writes that a merge catches up with for each that comes: more than one, so that it does catch up. */
const WRITES_A_TURN = 2

/** The tree that a merge is for. */
export interface MergedTree {
  /** Its arena, until `replace`. */
  readonly arena: Arena
  /** Its totals as of the last applied write. */
  readonly totals: () => TreeTotals
  /** Takes a new arena, which holds the same, in the place of the old one. */
  readonly replace: (arena: Arena, totals: TreeTotals) => void
}

/** What has become of a merge: an error where it failed. */
export type MergeOutcome = 'merged' | 'given up' | WarpdexError

/**
 * A compaction beside reads and writes. It works on a copy of the arena, pass by pass, so that what is submitted meanwhile gets its turn
 * on the device. Writes that are applied to the arena in the meantime are remembered, and applied to the new one afterwards; once it has
 * all of them, and no write is under way, it takes the old one's place.
 *
 * A merge that fails, or is given up, leaves no trace.
 */
export class BackgroundMerge {
  /** Resolves, and never rejects, once all is given back that is not the tree's. */
  readonly over: Promise<MergeOutcome>
  readonly #device: Device
  readonly #parts: Parts
  readonly #tree: MergedTree
  /** Bytes that the new arena will take, about. */
  readonly #expectedBytes: number
  readonly #backlog: ItemSource[] = []
  #backlogBytes = 0
  #frozen: FrozenArena | undefined
  #merged: Arena | undefined
  /** The arena that was replaced, until its last reads are done. */
  #replaced: Arena | undefined
  #totals: TreeTotals
  /** Writes that the new arena has caught up with. */
  #caughtUp = 0
  /** Whether a write is prepared, or being prepared, and neither applied nor discarded yet. */
  #writing = false
  #givenUp = false
  /** Whether the tree has the arena that it is going to have. */
  #settled = false
  #waiting: (() => void)[] = []

  private constructor(device: Device, parts: Parts, tree: MergedTree, frozen: FrozenArena) {
    this.#device = device
    this.#parts = parts
    this.#tree = tree
    this.#frozen = frozen
    this.#totals = compacted(tree.totals())
    this.#expectedBytes = tree.arena.usedBytes
    tree.arena.isBeingMerged = true
    this.over = this.#run()
  }

  /**
   * Begins to merge a tree that has keys and to which nothing is written before this resolves.
   * @returns undefined where there is no room for a third copy
   */
  static async begin(
    device: Device,
    shape: IndexShape,
    parts: Parts,
    tree: MergedTree,
  ): Promise<BackgroundMerge | undefined> {
    const { arena } = tree
    const layout = treeShape(shape)
    const bytes = arena.bytes + frozenBytes(layout, arena) + arena.usedBytes
    if (bytes > arena.allowance.bytes()) return undefined
    const frozen = await roomOr(async () => freeze(device, layout, arena))
    return frozen && new BackgroundMerge(device, parts, tree, frozen)
  }

  /** Bytes of device memory that it has beside the tree's arena, or is going to take. */
  get bytes(): number {
    const coming = this.#settled ? 0 : this.#expectedBytes
    return (this.#frozen?.bytes ?? 0) + (this.#merged?.bytes ?? coming) + (this.#replaced?.bytes ?? 0)
  }

  /** Waits until a write of so many bytes can be remembered, or need not be any more. Called between writes. */
  async roomFor(bytes: number): Promise<void> {
    const isFull = this.#backlogBytes + bytes > LIMITS.mergeBacklogBytes
    if (isFull && this.#backlogBytes > 0) await this.over
  }

  /** Says that a write is being prepared on the tree's arena, which stays until `endWrite`. */
  beginWrite(): void {
    this.#writing = true
  }

  /** @param write what was applied to the tree's arena; undefined where nothing was */
  endWrite(write?: ItemSource): void {
    this.#writing = false
    if (write !== undefined && !this.#settled) {
      try {
        write.hold()
        this.#backlog.push(write)
        this.#backlogBytes += write.bytes
      } catch {
        // The write counts, whether it could be remembered or not.
        this.#settled = true
      }
    }
    this.#wake()
  }

  /**
   * Lets the new arena, if it is there, catch up by more than one write, and take the old one's place when it has caught up. Called
   * between writes, which could come so fast that there would be no other time for it.
   */
  async advance(): Promise<void> {
    const enough = this.#caughtUp + WRITES_A_TURN
    while (this.#merged !== undefined && !this.#settled && this.#caughtUp < enough) await this.#change()
  }

  /** Gives the merge up, unless it is done; resolves once all is given back. */
  async giveUp(): Promise<void> {
    if (!this.#settled) this.#givenUp = true
    this.#settled = true
    this.#wake()
    await this.over
  }

  async #run(): Promise<MergeOutcome> {
    try {
      await this.#catchUp(await this.#build())
    } catch (error) {
      // Readers and writers have the old arena, and lose nothing.
      return this.#givenUp ? 'given up' : toWarpdexError(error)
    } finally {
      this.#settled = true
      this.#tree.arena.isBeingMerged = false
      this.#giveBack()
      this.#wake()
    }
    // A read that has begun there may submit once more.
    await this.#tree.arena.unused()
    this.#tree.arena.destroy()
    this.#replaced = undefined
    return 'merged'
  }

  async #build(): Promise<Arena> {
    const { compactor, separators, tops } = this.#parts
    const frozen = this.#frozen
    const { keys } = this.#totals
    if (frozen === undefined) throw new WarpdexError('INTERNAL', 'a merge begins with a copy')
    const merged = await compactor.compact(frozen, keys, { pace: (recorder) => this.#pace(recorder) })
    this.#merged = merged
    frozen.destroy()
    this.#frozen = undefined
    await tops?.provide(merged, keys)
    separators?.provide(merged)
    return merged
  }

  /** Reads and writes that come while the device is busy with a pass get their turn before the next one. */
  async #pace(recorder: Recorder): Promise<Recorder> {
    recorder.submit()
    await this.#device.workDone()
    this.#refuseSettled()
    return this.#device.record()
  }

  async #catchUp(merged: Arena): Promise<void> {
    let isMaintained = false
    for (;;) {
      this.#refuseSettled()
      const write = this.#backlog[0]
      if (write !== undefined) {
        await this.#repeat(merged, write)
        isMaintained = false
      } else if (!isMaintained) {
        await this.#parts.traversals?.maintain(merged)
        isMaintained = true
      } else if (this.#writing) {
        await this.#change()
      } else {
        this.#replace(merged)
        return
      }
    }
  }

  async #repeat(merged: Arena, write: ItemSource): Promise<void> {
    const prepared = await this.#parts.writer.prepareSource(merged, write)
    if (this.#settled) prepared.discard()
    this.#refuseSettled()
    prepared.apply()
    this.#totals = after(this.#totals, prepared.change)
    this.#backlog.shift()
    this.#backlogBytes -= write.bytes
    write.release()
    this.#caughtUp++
    this.#wake()
  }

  #replace(merged: Arena): void {
    const { arena, totals, replace } = this.#tree
    const { keys, payloads } = totals()
    if (keys !== this.#totals.keys || payloads !== this.#totals.payloads) {
      throw new WarpdexError('INTERNAL', 'the merged tree does not hold what the tree holds')
    }
    replace(merged, this.#totals)
    this.#settled = true
    this.#merged = undefined
    this.#replaced = arena
  }

  #refuseSettled(): void {
    if (this.#settled) throw new WarpdexError('CANCELLED', 'the merge was given up')
  }

  #giveBack(): void {
    this.#frozen?.destroy()
    this.#frozen = undefined
    this.#merged?.destroy()
    this.#merged = undefined
    for (const write of this.#backlog) write.release()
    this.#backlog.length = 0
    this.#backlogBytes = 0
  }

  /** Waits until a write ends, or is caught up with, or the merge is settled. */
  #change(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve))
  }

  #wake(): void {
    const waiting = this.#waiting
    this.#waiting = []
    for (const resolve of waiting) resolve()
  }
}
