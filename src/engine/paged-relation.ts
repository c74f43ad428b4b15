import type { Device } from '../../gpu/device/device.js'
import type { StructureImage } from '../../gpu/index-structure.js'
import { partsOf } from '../../gpu/memory/image-parts.js'
import { StoredRelation } from '../../gpu/relational/stored/stored-relation.js'
import type { ColumnDefinition } from '../../protocol/relation.js'
import type { PagingHost } from './engine-host.js'
import { PagedStructure } from './paged-structure.js'
import type { SnapshotContent } from './snapshot-upkeep.js'

/** The columns of a relation, which may be paged out. */
export class PagedRelation extends PagedStructure<StoredRelation> {
  readonly #columns: readonly ColumnDefinition[]

  /** Takes over columns that are on the device. */
  constructor(stored: StoredRelation, host: PagingHost, columns: readonly ColumnDefinition[]) {
    super(stored, host)
    this.#columns = columns
  }

  /** An image. That of columns on the host is the one that they left, so it stays there. */
  override async snapshot(): Promise<SnapshotContent> {
    const { hostImage } = this
    return hostImage === undefined ? this.use((stored) => stored.snapshot()) : { ...hostImage, release() {} }
  }

  protected override restore(device: Device, image: StructureImage): Promise<StoredRelation> {
    return StoredRelation.restore(device, this.#columns, image.meta, partsOf(image))
  }
}
