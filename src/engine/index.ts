/// <reference types="@webgpu/types" preserve="true" />
/** The in-process API: the engine without a server. */

export type {
  ReadColumns,
  ReadOp,
  ReadOptions,
  ReadRequest,
  ReadResults,
} from '../../gpu/index-structure.js'
export type { DeviceRelation } from '../../gpu/relational/device-relation.js'
export type { Column } from '../../protocol/columns.js'
export { type LoadCounts, LoadError, type LoadResult } from '../../protocol/load.js'
export type { ColumnDefinition, RelationDefinition, RelationInfo } from '../../protocol/relation.js'
export type { AppendedRows, ColumnValues, RelationBatch } from '../../protocol/relation-batch.js'
export { packBatch, unpackColumn } from '../../protocol/relation-values.js'
export type { LoadBatch, LoadOptions, LoadSource } from './bulk-load.js'
export type { CreatedIndex } from './catalog.js'
export type { Clock } from './clock.js'
export { Engine } from './engine.js'
export type { EngineOptions } from './engine-options.js'
export type { EngineStats, ServerStats } from './engine-stats.js'
export type { RelationIndexDefinition } from './index-definitions.js'
export type { Cancellation, IndexWrite, LoadPart, WriteId } from './index-requests.js'
export type { ReplayProgress } from './loader.js'
export type { Index } from './named-index.js'
export type { Relation, RelationFacts } from './named-relation.js'
export type { ReadRows } from './relation-reader.js'
export type { StructureFactory } from './structures.js'
