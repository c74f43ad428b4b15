export { type ColumnType, PLAIN_TYPES } from '../../protocol/column-types.js'
export type { KeyArray, KeyArrays } from '../../protocol/columns.js'
export { type ErrorCode, WarpdexError } from '../../protocol/errors.js'
export { LIMITS } from '../../protocol/limits.js'
export { type LoadCounts, LoadError, type LoadResult } from '../../protocol/load.js'
export type {
  JoinExplanation,
  QueryExplanation,
  SelectionExplanation,
} from '../../protocol/query/explanation.js'
export type { KeptRelation } from '../../protocol/query/keep.js'
export type { JoinAlgorithm, JoinKind, QueryNode, SortColumn, SortValue } from '../../protocol/query/tree.js'
export type {
  ColumnDefinition,
  Lifetime,
  RelationDefinition,
  RelationInfo,
} from '../../protocol/relation.js'
export type { AppendedRows } from '../../protocol/relation-batch.js'
export type { ColumnInput, RelationInput, RelationValue } from '../../protocol/relation-values.js'
export type {
  AdapterInfo,
  IndexStats,
  RelationStats,
  ReplyFields,
  SnapshotInfo,
} from '../../protocol/replies.js'
export type {
  Allocation,
  Explanation,
  Layout,
  Resolution,
  ResultTableRow,
  ResultTables,
  Strategy,
  Traversal,
  TraversalCost,
  TreeLayout,
} from '../../protocol/traversal.js'
export type { TraversalOptions } from '../../protocol/traversal-options.js'
export type { ScalarKey } from '../../protocol/tuple-key.js'
export {
  type FixedKeyType,
  type IndexDefinition,
  type KeyType,
  type PayloadKind,
  ResultCode,
  type ScalarKeyType,
  type TupleKeyType,
  type VariableKeyType,
} from '../../protocol/types.js'
export { arrowDefinition, toArrow } from './arrow.js'
export type { LoadBatch, LoadOptions, LoadSource } from './bulk-load.js'
export type { CallOptions } from './call-options.js'
export { type Client, connect } from './client.js'
export type { ImportFileOptions, ImportProgress } from './files/import-file.js'
export type { FixedKind, IndexTypes, TupleType } from './index-types.js'
export type { KeyRange } from './key-ranges.js'
export type { Key, KeyEnd, KeyInput, KeyPrefix, Keys } from './keys.js'
export type { ConnectOptions, CreateOptions, FindOptions, IfExists, ReconnectOptions } from './options.js'
export type { Blob, PayloadInput, PayloadsInput, PayloadToStore } from './payload-column.js'
export {
  type Columns,
  descending,
  type JoinOptions,
  Query,
  relation,
  type SetOptions,
} from './query/query.js'
export type { Cell, CellArray, QueryBatch, ResultVector } from './query/query-batch.js'
export type { QueryResult } from './query/query-result.js'
export type { SqlValue, SqlValues } from './query/sql.js'
export {
  type AggregateValue,
  and,
  avg,
  coalesce,
  col,
  concat,
  constant,
  count,
  distinct,
  first,
  max,
  median,
  min,
  type Operand,
  or,
  stddev,
  sum,
  Value,
  variance,
  when,
} from './query/value.js'
export type { RangeEntry, Ranges, RangesOptions, RangesPage } from './range-scan.js'
export type { Index } from './remote-index.js'
export type {
  ReadOptions,
  Relation,
  RelationRows,
  RowBatch,
  RowFilter,
  RowUpdate,
} from './remote-relation.js'
export type {
  Entries,
  GetAllResult,
  GetResult,
  JsonValue,
  KeysPage,
  KeyVector,
  NextEntry,
  NextResult,
  Payload,
  PayloadArray,
  Payloads,
  ScanEntry,
  ScanPage,
  StoredKeys,
  ValuesPage,
} from './results.js'
export type { FirstPage, Scan, ScanOptions } from './scan.js'
export type { ReadAtOptions, Snapshot, SnapshotOptions } from './snapshot.js'
export type { Change, ChangeBatch, DeletedRange, WatchOptions } from './watch.js'
export type { Expected, WriteBatch } from './write-batch.js'
export { BatchError } from './writes.js'
