import { toWarpdexError } from '../../../protocol/errors.js'
import type { Device } from '../../device/device.js'
import type { PageRun } from '../../memory/page-run.js'
import { Region, regionBytes } from '../../memory/region.js'
import type { Arena, SortedRoom } from '../arena.js'
import type { TreeShape } from '../layout.js'
import { SortedPart } from './sorted-part.js'

/** Room for a CSS-tree's sorted part and a run behind it in one order. */
export interface MergeRoom extends SortedRoom {
  /** Has as many records as both have tuples. */
  readonly merged: Region
}

/** Room of what many merges use one after the other, beside what it must hold. */
const GROWTH = 1.5

/** Room for what is merged with an arena's sorted part at once. */
export class MergeRooms {
  readonly #device: Device
  readonly #shape: TreeShape
  readonly #arena: Arena
  /** Where the tuples of the next merge may lie. */
  #spare: Region | undefined
  /** Bytes of the room that is given out and not taken yet. */
  #givenBytes = 0

  constructor(device: Device, shape: TreeShape, arena: Arena) {
    this.#device = device
    this.#shape = shape
    this.#arena = arena
  }

  /** Bytes of device memory that it has beside what is in the arena. */
  get bytes(): number {
    return this.#givenBytes + (this.#spare?.bytes ?? 0)
  }

  /** Pages that are kept for the next merge. */
  get runs(): readonly PageRun[] {
    return this.#spare === undefined ? [] : [this.#spare.buffer]
  }

  /**
   * Room to merge so many tuples, which are going to lie right behind the sorted part, with it; undefined where there is none. As far as
   * there is room for that, too, more can be written behind the merged ones.
   * @param goesOn whether more merges follow: then they take turns in two regions, which grow ahead, and share what else the sorted part has
   */
  provide(added: number, goesOn: boolean): Promise<MergeRoom | undefined> {
    const { sorted, allowance } = this.#arena
    const count = (sorted?.tuples ?? 0) + added
    return allowance.inTurn(async () => {
      const part = await this.#roomForSorted(count, goesOn)
      if (part === undefined) return undefined
      const sizes = [...(goesOn ? [this.#ahead(count)] : []), count + added, count]
      const merged = await this.#provideMerged(count, sizes, part.bytes)
      if (merged === undefined) {
        part.giveBack()
        return undefined
      }
      merged.take(count)
      const bytes = merged.bytes + part.bytes
      this.#givenBytes = bytes
      return {
        merged,
        bytes,
        take: () => {
          this.#replaceTuples(merged, goesOn)
          part.take()
        },
        giveBack: () => {
          merged.destroy()
          part.giveBack()
          this.#givenBytes = 0
        },
      }
    })
  }

  /** Puts what was merged in the place of the arena's tuples, which a merge that follows may go to. */
  #replaceTuples(merged: Region, goesOn: boolean): void {
    const { tuples } = this.#arena
    this.dropSpare()
    if (goesOn) {
      tuples.empty()
      this.#spare = tuples
    } else {
      tuples.destroy()
    }
    this.#givenBytes = 0
    this.#arena.tuples = merged
  }

  /** Gives back what is kept for the next merge. */
  dropSpare(): void {
    this.#spare?.destroy()
    this.#spare = undefined
  }

  /** Tuples for which room is made where so many are followed by more: not more than a region can hold. */
  #ahead(count: number): number {
    const most = Math.floor(this.#device.regionBytes / (4 * this.#shape.tupleStride))
    return Math.max(count, Math.min(Math.ceil(GROWTH * count), most))
  }

  /** Room for what a sorted part of so many tuples has beside them, as long as there is any for the tuples, too. */
  async #roomForSorted(count: number, goesOn: boolean): Promise<SortedRoom | undefined> {
    const arena = this.#arena
    if (arena.sorted?.hasRoomFor(count)) return arena.roomForSorted(count)
    const left = arena.allowance.bytes() - arena.bytes + (this.#spare?.bytes ?? 0)
    for (const most of goesOn ? [this.#ahead(count), count] : [count]) {
      const tupleBytes = regionBytes(this.#device, this.#shape.tupleStride, most)
      if (SortedPart.bytesFor(this.#device, this.#shape, most) + tupleBytes > left) continue
      const room = await roomOr(() => arena.roomForSorted(count, most))
      if (room !== undefined) return room
    }
    return undefined
  }

  /**
   * A region for so many tuples: the one that is kept for that, or one of the first of the sizes for which there is room.
   * @param sortedBytes bytes that were taken for the sorted part
   */
  async #provideMerged(
    count: number,
    sizes: readonly number[],
    sortedBytes: number,
  ): Promise<Region | undefined> {
    const arena = this.#arena
    const free = arena.allowance.bytes() - arena.bytes - sortedBytes
    const spare = this.#spare
    if (spare !== undefined && spare.leastBytes(count) <= spare.bytes && free >= 0) {
      this.#spare = undefined
      return spare
    }
    this.dropSpare()
    const { tupleStride } = this.#shape
    const left = Math.min(this.#device.regionBytes, free + (spare?.bytes ?? 0))
    for (const records of sizes) {
      if (regionBytes(this.#device, tupleStride, records) > left) continue
      const create = () => Region.create(this.#device, 'tree', arena.tuples.label, tupleStride, records)
      const merged = await roomOr(create)
      if (merged !== undefined) return merged
    }
    return undefined
  }
}

/** What a task makes, or undefined where there is no room for that. */
export async function roomOr<T>(task: () => Promise<T>): Promise<T | undefined> {
  try {
    return await task()
  } catch (error) {
    if (toWarpdexError(error).code !== 'OUT_OF_DEVICE_MEMORY') throw error
    return undefined
  }
}
