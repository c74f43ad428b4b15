import type {
  IndexShape,
  IndexStructure,
  PreparedWrite,
  ReadColumns,
  ReadOp,
  ReadRequest,
  ReadResults,
  StructureStats,
  WriteBatch,
} from '../../gpu/index-structure.js'
import { PagedStructure, type PagingHost, type PlaceStats } from './paged-structure.js'
import type { StructureFactory } from './structures.js'

export type PagedStats = StructureStats & PlaceStats

/** The structure of an index, which may be paged out. */
export class PagedIndex extends PagedStructure<IndexStructure> {
  readonly shape: IndexShape

  /** Takes over a structure that is on the device. */
  constructor(structure: IndexStructure, host: PagingHost & { readonly structures: StructureFactory }) {
    const { shape } = structure
    super(structure, host, (device, image) =>
      host.structures.restore(device, shape, image.meta, (part) => image.readPart(part)),
    )
    this.shape = shape
  }

  /** As the structure's, within `change`. Once it is done others have made way for what it made sure of. */
  prepare(batch: WriteBatch): Promise<PreparedWrite> {
    return this.reserve((structure) => structure.prepare(batch))
  }

  read<Op extends ReadOp>(request: ReadRequest<Op>, columns: ReadColumns): Promise<ReadResults[Op]> {
    return this.use((structure) => structure.read(request, columns))
  }
}
