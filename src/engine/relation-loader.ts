import type { StructureImage } from '../../gpu/index-structure.js'
import { partsOf } from '../../gpu/memory/image-parts.js'
import { StoredRelation } from '../../gpu/relational/stored/stored-relation.js'
import type { ColumnDefinition, RelationDefinition } from '../../protocol/relation.js'
import type { PagingHost } from './engine-host.js'
import { filled, type Loaded, type LoadOptions, newestSnapshot } from './index-loader.js'
import { PagedStructure } from './paged-structure.js'

/** Columns that are on the device, and may be paged out from now on. */
export function pagedRelation(
  stored: StoredRelation,
  host: PagingHost,
  columns: readonly ColumnDefinition[],
): PagedStructure<StoredRelation> {
  return new PagedStructure(stored, host, {
    restore: (device, image) => StoredRelation.restore(device, columns, image.meta, partsOf(image)),
    snapshot: (current) => current.snapshot(),
    imageSnapshot: (image) => ({ ...image, release() {} }),
  })
}

/**
 * Brings a relation to the device: its newest sound snapshot, and the log after it.
 * @throws WarpdexError `DAMAGED_FILE`, `OUT_OF_DEVICE_MEMORY`, `DEVICE_LOST`
 */
export async function loadRelation(
  options: LoadOptions<RelationDefinition>,
): Promise<Loaded<StoredRelation>> {
  const { device, definition } = options
  const { columns } = definition
  const snapshot = await newestSnapshot(options)
  const made =
    snapshot === undefined
      ? await StoredRelation.create(device, columns)
      : await StoredRelation.restore(device, columns, imageMeta(snapshot.reader.meta), (name) =>
          snapshot.reader.read(name),
        )
  return filled(made, (structure) => replay(structure, snapshot?.position ?? 0, options))
}

async function replay(
  structure: StoredRelation,
  after: number,
  { store, id, definition, onProgress, stop }: LoadOptions<RelationDefinition>,
): Promise<number> {
  const total = store.log.last(id) - after
  let replayed = 0
  for await (const { batch, position, bytes } of store.log.readAppends(id, after)) {
    stop?.throwIfAborted()
    const prepared = await structure.prepare([batch])
    prepared.apply()
    replayed += bytes
    onProgress({ index: definition.name, done: position - after, total })
  }
  return replayed
}

/** The checksum vouches that this is what `image` gave. */
function imageMeta(meta: unknown): StructureImage['meta'] {
  return meta as StructureImage['meta']
}
