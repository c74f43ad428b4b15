import type { ColumnType } from '../../protocol/column-types.js'
import type { IndexStructure } from '../index-structure.js'
import type { DeviceMemory } from '../memory/page-run.js'
import type { KeptFacts } from './order/column-facts.js'
import type { SampleKeeper } from './relation-sample.js'
import type { StringDictionary } from './string-dictionary.js'

/**
 * A column on the device.
 *
 * ```
 * values    | value: 1 or 2 words, the low one first | …    what a null has here is 0
 * validity  | bit r % 32 of word r / 32: row r has a value |    absent where all rows have one
 * ```
 * Integers and floats are as on the wire, not in an ordered form; strings are their numbers in `dictionary`.
 */
export interface DeviceColumnData {
  readonly type: ColumnType
  readonly values: DeviceMemory
  readonly validity: DeviceMemory | undefined
  /** Of strings only. */
  readonly dictionary: StringDictionary | undefined
}

/**
 * An index over columns of a relation: its keys are the values of one, or tuples of those of several, and its payloads numbers of rows. It holds
 * the rows of the relation in which none of the columns is null or NaN.
 */
export interface ColumnIndex {
  readonly name: string
  readonly columns: readonly string[]
  /**
   * Runs a task on it while it stays as it is and on the device; undefined, and nothing is run, where it could not be used at once: it has left the device, or is
   * being rebuilt. The task may be run twice, if the device had no room for it at first.
   */
  use<T>(task: (structure: IndexStructure) => Promise<T>): Promise<T> | undefined
}

/** The rows of a relation that were not deleted. */
export interface LiveRows {
  /** Bit r % 32 of word r / 32: row r is live. Bits behind the last row mean nothing. */
  readonly bits: DeviceMemory
  readonly count: number
}

/** Equally long columns on the device, by name, in the order of the relation's definition. */
export interface DeviceRelation {
  /** Those that were deleted included. */
  readonly rows: number
  /** Absent where no row was deleted. */
  readonly live?: LiveRows | undefined
  /** How often its rows have got other numbers; 0 unless given. */
  readonly numbering?: number
  readonly columns: ReadonlyMap<string, DeviceColumnData>
  /** Those that queries may use. */
  readonly indexes?: readonly ColumnIndex[]
  /** What is known of its values, if somebody keeps that. */
  readonly sample?: SampleKeeper
  readonly facts?: KeptFacts
}
