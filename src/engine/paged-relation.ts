import type { Device } from '../../gpu/device/device.js'
import type { StructureImage } from '../../gpu/index-structure.js'
import { StoredRelation } from '../../gpu/relational/stored/stored-relation.js'
import type { ColumnDefinition } from '../../protocol/relation.js'
import type { PagingHost } from './engine-host.js'
import { PagedStructure, partsOf } from './paged-structure.js'

/** The columns of a relation, which may be paged out. */
export class PagedRelation extends PagedStructure<StoredRelation> {
  readonly #columns: readonly ColumnDefinition[]

  /** Takes over columns that are on the device. */
  constructor(stored: StoredRelation, host: PagingHost, columns: readonly ColumnDefinition[]) {
    super(stored, host)
    this.#columns = columns
  }

  protected override restore(device: Device, image: StructureImage): Promise<StoredRelation> {
    return StoredRelation.restore(device, this.#columns, image.meta, partsOf(image))
  }
}
