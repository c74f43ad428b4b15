import type { Column } from '../protocol/columns.js'
import type { Traversal } from '../protocol/traversal.js'
import type { Recorder } from './device/recorder.js'
import type { TraversalPlan } from './index/partitions/locator.js'
import type { Batch } from './index/partitions/traversal-costs.js'
import type { GetColumns } from './index/read/get.js'
import type { RecordedGetAll } from './index/read/get-all.js'
import type { OwnKeys } from './index/read/own-keys.js'
import type { ScanColumns } from './index/read/scan-result.js'
import type { ReadColumns } from './index-structure.js'
import type { KeyColumn } from './keys/key-column.js'
import type { DeviceMemory } from './memory/page-run.js'
import type { Scratch } from './memory/scratch.js'

/** Ranges whose ends belong to them. */
export interface InclusiveRanges extends Pick<ReadColumns, 'from' | 'to'> {
  readonly ranges: number
  readonly limit: number
}

/** Records reads of a tree whose answers stay on the device. The tree has keys. */
export interface TreeReads {
  /** Payloads that it holds. */
  readonly payloads: number
  /** Whether entries of a range are found side by side, and not by a thread that goes from one to the next. */
  readonly scansWide: boolean
  /** Keys as on the wire, ready to be looked for. */
  queries(recorder: Recorder, scratch: Scratch, keys: Column): KeyColumn
  /**
   * How the keys of a batch are to be found; undefined down from the root.
   * @param traversal what the request names
   */
  plan(batch: Batch, traversal: Traversal | undefined): Promise<TraversalPlan | undefined> | undefined
  /** The first payload of each key. */
  get(recorder: Recorder, scratch: Scratch, columns: GetColumns, plan: TraversalPlan | undefined): void
  /** The number of payloads of each key, a word a key; of a shard for its own keys. */
  count(recorder: Recorder, queries: KeyColumn, counts: DeviceMemory, count: number, own?: OwnKeys): void
  /** All payloads, `limit` at most. */
  getAll(
    recorder: Recorder,
    scratch: Scratch,
    queries: KeyColumn,
    count: number,
    limit: number,
  ): RecordedGetAll
  /**
   * The entries of each range, both of whose ends belong to it, in columns that hold a part of them each. Where a column's `more` is not 0 the
   * range has over `limit` entries in it; there must be room for `limit` of each range.
   */
  scan(recorder: Recorder, scratch: Scratch, request: InclusiveRanges): readonly ScanColumns[]
}

/** Keys in the order of the trees that they belong to. */
export interface DividedKeys {
  readonly keys: KeyColumn
  /** Number in the batch of each of them. */
  readonly positions: DeviceMemory
  /** Where the keys of each tree start, and the number of all. */
  readonly starts: Uint32Array
}

/** What reads an index on the device: trees over neighbouring ranges of keys, one unless it is cut into shards. */
export interface DeviceReads {
  /** Undefined stands for a tree without keys. */
  readonly trees: readonly (TreeReads | undefined)[]
  /** Divides keys that are on the device among the trees; waits for how many each has. Columns are scratch buffers. */
  divide(scratch: Scratch, keys: KeyColumn, count: number): Promise<DividedKeys>
  /** Records a copy of one tree's keys. */
  part(recorder: Recorder, scratch: Scratch, divided: DividedKeys, tree: number): Promise<KeyColumn>
}

/** Payloads that an index holds. */
export function payloadsOf({ trees }: DeviceReads): number {
  return trees.reduce((sum, tree) => sum + (tree?.payloads ?? 0), 0)
}
