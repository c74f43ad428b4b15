import type { StructureImage } from '../../gpu/index-structure.js'
import { StoredRelation } from '../../gpu/relational/stored/stored-relation.js'
import type { RelationDefinition } from '../../protocol/relation.js'
import { filled, type Loaded, type LoadOptions, newestSnapshot } from './index-loader.js'

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
