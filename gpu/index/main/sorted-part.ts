import type { Device } from '../../device/device.js'
import type { PageRun } from '../../memory/page-run.js'
import { Region, regionBytes } from '../../memory/region.js'
import type { TreeShape } from '../layout.js'
import { planDirectory } from './directory-plan.js'

/** Tuples of which a word of the bitmap of removed ones tells. */
const BITS = 32

/**
 * The part of a CSS-tree's arena whose tuples lie in key order, from tuple 0 on (`sorted-part.wesl`). It never changes but for tuples
 * that leave it; what is inserted goes to the tree of nodes beside it, the delta, until both are merged. Its buffers
 * may have room for the part that comes after it.
 */
export class SortedPart {
  readonly tuples: number
  /** Separators over the tuples; see `directory.wesl`. */
  readonly directory: PageRun
  /** A bit a tuple that has left; keys of variable length have it in their records. */
  readonly removed: Region | undefined
  /** Whether any tuple has left. */
  hasRemoved = false
  /** Whether the directory is built. */
  isSearchable: boolean
  /** Bytes of what is in use of the directory. */
  readonly usedDerivedBytes: number
  readonly #shape: TreeShape

  private constructor(shape: TreeShape, tuples: number, directory: PageRun, removed: Region | undefined) {
    this.#shape = shape
    this.tuples = tuples
    this.usedDerivedBytes = planDirectory(shape, tuples).bytes
    this.directory = directory
    this.removed = removed
    // That of no tuples is all zeros.
    this.isSearchable = tuples === 0
  }

  /**
   * Room for what belongs to so many tuples in order. The directory must be built before anything is looked for.
   * @param most tuples for which there is to be room, with those that are to come
   * @throws WarpdexError `OUT_OF_DEVICE_MEMORY`
   */
  static async create(device: Device, shape: TreeShape, tuples: number, most = tuples): Promise<SortedPart> {
    const directory = device.allocatePages('derived', planDirectory(shape, most).bytes, 'CSS-tree directory')
    if (shape.form !== undefined) return new SortedPart(shape, tuples, directory, undefined)
    try {
      const removed = await Region.create(device, 'derived', 'removed tuples', 1, wordsFor(most))
      removed.take(wordsFor(tuples))
      return new SortedPart(shape, tuples, directory, removed)
    } catch (error) {
      directory.destroy()
      throw error
    }
  }

  /** Bytes that a sorted part of so many tuples takes beside them. */
  static bytesFor(device: Device, shape: TreeShape, tuples: number): number {
    const removed = shape.form === undefined ? regionBytes(device, 1, wordsFor(tuples)) : 0
    return device.bytesOfPages(planDirectory(shape, tuples).bytes) + removed
  }

  /** Whether `successor` can be called for so many tuples. */
  hasRoomFor(tuples: number): boolean {
    const { bytes } = planDirectory(this.#shape, tuples)
    const { removed } = this
    if (this.hasRemoved || tuples < this.tuples || bytes > this.directory.size) return false
    return removed === undefined || removed.leastBytes(this.#wordsBeyond(tuples)) <= removed.bytes
  }

  /**
   * The part that takes the place of this one, in the same buffers: no buffer is made for one of many merges, and none is given
   * back. This one is of no use any more, and must not be destroyed.
   */
  successor(tuples: number): SortedPart {
    this.removed?.take(this.#wordsBeyond(tuples))
    return new SortedPart(this.#shape, tuples, this.directory, this.removed)
  }

  /** Words of the bitmap for so many tuples beyond those for the tuples that there are. */
  #wordsBeyond(tuples: number): number {
    return wordsFor(tuples) - wordsFor(this.tuples)
  }

  get bytes(): number {
    return this.derivedBytes + (this.removed?.bytes ?? 0)
  }

  /** Bytes of what can be made again from the tuples. */
  get derivedBytes(): number {
    return this.directory.size
  }

  destroy(): void {
    this.directory.destroy()
    this.removed?.destroy()
  }
}

function wordsFor(tuples: number): number {
  return Math.ceil(tuples / BITS)
}
