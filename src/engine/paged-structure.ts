import type { Device } from '../../gpu/device/device.js'
import type { RegionStats, StructureImage, StructureStats } from '../../gpu/index-structure.js'
import type { PageRun } from '../../gpu/memory/page-run.js'
import { WarpdexError } from '../../protocol/errors.js'
import { Pageable } from './device-budget.js'
import type { PagingHost } from './engine-host.js'
import type { SnapshotContent, Snapshotted } from './snapshot-upkeep.js'

/** Something on the device that can leave it as an image: an index's structure, or a relation's columns; see `IndexStructure`. */
export interface DeviceStructure {
  readonly deviceBytes: number
  readonly derivedBytes: number
  readonly background: Promise<unknown> | undefined
  readonly runs: readonly PageRun[]
  image(): Promise<StructureImage>
  stats(): { readonly deviceBytes: number; readonly regions: readonly RegionStats[] }
  destroy(): void
}

/** How structures of a kind come back to a device, and what a snapshot of one holds. */
export interface Paging<S extends DeviceStructure> {
  restore(device: Device, image: StructureImage): Promise<S>
  snapshot(structure: S): Promise<SnapshotContent>
  /** That of one on the host, where its image is all that it takes; else a copy comes to the device for it. */
  readonly imageSnapshot?: (image: StructureImage) => SnapshotContent
}

/** Where a structure is that may be paged out. */
export interface PlaceStats {
  /** Whether it is on the device. */
  readonly resident: boolean
  /** Bytes of host memory that its image takes while it is not. */
  readonly hostBytes: number
}

export type PagedStats = StructureStats & PlaceStats

type AnyStructure = PagedStructure<DeviceStructure>
type StatsOf<S extends DeviceStructure> = ReturnType<S['stats']>

/** Where a structure is: on the device, or on the host with the figures that it had when it left. */
type Place<S extends DeviceStructure> =
  | { readonly structure: S; readonly image?: undefined }
  | { readonly image: StructureImage; readonly stats: StatsOf<S>; readonly structure?: undefined }

/**
 * A structure that makes way for others when device memory runs short: then its image lies in host memory, byte for byte, until it is
 * used again (Volk §4.1, §4.2). Reads and writes go through `use`, which brings it back first.
 */
export class PagedStructure<S extends DeviceStructure> extends Pageable implements Snapshotted {
  readonly #host: PagingHost
  readonly #paging: Paging<S>
  #place: Place<S>
  /** Work of the structure beside requests, about whose end the budget is to be told. */
  #background: Promise<void> | undefined
  #destroyed = false

  /** Takes over a structure that is on the device. */
  constructor(structure: S, host: PagingHost, paging: Paging<S>) {
    super()
    this.#place = { structure }
    this.#host = host
    this.#paging = paging
    host.budget.add(this)
  }

  /**
   * Runs a task on the structure, which stays on the device meanwhile: at once if it is there. The task may be run twice, if the
   * device had no room for it at first. Not to be called within a task.
   * @throws WarpdexError `OUT_OF_DEVICE_MEMORY`, `DEVICE_LOST`, when the structure cannot be brought back, and what the task throws
   */
  async use<T>(task: (structure: S) => Promise<T>): Promise<T> {
    const { budget } = this.#host
    const coming = budget.acquire(this)
    if (coming !== undefined) await coming
    try {
      return await budget.withRoom(() => task(this.current))
    } finally {
      budget.release(this)
    }
  }

  /** Whether a use that begins now would begin at once. */
  get isAtHand(): boolean {
    return this.state === 'here'
  }

  /** As `use`, of several structures at once. */
  static async useAll<T>(structures: readonly AnyStructure[], task: () => Promise<T>): Promise<T> {
    const [first] = structures
    if (first === undefined) return task()
    const { budget } = first.#host
    await budget.acquireAll(structures)
    try {
      return await budget.withRoom(task)
    } finally {
      for (const structure of structures) budget.release(structure)
    }
  }

