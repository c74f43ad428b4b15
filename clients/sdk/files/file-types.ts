import type { ValueType } from '../../../protocol/query/tree.js'
import { type ColumnType, columnWords } from '../../../protocol/relation.js'

/** How DuckDB has the values of a column: its type, and the bytes of each in a vector. */
interface DuckType {
  readonly sql: string
  readonly bytes: number
}

/** Of each type the DuckDB type whose vectors hold the words that the column has; a boolean's byte becomes a word. */
const DUCK_TYPES: Readonly<Record<ValueType, DuckType>> = {
  u32: { sql: 'UINTEGER', bytes: 4 },
  i32: { sql: 'INTEGER', bytes: 4 },
  u64: { sql: 'UBIGINT', bytes: 8 },
  i64: { sql: 'BIGINT', bytes: 8 },
  f32: { sql: 'FLOAT', bytes: 4 },
  string: { sql: 'VARCHAR', bytes: 16 },
  boolean: { sql: 'BOOLEAN', bytes: 1 },
}

export function duckType(type: ValueType): DuckType {
  return DUCK_TYPES[type]
}

/** What a file's column becomes. */
interface FileType {
  readonly type: ColumnType
  /** What values may lose on the way; a person has to choose that. */
  readonly loses?: string
}

/** Of each type that DuckDB finds in files the narrowest column that holds its values, or the nearest. */
const FILE_TYPES: Readonly<Record<string, FileType>> = {
  BOOLEAN: { type: 'u32' },
  TINYINT: { type: 'i32' },
  SMALLINT: { type: 'i32' },
  INTEGER: { type: 'i32' },
  UTINYINT: { type: 'u32' },
  USMALLINT: { type: 'u32' },
  UINTEGER: { type: 'u32' },
  BIGINT: { type: 'i64' },
  UBIGINT: { type: 'u64' },
  HUGEINT: { type: 'i64', loses: 'numbers of more than 64 bits' },
  UHUGEINT: { type: 'u64', loses: 'numbers of more than 64 bits' },
  FLOAT: { type: 'f32' },
  DOUBLE: { type: 'f32', loses: 'digits past the seventh' },
  VARCHAR: { type: 'string' },
  UUID: { type: 'string' },
  TIME: { type: 'string' },
  DATE: { type: 'string' },
  TIMESTAMP: { type: 'string' },
  TIMESTAMP_S: { type: 'string' },
  TIMESTAMP_MS: { type: 'string' },
  TIMESTAMP_NS: { type: 'string' },
  'TIMESTAMP WITH TIME ZONE': { type: 'string', loses: 'time zones, and is UTC' },
}

/** What becomes of a column that DuckDB describes so. */
export function fileType(sql: string): FileType {
  if (sql.startsWith('DECIMAL')) return { type: 'f32', loses: 'digits past the seventh' }
  if (sql.startsWith('ENUM')) return { type: 'string' }
  return FILE_TYPES[sql] ?? { type: 'string', loses: 'its structure, and is text' }
}

const WHOLE = /^U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?$/

/**
 * As what a column of a text file is read, of which DuckDB has found the type: never rounded to a whole number, nor a number past the range of
 * FLOAT to infinity.
 */
export function readType(type: ColumnType, found: string): string {
  const { sql } = DUCK_TYPES[type]
  if (found === 'BOOLEAN' && type !== 'string') return found
  if (sql === 'FLOAT') return 'DOUBLE'
  return WHOLE.test(sql) && !WHOLE.test(found) ? 'DECIMAL(38,18)' : sql
}

/** An expression of DuckDB that has a column's values as the type holds them, or is an error that says which it does not hold. */
export function converted(expression: string, name: string, type: ColumnType, found: string): string {
  const { sql } = DUCK_TYPES[type]
  const cast = found === sql ? expression : `cast(${expression} as ${sql})`
  if (!WHOLE.test(sql) || !/^(DECIMAL|DOUBLE|FLOAT)/.test(found)) return cast
  const problem = `' in column ${name.replaceAll("'", "''")} is no whole number'`
  return `if(${cast} = ${expression}, ${cast}, if(${expression} is null, null, error(${expression}::varchar || ${problem})))`
}

/** Bytes of a value in a column. */
export function valueBytes(type: ColumnType): number {
  return columnWords(type) * 4
}
