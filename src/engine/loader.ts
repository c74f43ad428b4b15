import type { Device } from '../../gpu/device/device.js'
import { type EntrySource, loadEntries } from '../../gpu/index/entries/load.js'
import { EXPIRY_BYTES } from '../../gpu/index/layout.js'
import type {
  IndexShape,
  IndexStructure,
  StructureEntries,
  StructureImage,
  WriteBatch,
} from '../../gpu/index-structure.js'
import { partsOf } from '../../gpu/memory/image-parts.js'
import { compactedRelation } from '../../gpu/relational/stored/compact-relation.js'
import { StoredRelation } from '../../gpu/relational/stored/stored-relation.js'
import type { SnapshotReader } from '../../persistence/snapshots/snapshot-file.js'
import { columnFrom, countOf } from '../../protocol/columns.js'
import { LIMITS } from '../../protocol/limits.js'
import type { ColumnDefinition, RelationDefinition } from '../../protocol/relation.js'
import type { TreeLayout } from '../../protocol/traversal.js'
import { type IndexDefinition, keyWidth, payloadBytes, WriteOp } from '../../protocol/types.js'
import type { DueEntries } from './due-entries.js'
import type { EngineHost, PagingHost } from './engine-host.js'
import { PagedStructure } from './paged-structure.js'
import { deleteRange, type RangeTarget } from './range-deletion.js'
import { joinBatches } from './write-batch.js'

/** How far the replay of an index's log is, in records. */
export interface ReplayProgress {
  readonly index: string
  readonly done: number
  readonly total: number
}

/** How an index, or a relation, is brought to a device. */
export interface LoadOptions<Definition>
  extends Pick<
    EngineHost,
    'store' | 'structures' | 'calibrator' | 'clock' | 'stop' | 'onProgress' | 'onWarning'
  > {
  readonly device: Device
  readonly id: number
  readonly definition: Definition
}

interface IndexLoadOptions extends LoadOptions<IndexDefinition> {
  /** Puts into an empty structure what it must hold, where that is stored elsewhere and there is neither snapshot nor log. */
  readonly fill?: FillStructure | undefined
  /** Takes up what of it expires, where entries do. */
  readonly due?: DueEntries | undefined
}

export type ReplayOptions = Pick<
  IndexLoadOptions,
  'store' | 'id' | 'definition' | 'due' | 'onProgress' | 'stop'
>

export type FillStructure = (structure: IndexStructure) => Promise<void>

/** What was brought to a device. */
export interface Loaded<S> {
  readonly structure: S
  /** Bytes of log that had to be replayed. */
  readonly replayedBytes: number
}

/** Bytes that a structure has of a payload that lies on the host: its row and the hash of its content. */
const ROW_BYTES = 16

/** What a structure must know of an index of that definition. */
export function shapeOf(definition: IndexDefinition): IndexShape {
  const { name: _name, of: _of, payloadKind, ttl, ...others } = definition
  const { partitionLevels = 'auto' } = definition
  const shared = hasPartitions(definition) ? { ...others, partitionLevels } : others
  const size = payloadBytes(payloadKind)
  const shape =
    size === undefined
      ? { ...shared, payloadBytes: ROW_BYTES, matchFrom: 2 }
      : { ...shared, payloadBytes: size, matchFrom: 0 }
  if (ttl === undefined) return shape
  const matchFrom = shape.matchFrom + EXPIRY_BYTES / 4
  return { ...shape, expires: true, payloadBytes: EXPIRY_BYTES + shape.payloadBytes, matchFrom }
}

/** Whether an index has strategies to choose from: prefix trees do, unless they are told otherwise. */
function hasPartitions({ structure, partitionLevels }: TreeLayout): boolean {
  return structure !== 'css' && partitionLevels !== 'none'
}

/** An index's structure that is on the device, and may be paged out from now on. */
export function pagedIndex(
  structure: IndexStructure,
  host: PagingHost & Pick<EngineHost, 'structures'>,
): PagedStructure<IndexStructure> {
  const { shape } = structure
  return new PagedStructure(structure, host, {
    restore: (device, image) => host.structures.restore(device, shape, image),
    // Entries do not depend on how structures lie in memory, as images do.
    async snapshot(current) {
      const { meta, columns, release } = await current.entries()
      return { meta, parts: columns, release }
    },
  })
}

/**
 * Brings an index to the device: its newest sound snapshot, and the log after it.
 * @throws WarpdexError `DAMAGED_FILE`, `OUT_OF_DEVICE_MEMORY`, `DEVICE_LOST`
 */
export async function loadStructure(options: IndexLoadOptions): Promise<Loaded<IndexStructure>> {
  const { structures, calibrator, device, definition, fill } = options
  // Until costs are measured, keys are found by sequential traversal.
  if (hasPartitions(definition)) void calibrator.provide(device)
  const snapshot = fill === undefined ? await newestSnapshot(options) : undefined
  return filled(await structures.create(device, shapeOf(definition)), async (structure) => {
    if (snapshot !== undefined) await loadEntries(structure, entrySource(snapshot.reader))
    if (fill === undefined) return replayed(structure, snapshot?.position ?? 0, options)
    await fill(structure)
    return 0
  })
}

/** The newest sound snapshot, if there is one. */
async function newestSnapshot({ store, id, onWarning }: LoadOptions<unknown>) {
  const { snapshot, damage } = await store.snapshots.newest(id)
  for (const { message } of damage) onWarning(`a snapshot is passed over: ${message}`)
  return snapshot
}

