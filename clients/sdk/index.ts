export type { AbortSignalLike } from '../../protocol/abort-signal.js'
export { type ColumnType, type DecimalType, PLAIN_TYPES } from '../../protocol/column-types.js'
export type { CutColumn, KeyArray, KeyArrays } from '../../protocol/columns.js'
export { type ErrorCode, WarpdexError, type WarpdexErrorOptions } from '../../protocol/errors.js'
export type { ExpiryFigures } from '../../protocol/expiry.js'
export { LIMITS } from '../../protocol/limits.js'
export { type LoadCounts, LoadError, type LoadResult } from '../../protocol/load.js'
export type {
  JoinEstimate,
  JoinExplanation,
  QueryExplanation,
  SelectionExplanation,
  SelectionIndex,
  SelectionKernel,
} from '../../protocol/query/explanation.js'
export type { KeptRelation } from '../../protocol/query/keep.js'
export type { ColumnWidth, SelectionCosts, ShareCurve } from '../../protocol/query/selection-costs.js'
export type {
  Aggregate,
  ArithmeticOp,
  ComparisonOp,
  Expression,
  FunctionName,
  JoinAlgorithm,
  JoinKind,
  MatchKind,
  NamedExpression,
  QueryNode,
  ResultColumn,
  SetOperator,
  SortColumn,
  SortValue,
  TreeJoinKind,
} from '../../protocol/query/tree.js'
export type {
  ColumnDefinition,
  Lifetime,
  RelationDefinition,
  RelationInfo,
} from '../../protocol/relation.js'
export type { AppendedRows, ColumnValues, RelationBatch } from '../../protocol/relation-batch.js'
export type { ColumnInput, InputValue, RelationInput, RelationValue } from '../../protocol/relation-values.js'
export type { ClusterFigures, ClusterNode, NodePosition, ReplicaRole } from '../../protocol/replica.js'
export type {
  AdapterInfo,
  BackupInfo,
  IndexStats,
  OpenedIndex,
  RelationStats,
  ReplyFields,
  SnapshotFigures,
  SnapshotInfo,
} from '../../protocol/replies.js'
export type { RequestTimes, SlowRequest } from '../../protocol/slow-request.js'
export type {
  Allocation,
  Explanation,
  Layout,
  PartitionLevels,
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
  type IndexSource,
  type KeyType,
  type PayloadKind,
  type PlacedRange,
  ResultCode,
  type ScalarKeyType,
  type TupleKeyType,
  type VariableKeyType,
  type VariablePayloadKind,
} from '../../protocol/types.js'
export { arrowDefinition, toArrow } from './arrow.js'
export type { LoadBatch, LoadSource } from './bulk-load.js'
export type { CallOptions } from './call-options.js'
export {
  type CalibrationOptions,
  type Client,
  type CloseOptions,
  connect,
  type QueryOptions,
} from './client.js'
export type { ExpiryOptions, PutOptions } from './expiry.js'
export type { ImportFileOptions, ImportProgress } from './files/import-file.js'
export type { FixedBytes, FixedKind, IndexTypes, TupleType } from './index-types.js'
export type { KeyRange } from './key-ranges.js'
export type { Key, KeyEnd, KeyInput, KeyPrefix, Keys } from './keys.js'
export type {
  ConnectOptions,
  CreateIndexOptions,
  CreateOptions,
  DeleteManyOptions,
  DeleteOptions,
  DropOptions,
  FindOptions,
  GetManyOptions,
  IfExists,
  InsertManyOptions,
  InsertOptions,
  LoadOptions,
  NextManyOptions,
  NextOptions,
  PutManyOptions,
  ReconnectOptions,
} from './options.js'
export type { Blob, PayloadInput, PayloadsInput, PayloadToStore } from './payload-column.js'
export type { Position } from './position.js'
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
export type { TableInput, TableInputs } from './query/query-tables.js'
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
export type { DeleteItemOptions, Expected, InsertItemOptions, WriteBatch } from './write-batch.js'
export { BatchError } from './writes.js'
