import {
  type ColumnType,
  columnWords,
  DECIMAL_DIGITS,
  decimalShape,
  PLAIN_TYPES,
  parseColumnType,
  RESULT_DIGITS,
} from '../../../protocol/column-types.js'

/** How DuckDB has the values of a column: its type, and the bytes of each in a vector. */
interface DuckType {
  readonly sql: string
  readonly bytes: number
}

/** Of each type the DuckDB type whose vectors hold the words that the column has; a boolean's byte becomes a word. */
const DUCK_TYPES: Readonly<Record<(typeof PLAIN_TYPES)[number], DuckType>> = {
  u32: { sql: 'UINTEGER', bytes: 4 },
  i32: { sql: 'INTEGER', bytes: 4 },
  u64: { sql: 'UBIGINT', bytes: 8 },
  i64: { sql: 'BIGINT', bytes: 8 },
  f32: { sql: 'FLOAT', bytes: 4 },
  string: { sql: 'VARCHAR', bytes: 16 },
  boolean: { sql: 'BOOLEAN', bytes: 1 },
  f64: { sql: 'DOUBLE', bytes: 8 },
  date: { sql: 'DATE', bytes: 4 },
  timestamp: { sql: 'TIMESTAMP', bytes: 8 },
}

export function duckType(type: ColumnType): DuckType {
  const plain = PLAIN_TYPES.find((candidate) => candidate === type)
  if (plain !== undefined) return DUCK_TYPES[plain]
  // Vectors of decimals of fewer digits have narrower values. Parquet has no integers of 128 bits.
  const bytes = valueBytes(type)
  const digits = bytes === 16 ? RESULT_DIGITS : DECIMAL_DIGITS
  return { sql: `DECIMAL(${digits},${decimalShape(type)?.scale ?? 0})`, bytes }
}

/** What a file's column becomes. */
interface FileType {
  readonly type: ColumnType
  /** What values may lose on the way; a person has to choose that. */
  readonly loses?: string
}

/** Of each type that DuckDB finds in files the narrowest column that holds its values, or the nearest. */
const FILE_TYPES: Readonly<Record<string, FileType>> = {
  BOOLEAN: { type: 'boolean' },
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
  DOUBLE: { type: 'f64' },
  VARCHAR: { type: 'string' },
  UUID: { type: 'string' },
  TIME: { type: 'string' },
  DATE: { type: 'date' },
  TIMESTAMP: { type: 'timestamp' },
  TIMESTAMP_S: { type: 'timestamp' },
  TIMESTAMP_MS: { type: 'timestamp' },
  TIMESTAMP_NS: { type: 'timestamp', loses: 'nanoseconds' },
  'TIMESTAMP WITH TIME ZONE': { type: 'timestamp', loses: 'time zones, and is UTC' },
}

/** What becomes of a column that DuckDB describes so. */
export function fileType(sql: string): FileType {
  if (sql.startsWith('DECIMAL')) {
    const type = parseColumnType(sql.toLowerCase())
    return type === undefined ? { type: 'f64', loses: 'digits past the fifteenth' } : { type }
  }
  if (sql.startsWith('ENUM')) return { type: 'string' }
  return FILE_TYPES[sql] ?? { type: 'string', loses: 'its structure, and is text' }
}

const WHOLE = /^U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?$/

/**
 * As what a column of a text file is read, of which DuckDB has found the type: never rounded to a whole number or to fewer digits, nor a number
 * past the range of FLOAT to infinity.
 * @param isExact whether a value that is not a number must fail while it is read, so that its line can be skipped; that takes twenty times as long
 */
export function readType(type: ColumnType, found: string, isExact: boolean): string {
  const { sql } = duckType(type)
  if (found === 'BOOLEAN' && type !== 'string') return found
  if (sql === 'FLOAT') return 'DOUBLE'
  if (!isNumber(sql) || (WHOLE.test(sql) && WHOLE.test(found))) return sql
  return isExact ? EXACT : 'VARCHAR'
}

/** An expression of DuckDB that has a column's values as the type holds them, or is an error that says which it does not hold. */
export function converted(expression: string, name: string, type: ColumnType, found: string): string {
  if (found !== 'VARCHAR') return convertedNumber(expression, name, type, found)
  const { sql } = duckType(type)
  if (!isNumber(sql)) return convertedNumber(expression, name, type, found)
  // Few texts have digits that could be lost: only those become numbers that hold all digits first.
  const exact = convertedNumber(`cast(${expression} as ${EXACT})`, name, type, EXACT)
  const shape = decimalShape(type)
  const own = shape === undefined ? sql : `DECIMAL(${shape.precision},${shape.scale})`
  const point = `instr(${expression}, '.')`
  const hasMoreDigits =
    shape === undefined ? `${point} > 0` : `${point} between 1 and strlen(${expression}) - ${shape.scale + 1}`
  const isRisky = `${hasMoreDigits} or contains(${expression}, 'e') or contains(${expression}, 'E')`
  return `if(${isRisky}, ${exact}, cast(cast(${expression} as ${own}) as ${sql}))`
}

/** A type that holds more digits than any column. */
const EXACT = 'DECIMAL(38,18)'

function isNumber(sql: string): boolean {
  return WHOLE.test(sql) || sql.startsWith('DECIMAL')
}

function convertedNumber(expression: string, name: string, type: ColumnType, found: string): string {
  const { sql } = duckType(type)
  const shape = decimalShape(type)
  if (shape !== undefined) {
    const exact = `cast(${expression} as DECIMAL(${shape.precision},${shape.scale}))`
    return checked(expression, exact, `cast(${exact} as ${sql})`, `column ${name} is not of type ${type}`)
  }
  const cast = found === sql ? expression : `cast(${expression} as ${sql})`
  if (!WHOLE.test(sql) || !/^(DECIMAL|DOUBLE|FLOAT)/.test(found)) return cast
  return checked(expression, cast, cast, `column ${name} is not a whole number`)
}

/** A result for a value that a conversion leaves as it is; else an error that shows the value. */
function checked(value: string, conversion: string, result: string, problem: string): string {
  const text = `' in ${problem.replaceAll("'", "''")}'`
  return `if(${conversion} = ${value}, ${result}, if(${value} is null, null, error(${value}::varchar || ${text})))`
}

/** Bytes of a value in a column. */
export function valueBytes(type: ColumnType): number {
  return columnWords(type) * 4
}
