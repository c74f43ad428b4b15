import type { Device } from '../../gpu/device/device.js'
import type { StructureImage } from '../../gpu/index-structure.js'
import { StoredRelation } from '../../gpu/relational/stored/stored-relation.js'
import type { Store } from '../../persistence/store.js'
import type { RelationDefinition } from '../../protocol/relation.js'
import type { ReplayProgress } from './index-loader.js'

export interface RelationLoadOptions {
  readonly store: Store
  readonly device: Device
  readonly id: number
  readonly definition: RelationDefinition
  readonly onProgress: (progress: ReplayProgress) => void
  readonly onWarning: (message: string) => void
  /** Ends the replay, with the signal's reason, once it is aborted. */
  readonly stop: AbortSignal | undefined
}

/**
 * Brings a relation to the device: its newest sound snapshot, and the log after it.
 * @returns the relation, and how many bytes of log were replayed
 * @throws WarpdexError `DAMAGED_FILE`, `OUT_OF_DEVICE_MEMORY`, `DEVICE_LOST`
 */
export async function loadRelation(
  options: RelationLoadOptions,
): Promise<{ structure: StoredRelation; replayedBytes: number }> {
  const { store, device, id, definition, onWarning } = options
  const { columns } = definition
  const { snapshot, damage } = await store.snapshots.newest(id)
  for (const { message } of damage) onWarning(`a snapshot is passed over: ${message}`)
  const structure =
    snapshot === undefined
      ? await StoredRelation.create(device, columns)
      : await StoredRelation.restore(device, columns, imageMeta(snapshot.reader.meta), (name) =>
          snapshot.reader.read(name),
        )
  try {
    return { structure, replayedBytes: await replay(structure, snapshot?.position ?? 0, options) }
  } catch (error) {
    structure.destroy()
    throw error
  }
}

async function replay(
  structure: StoredRelation,
  after: number,
  { store, id, definition, onProgress, stop }: RelationLoadOptions,
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