  /** As `useAll`, for a task that writes. Once it is done others have made way for what the structures have grown by. */
  static changeAll<T>(structures: readonly AnyStructure[], task: () => Promise<T>): Promise<T> {
    return PagedStructure.useAll(structures, () =>
      task().finally(async () => {
        for (const structure of structures) await structure.#changed()
      }),
    )
  }

  /** As `use`, for a task that writes. Once it is done others have made way for what the structure has grown by. */
  change<T>(task: (structure: S) => Promise<T>): Promise<T> {
    return this.use((structure) => task(structure).finally(() => this.#changed()))
  }

  /** Tells the budget what the structure has, and again once its work in the background is over, if it is still here then. */
  #changed(): Promise<void> {
    const { current } = this
    if (current.background !== undefined && this.#background === undefined) {
      this.#background = current.background.then(() => {
        this.#background = undefined
        if (this.#place.structure === current && !this.#destroyed) void this.#host.budget.settle(this)
      })
    }
    return this.#host.budget.settle(this)
  }

  /** The structure itself, for what runs within a task. */
  get current(): S {
    const { structure } = this.#place
    if (structure === undefined) throw new WarpdexError('INTERNAL', 'the structure is not on the device')
    return structure
  }

  /** Puts another structure in place of it, which is destroyed, within `change`. */
  replace(structure: S): void {
    const { current } = this
    this.#place = { structure }
    current.destroy()
  }

  /** Runs a task that makes sure of memory, within `change`. Once it is done others have made way for that. */
  async reserve<T>(task: (structure: S) => Promise<T>): Promise<T> {
    const { budget } = this.#host
    const prepared = await budget.withRoom(() => task(this.current))
    await budget.settle(this)
    return prepared
  }

  /** What it holds as of the last write. One that is on the host stays there. */
  async snapshot(): Promise<SnapshotContent> {
    const { image } = this.#place
    const { restore, snapshot, imageSnapshot } = this.#paging
    if (image === undefined) return this.use(snapshot)
    if (imageSnapshot !== undefined) return imageSnapshot(image)
    return this.#host.budget.withRoom(async () => {
      const copy = await restore(await this.#host.device(), image)
      return snapshot(copy).finally(() => copy.destroy())
    })
  }

  stats(): StatsOf<S> & PlaceStats {
    const place = this.#place
    if (place.image === undefined) return { ...statsOf(place.structure), resident: true, hostBytes: 0 }
    const { stats, image } = place
    return { ...stats, deviceBytes: 0, regions: [], resident: false, hostBytes: bytesOf(image) }
  }

  get deviceBytes(): number {
    const place = this.#place
    return place.image === undefined ? place.structure.deviceBytes : place.stats.deviceBytes
  }

  /** The pages that it has. */
  get runs(): readonly PageRun[] {
    return this.#place.structure?.runs ?? []
  }

  get derivedBytes(): number {
    return this.#place.structure?.derivedBytes ?? 0
  }

  /** Whether it would outlive the device. */
  get isOnHost(): boolean {
    return this.#place.image !== undefined
  }

  async pageOut(): Promise<void> {
    const { current } = this
    const image = await current.image()
    this.#place = { image, stats: statsOf(current) }
    current.destroy()
    this.#host.meter?.happened('pageOut')
  }

  async pageIn(): Promise<void> {
    const { image } = this.#place
    if (image === undefined) return
    this.#place = { structure: await this.#paging.restore(await this.#host.device(), image) }
    this.#host.meter?.happened('pageIn')
  }

  /** Gives everything back. Called when nobody uses it. */
  async destroy(): Promise<void> {
    this.#destroyed = true
    await this.#host.budget.remove(this)
    const { structure } = this.#place
    structure?.destroy()
    await structure?.background
  }
}

function statsOf<S extends DeviceStructure>(structure: S): StatsOf<S> {
  // What a structure's `stats` gives is what it is declared to give.
  return structure.stats() as StatsOf<S>
}

function bytesOf({ parts }: StructureImage): number {
  return parts.reduce((sum, { bytes }) => sum + bytes, 0)
}
