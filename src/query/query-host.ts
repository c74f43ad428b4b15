import type { Device } from '../../gpu/device/device.js'
import type { DeviceRelation } from '../../gpu/relational/device-relation.js'
import type { StoredRelation } from '../../gpu/relational/stored/stored-relation.js'
import type { ResultColumn } from '../../protocol/query/tree.js'
import type { RelationDefinition } from '../../protocol/relation.js'

/** Who reads a result, and whether it still wants to. */
export interface QueryReader {
  readonly cancelled: boolean
  /** Told that the turn of the query's relations has come. */
  turnCame?(): void
  /** Nobody else may go on with what it began. */
  readonly owner?: unknown
  /** Refuses, by throwing, a relation that it may not read; asked before anything is told of the relation. */
  authorise?(relation: string): void
  /** Whether it may be told of an index; of all of them if this is absent. */
  maySee?(index: string): boolean
  /** Refuses, by throwing, a kept result that it may not replace. */
  authoriseReplace?(name: string): void
}

/** Where results are kept. */
export interface ResultStore {
  /**
   * Refuses a name that no result may be kept under at the moment.
   * @throws WarpdexError `RELATION_EXISTS`, `TOO_LARGE`, `SHUTTING_DOWN`, what `reader.authoriseReplace` throws
   */
  refuse(name: string, reader: QueryReader): void
  /**
   * Takes a result over, in place of a former one of its name.
   * @param device that it lies on
   * @param sources names of the relations that it was made of, which stay as they are meanwhile
   * @throws WarpdexError as `refuse`, and `DEVICE_LOST`; then the result is the caller's still
   */
  put(
    definition: RelationDefinition,
    seconds: number,
    result: StoredRelation,
    device: Device,
    reader: QueryReader,
    sources: readonly string[],
  ): Promise<void>
}

/** What queries need of their engine. */
export interface QueryHost {
  /** @throws WarpdexError `UNKNOWN_RELATION` */
  columnsOf(relation: string): readonly ResultColumn[]
  /** Runs a task on relations that stay as they are, and on the device, meanwhile. It may run the task twice. */
  useRelations<T>(
    names: readonly string[],
    run: (relations: ReadonlyMap<string, DeviceRelation>) => Promise<T>,
    reader?: QueryReader,
  ): Promise<T>
  device(): Promise<Device>
  /** Told of a device on which a selection has run that is large enough for the costs of its plans to matter. */
  onLargeSelection?(device: Device): void
  readonly results: ResultStore
}
