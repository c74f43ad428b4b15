/** The in-process API: the engine without a server. */
export { type LoadCounts, LoadError, type LoadResult } from '../../protocol/load.js'
export type { LoadBatch, LoadOptions, LoadSource } from './bulk-load.js'
export { Engine, type EngineOptions, type EngineStats, type ServerStats } from './engine.js'
export type { ReplayProgress } from './index-loader.js'
export type {
  Cancellation,
  IndexScan,
  IndexWrite,
  LoadPart,
  WithPayloads,
  WriteId,
} from './index-requests.js'
export type { Index } from './named-index.js'
export type { PayloadColumns } from './payload-reader.js'
export type { PartReader, StructureFactory } from './structures.js'
