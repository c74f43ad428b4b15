import type {
  IndexShape,
  IndexStructure,
  PreparedWrite,
  ReadColumns,
  ReadOp,
  ReadRequest,
  ReadResults,
  StructureEntries,
  StructureStats,
  WriteBatch,
} from '../../gpu/index-structure.js'
import type { HostImage } from './host-image.js'
import type { SnapshotContent } from './index-snapshots.js'
import { PagedStructure, type PagingHost, type PlaceStats, type Restore } from './paged-structure.js'
import type { StructureFactory } from './structures.js'

export type PagedStats = StructureStats & PlaceStats

/** The structure of an index, which may be paged out. */
export class PagedIndex extends PagedStructure<IndexStructure> {
  readonly shape: IndexShape
  readonly #host: PagingHost
  readonly #restore: Restore<IndexStructure>

  /** Takes over a structure that is on the device. */
  constructor(structure: IndexStructure, host: PagingHost & { readonly structures: StructureFactory }) {
    const { shape } = structure
    const restore: Restore<IndexStructure> = (device, image) =>
      host.structures.restore(device, shape, image.meta, (part) => image.readPart(part))
    super(structure, host, restore)
    this.shape = shape
    this.#host = host
    this.#restore = restore
  }

  /** As the structure's, within `change`. Once it is done others have made way for what it made sure of. */
  prepare(batch: WriteBatch): Promise<PreparedWrite> {
    return this.reserve((structure) => structure.prepare(batch))
  }

  read<Op extends ReadOp>(request: ReadRequest<Op>, columns: ReadColumns): Promise<ReadResults[Op]> {
    return this.use((structure) => structure.read(request, columns))
  }

  /**
   * Its entries, which do not depend on how structures lie in memory. One that is on the host stays there, and only a copy of it comes to the
   * device.
   */
  override async snapshot(): Promise<SnapshotContent> {
    const image = this.hostImage
    const { meta, columns, release } = await (image === undefined
      ? this.use((structure) => structure.entries())
      : this.#host.budget.withRoom(() => this.#entriesOf(image)))
    return { meta, parts: columns, release }
  }

  async #entriesOf(image: HostImage): Promise<StructureEntries> {
    const copy = await this.#restore(await this.#host.device(), image)
    try {
      return await copy.entries()
    } finally {
      copy.destroy()
    }
  }
}
