import { toWarpdexError } from '../../protocol/errors.js'
import type { Device } from '../device/device.js'
import { Region, regionBytes } from '../memory/region.js'
import type { Arena } from '../prefix-tree/arena.js'
import type { TreeShape } from '../prefix-tree/layout.js'
import { SortedPart } from './sorted-part.js'

/** Room for a CSS-tree's sorted part and a run behind it in one order. */
export interface MergeRoom {
  /** Has as many records as both have tuples. */
  readonly merged: Region
  readonly sorted: SortedPart
}

/** Room of a region that merges take turns in, beside what it must hold. */
const GROWTH = 1.5

/** Room for what is merged with an arena's sorted part at once. */
export class MergeRooms {
  readonly #device: Device
  readonly #shape: TreeShape
  /** Where the tuples of the next merge may lie. */
  #spare: Region | undefined
  /** Bytes of the room that is given out and not taken yet. */
  #givenBytes = 0

  constructor(device: Device, shape: TreeShape) {
    this.#device = device
    this.#shape = shape
  }

  /** Bytes of device memory that it has beside what is in the arena. */
  get bytes(): number {
    return this.#givenBytes + (this.#spare?.bytes ?? 0)
  }

  /**
   * Room to merge so many tuples, which are going to lie right behind the sorted part, with it; undefined where there is none. As far as
   * there is room for that, too, more can be written behind the merged ones.
   * @param goesOn whether more merges follow: then they take turns in two regions, which grow ahead
   */
  provide(arena: Arena, added: number, goesOn: boolean): Promise<MergeRoom | undefined> {
    const count = (arena.sorted?.tuples ?? 0) + added
    return arena.allowance.inTurn(async () => {
      const sortedBytes = SortedPart.bytesFor(this.#device, this.#shape, count)
      const free = arena.allowance.bytes() - arena.bytes - sortedBytes
      const spare = this.#spare
      if (spare !== undefined && spare.leastBytes(count) <= spare.bytes && free >= 0) {
        const sorted = await roomOr(() => arena.provideSorted(count))
        if (sorted === undefined) return undefined
        this.#spare = undefined
        return this.#room(spare, sorted, count)
      }
      this.dropSpare()
      const left = Math.min(this.#device.regionBytes, free + (spare?.bytes ?? 0))
      const sizes = [...(goesOn ? [Math.ceil(GROWTH * count)] : []), count + added, count]
      for (const records of sizes) {
        if (regionBytes(this.#device, this.#shape.tupleStride, records) > left) continue
        const room = await roomOr(() => this.#create(arena, count, records))
        if (room !== undefined) return room
      }
      return undefined
    })
  }

  /**
   * Puts what was merged in the place of the sorted part, and of the run behind it.
   * @param goesOn as given to `provide`
   */
  take(arena: Arena, { merged, sorted }: MergeRoom, goesOn: boolean): void {
    this.dropSpare()
    if (goesOn) {
      arena.tuples.empty()
      this.#spare = arena.tuples
    } else {
      arena.tuples.destroy()
    }
    this.#givenBytes = 0
    arena.tuples = merged
    arena.replaceSorted(sorted)
  }

  /** Gives back what `provide` gave. */
  giveBack({ merged, sorted }: MergeRoom): void {
    merged.destroy()
    sorted.destroy()
    this.#givenBytes = 0
  }

  /** Gives back what is kept for the next merge. */
  dropSpare(): void {
    this.#spare?.destroy()
    this.#spare = undefined
  }

  async #create(arena: Arena, count: number, records: number): Promise<MergeRoom> {
    const merged = await Region.create(this.#device, arena.tuples.label, this.#shape.tupleStride, records)
    try {
      return this.#room(merged, await arena.provideSorted(count), count)
    } catch (error) {
      merged.destroy()
      throw error
    }
  }

  #room(merged: Region, sorted: SortedPart, count: number): MergeRoom {
    merged.take(count)
    this.#givenBytes = merged.bytes + sorted.bytes
    return { merged, sorted }
  }
}

/** What a task makes, or undefined where there is no room for that. */
async function roomOr<T>(task: () => Promise<T>): Promise<T | undefined> {
  try {
    return await task()
  } catch (error) {
    if (toWarpdexError(error).code !== 'OUT_OF_DEVICE_MEMORY') throw error
    return undefined
  }
}
