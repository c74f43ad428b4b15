import type { Device } from '../../gpu/device/device.js'
import type {
  IndexShape,
  IndexStructure,
  PreparedWrite,
  ScanRequest,
  ScanResult,
  StructureImage,
  StructureStats,
  WriteBatch,
} from '../../gpu/index-structure.js'
import { WarpdexError } from '../../protocol/errors.js'
import type { EngineMeter } from '../observe/meter.js'
import type { DeviceBudget, Pageable } from './device-budget.js'
import { HostImage } from './host-image.js'
import type { StructureFactory } from './structures.js'

/** What a structure that may be paged out needs of its engine. */
export interface PagingHost {
  readonly structures: StructureFactory
  readonly budget: DeviceBudget
  readonly meter?: EngineMeter | undefined
  /** The device, which may be another one than before after a loss. */
  device(): Promise<Device>
}

export interface PagedStats extends StructureStats {
  /** Whether it is on the device. */
  readonly resident: boolean
  /** Bytes of host memory that its image takes while it is not. */
  readonly hostBytes: number
}

/** Where a structure is: on the device, or on the host with the figures that it had when it left. */
type Place =
  | { readonly structure: IndexStructure; readonly image?: undefined }
  | { readonly image: HostImage; readonly stats: StructureStats; readonly structure?: undefined }

/**
 * A structure that makes way for others when device memory runs short: then its image lies in host memory, byte for byte, until it is
 * used again (Volk §4.1, §4.2). Reads and writes go through `use`, which brings it back first.
 */
export class PagedStructure implements Pageable {
  readonly #host: PagingHost
  readonly shape: IndexShape
  #place: Place
  /** Work of the structure beside requests, about whose end the budget is to be told. */
  #background: Promise<void> | undefined
  #destroyed = false

  /** Takes over a structure that is on the device. */
  constructor(structure: IndexStructure, host: PagingHost) {
    this.#place = { structure }
    this.shape = structure.shape
    this.#host = host
    host.budget.add(this)
  }

  /**
   * Runs a task on the structure, which stays on the device meanwhile: at once if it is there. The task may be run twice, if the
   * device had no room for it at first. Not to be called within a task.
   * @throws WarpdexError `OUT_OF_DEVICE_MEMORY`, `DEVICE_LOST`, when the structure cannot be brought back, and what the task throws
   */
  async use<T>(task: (structure: IndexStructure) => Promise<T>): Promise<T> {
    const { budget } = this.#host
    const coming = budget.acquire(this)
    if (coming !== undefined) await coming
    try {
      return await budget.withRoom(() => task(this.current))
    } finally {
      budget.release(this)
    }
  }

  /** As `use`, for a task that writes. Once it is done others have made way for what the structure has grown by. */
  change<T>(task: (structure: IndexStructure) => Promise<T>): Promise<T> {
    return this.use((structure) =>
      task(structure).finally(() => {
        this.#follow(structure)
        return this.#host.budget.settle(this)
      }),
    )
  }

  /** Tells the budget what a structure has once its work in the background is over, if it is still here then. */
  #follow(structure: IndexStructure): void {
    const { background } = structure
    if (background === undefined || this.#background !== undefined) return
    this.#background = background.then(() => {
      this.#background = undefined
      if (this.#place.structure === structure && !this.#destroyed) void this.#host.budget.settle(this)
    })
  }

  /** The structure itself, for what runs within a task. */
  get current(): IndexStructure {
    const { structure } = this.#place
    if (structure === undefined) throw new WarpdexError('INTERNAL', 'the structure is not on the device')
    return structure
  }

  /** As the structure's, within `change`. Once it is done others have made way for what it made sure of. */
  async prepare(batch: WriteBatch): Promise<PreparedWrite> {
    const { budget } = this.#host
    const prepared = await budget.withRoom(() => this.current.prepare(batch))
    await budget.settle(this)
    return prepared
  }

  scan(request: ScanRequest): Promise<ScanResult> {
    return this.use((structure) => structure.scan(request))
  }

  /** An image as of the last applied write. That of a structure on the host is the one that it left, so it stays there. */
  async image(): Promise<StructureImage> {
    const { image } = this.#place
    return image === undefined ? this.use((structure) => structure.image()) : image.read()
  }

  stats(): PagedStats {
    const { structure, image } = this.#place
    if (structure !== undefined) return { ...structure.stats(), resident: true, hostBytes: 0 }
    return { ...this.#place.stats, deviceBytes: 0, regions: [], resident: false, hostBytes: image.bytes }
  }

  get deviceBytes(): number {
    const { structure } = this.#place
    return (structure === undefined ? this.#place.stats : structure.stats()).deviceBytes
  }

  /** Whether it would outlive the device. */
  get isOnHost(): boolean {
    return this.#place.image !== undefined
  }

  async pageOut(): Promise<void> {
    const { current } = this
    const image = await HostImage.of(await current.image({ inPlace: true }))
    this.#place = { image, stats: current.stats() }
    current.destroy()
    this.#host.meter?.happened('pageOut')
  }

  async pageIn(): Promise<void> {
    const { image } = this.#place
    if (image === undefined) return
    const { structures } = this.#host
    const device = await this.#host.device()
    const structure = await structures.restore(device, this.shape, image.meta, (part) => image.readPart(part))
    this.#place = { structure }
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