/**
 * What has come to hold all that it must; it is destroyed where that fails.
 * @param fill returns the bytes of log that it replayed
 */
async function filled<S extends { destroy(): void }>(
  structure: S,
  fill: (structure: S) => Promise<number>,
): Promise<Loaded<S>> {
  try {
    return { structure, replayedBytes: await fill(structure) }
  } catch (error) {
    structure.destroy()
    throw error
  }
}

function entrySource(reader: SnapshotReader): EntrySource {
  return {
    // The checksum vouches that this is what `entries` gave.
    meta: reader.meta as StructureEntries['meta'],
    names: reader.parts,
    read: (name) => reader.read(name),
  }
}

/** Applies the log after a position, and removes what has expired since, unless the log is to tell that. @returns bytes of log */
async function replayed(
  structure: IndexStructure,
  after: number,
  options: IndexLoadOptions,
): Promise<number> {
  const { due, clock, store } = options
  const gone = due?.reset() ?? 0
  const settle = (goesOn: boolean) =>
    structure.compactIfWorthwhile(goesOn ? { inBackground: false, goesOn } : undefined)
  const bytes = await replay({ ...asTarget(structure), settle }, after, options)
  if (store.role === undefined) await due?.remove(asTarget(structure), Math.max(gone, clock.date()))
  return bytes
}

/** What is deleted from while nobody else uses it. */
function asTarget(structure: IndexStructure): RangeTarget {
  return { structure, prepare: (batch) => structure.prepare(batch) }
}

/** What a log is applied to. */
export interface ReplayTarget extends RangeTarget {
  /** What is due once records are applied. @param goesOn whether more will be */
  settle(goesOn: boolean): Promise<unknown>
}

/**
 * Applies the log after a position. Neighbouring records go together where that is the same as one after the other to the last
 * bit: a small one costs as much as thousands of items.
 */
export async function replay(target: ReplayTarget, after: number, options: ReplayOptions): Promise<number> {
  const { store, id, definition, due, onProgress, stop } = options
  const { keyType, payloadBytes: width } = target.structure.shape
  const total = store.log.last(id) - after
  let gathered: WriteBatch[] = []
  let items = 0
  let position = after
  let gatheredBytes = 0
  let bytes = 0
  const apply = async (): Promise<void> => {
    if (gathered.length === 0) return
    stop?.throwIfAborted()
    const prepared = await target.prepare({ ...joinBatches(gathered), goesOn: true })
    prepared.apply()
    await target.settle(true)
    onProgress({ index: definition.name, done: position - after, total })
    gathered = []
    items = 0
    gatheredBytes = 0
  }
  for await (const entry of store.log.read(id, after)) {
    const { through, first } = entry.expiry ?? {}
    if (due !== undefined && through !== undefined && through >= due.next) {
      await apply()
      await due.remove(target, through)
    }
    if (first !== undefined) due?.add(first)
    if (entry.range !== undefined || entry.due !== undefined) {
      await apply()
      if (entry.range !== undefined) await deleteRange(target, entry.range, async () => {})
      if (entry.due !== undefined) await due?.removeLogged(target, entry.due)
      position = entry.position
      bytes += entry.bytes
      continue
    }
    const { ops, keys: stored, payloads } = entry
    const keys = columnFrom(stored.bytes, keyWidth(keyType), stored.offsets)
    const batch = { ops, keys, payloads: payloads && { bytes: payloads, width } }
    const count = countOf(keys)
    const joins = gathered.length === 0 || (mayJoin(gathered[0], definition) && mayJoin(batch, definition))
    const fits = items + count <= LIMITS.batchItems && gatheredBytes + entry.bytes <= LIMITS.frameBytes
    if (!joins || !fits) await apply()
    gathered.push(batch)
    position = entry.position
    items += count
    gatheredBytes += entry.bytes
    bytes += entry.bytes
  }
  await apply()
  await target.settle(false)
  return bytes
}

/**
 * Payloads get their sequence numbers, which clients hold in tokens, batch by batch: those that die within their batch get none.
 * So only batches in which none dies go together, and those of unique indexes, where every number is 0.
 */
function mayJoin({ ops }: WriteBatch, { unique }: IndexDefinition): boolean {
  return unique || ops === WriteOp.insert
}

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
  return replayChanges(made, snapshot?.position ?? 0, options)
}

async function replayChanges(
  made: StoredRelation,
  after: number,
  { device, store, id, definition, onProgress, stop }: LoadOptions<RelationDefinition>,
): Promise<Loaded<StoredRelation>> {
  const total = store.log.last(id) - after
  let structure = made
  let replayedBytes = 0
  try {
    for await (const { batch, removed, compacts, position, bytes } of store.log.readAppends(id, after)) {
      stop?.throwIfAborted()
      if (compacts === true) {
        const fresh = await compactedRelation(device, definition.columns, structure)
        structure.destroy()
        structure = fresh
      } else (await structure.prepare(batch.rows === 0 ? [] : [batch], removed)).apply()
      replayedBytes += bytes
      onProgress({ index: definition.name, done: position - after, total })
    }
    return { structure, replayedBytes }
  } catch (error) {
    structure.destroy()
    throw error
  }
}

/** The checksum vouches that this is what `image` gave. */
function imageMeta(meta: unknown): StructureImage['meta'] {
  return meta as StructureImage['meta']
}
