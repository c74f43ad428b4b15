import type { ColumnType } from '../../../protocol/column-types.js'
import type { DeviceMemory } from '../../memory/page-run.js'
import type { RowNumbers } from '../query/fetch.js'
import type { QueryColumn } from '../query/query-column.js'
import type { StringDictionary } from '../string-dictionary.js'

export type ValueWords = 1 | 2 | 4

/** The WGSL type of a value of so many words. */
export function wgslType(words: ValueWords): 'u32' | 'vec2u' | 'vec4u' {
  return words === 1 ? 'u32' : `vec${words}u`
}

/** A value that generated code has computed for its row. */
export interface RowValue {
  readonly type: ColumnType
  /** Words of the value: WGSL has it as u32, vec2u or vec4u, the lowest word first. */
  readonly words: ValueWords
  /** WGSL without side effects. What stands there for a null, or for a fault that is no boolean, means nothing. */
  readonly value: string
  /** WGSL bool: whether it is not null; undefined where it never is. A fault is not null. */
  readonly valid: string | undefined
  /** WGSL bool: whether it is a fault, such as an overflow, which stands for anything; undefined where it never is. */
  readonly fault: string | undefined
  /** Of strings, by which they are numbered. */
  readonly dictionary: StringDictionary | undefined
}

/** States of a row's value. */
export const IS_VALUE = 1
export const IS_FAULT = 2

/** A column some of whose values may be faults. */
export interface FaultyColumn extends QueryColumn {
  /** In place of a validity, where there are faults: a word a row, 0 for a null. */
  readonly states?: DeviceMemory | undefined
}

/** A column as generated code reads it: as it is, or through numbers of rows. */
export interface RowColumn {
  readonly source: FaultyColumn
  readonly rows: RowNumbers | undefined
}
