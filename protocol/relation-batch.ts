import { columnWords } from './column-types.js'
import { aligned, asBytes, type CutColumn, columnBytes, countOf, NO_VALUES } from './columns.js'
import { badRequest, WarpdexError } from './errors.js'
import { LIMITS } from './limits.js'
import { type ColumnDefinition, type RelationDefinition, unknownColumn } from './relation.js'
import { areUtf8 } from './utf8.js'

/** Values of one column, one a row. */
export interface ColumnValues {
  /** Little-endian, as a typed array of the column's type lies in memory; of strings their u32 numbers in `strings`. */
  readonly values: Uint8Array
  /** Bit i % 8 of byte i >> 3 is set where row i has a value; absent where all rows have one. */
  readonly validity?: Uint8Array | undefined
  /** Of string columns only: different strings, ascending by their bytes. */
  readonly strings?: CutColumn | undefined
}

/** Rows in columns. */
export interface RelationBatch {
  readonly rows: number
  readonly columns: ReadonlyMap<string, ColumnValues>
}

/** Bytes of a batch's columns. */
export function batchBytes({ columns }: RelationBatch): number {
  let bytes = 0
  for (const { values, validity, strings } of columns.values()) {
    bytes += values.byteLength + (validity?.byteLength ?? 0)
    if (strings !== undefined) bytes += columnBytes(strings)
  }
  return bytes
}

/** Where the rows of an append lie within their relation. */
export interface AppendedRows {
  readonly first: number
  readonly rows: number
}

/**
 * Checks a batch against its relation, and brings it into the one form that is stored: columns in the order of the definition, no
 * validity where all rows have a value, and zeros for what is missing. A nullable column that is absent is null in all rows.
 *
 * @throws WarpdexError `BAD_REQUEST` that names the column, `TOO_LARGE`
 */
export function settleBatch({ rows, columns }: RelationBatch, definition: RelationDefinition): RelationBatch {
  if (rows > LIMITS.batchItems) {
    throw new WarpdexError('TOO_LARGE', `a batch has ${rows} rows; ${LIMITS.batchItems} are allowed`)
  }
  const known = new Map(definition.columns.map((column) => [column.name, column]))
  for (const name of columns.keys()) if (!known.has(name)) throw unknownColumn(name, definition)
  const settled = definition.columns.map((column) => {
    const given = columns.get(column.name) ?? absent(column, rows)
    return [column.name, settleColumn(given, column, rows)] as const
  })
  return { rows, columns: new Map(settled) }
}

function absent(column: ColumnDefinition, rows: number): ColumnValues {
  if (!column.nullable && rows > 0)
    throw badRequest(`${title(column)} is missing, and must have a value in every row`)
  return {
    values: new Uint8Array(rows * columnWords(column.type) * 4),
    validity: new Uint8Array(Math.ceil(rows / 8)),
    ...(column.type === 'string' ? { strings: NO_VALUES } : {}),
  }
}

function settleColumn(given: ColumnValues, column: ColumnDefinition, rows: number): ColumnValues {
  const width = columnWords(column.type) * 4
  const { byteLength } = given.values
  if (byteLength !== rows * width) {
    throw badRequest(`${title(column)} has ${byteLength} bytes of values; ${rows} rows take ${rows * width}`)
  }
  const validity = given.validity && settleValidity(given.validity, column, rows)
  const values = validity === undefined ? given.values : withoutNulls(given.values, validity, rows, width)
  if (column.type !== 'string') {
    if (given.strings !== undefined) throw badRequest(`${title(column)} takes no strings`)
    return { values, validity }
  }
  if (given.strings === undefined) throw badRequest(`${title(column)} needs strings that its values number`)
  checkStrings(given.strings, column)
  const strings = countOf(given.strings)
  checkNumbers(aligned(values, Uint32Array), strings, validity, column)
  return { values, validity, strings: given.strings }
}

/** A bitmap without bits past its end; undefined if all rows have values. */
function settleValidity(given: Uint8Array, column: ColumnDefinition, rows: number): Uint8Array | undefined {
  const bytes = Math.ceil(rows / 8)
  if (given.byteLength !== bytes) {
    throw badRequest(`${title(column)} has ${given.byteLength} bytes of validity; ${rows} rows take ${bytes}`)
  }
  const hole = firstNull(given, rows)
  if (hole === undefined) return undefined
  if (!column.nullable) throw badRequest(`${title(column)} has no value in row ${hole}, and must have one`)
  if (rows % 8 === 0) return given
  const validity = given.slice()
  validity[bytes - 1] &= (1 << (rows % 8)) - 1
  return validity
}

function firstNull(validity: Uint8Array, rows: number): number | undefined {
  let byte = 0
  while (byte < validity.length && validity[byte] === 0xff) byte++
  for (let row = byte * 8; row < rows; row++) if (!hasValue(validity, row)) return row
  return undefined
}

/** Whether a row has a value, by a bitmap as in `ColumnValues`. */
export function hasValue(validity: Uint8Array | undefined, row: number): boolean {
  return validity === undefined || ((validity[row >> 3] >> (row & 7)) & 1) === 1
}

/** A copy of the values with zeros where there are none. */
function withoutNulls(values: Uint8Array, validity: Uint8Array, rows: number, width: number): Uint8Array {
  const copy = values.slice()
  const words = new Uint32Array(copy.buffer)
  const perRow = width / 4
  for (let byte = 0; byte < validity.length; byte++) {
    if (validity[byte] === 0xff) continue
    const end = Math.min(rows, byte * 8 + 8)
    for (let row = byte * 8; row < end; row++) {
      if (!hasValue(validity, row)) words.fill(0, row * perRow, (row + 1) * perRow)
    }
  }
  return asBytes(words)
}

function checkStrings({ bytes, offsets }: CutColumn, column: ColumnDefinition): void {
  if (offsets.length === 0 || offsets[0] !== 0 || offsets.at(-1) !== bytes.byteLength) {
    throw badRequest(`the offsets of ${title(column)} must go from 0 to the end of its strings`)
  }
  for (let i = 1; i < offsets.length; i++) {
    const length = offsets[i] - offsets[i - 1]
    if (length < 0) throw badRequest(`the offsets of ${title(column)} must not descend, as they do at ${i}`)
    if (length <= LIMITS.stringBytes) continue
    throw new WarpdexError(
      'TOO_LARGE',
      `string ${i - 1} of ${title(column)} has ${length} bytes; ${LIMITS.stringBytes} are allowed`,
    )
  }
  if (!areUtf8(bytes, offsets)) throw badRequest(`the strings of ${title(column)} are not UTF-8`)
  for (let i = 2; i < offsets.length; i++) {
    if (compareBytes(bytes, offsets[i - 2], offsets[i - 1], bytes, offsets[i - 1], offsets[i]) < 0) continue
    throw badRequest(
      `the strings of ${title(column)} must differ and ascend by their bytes; number ${i - 1} does not`,
    )
  }
}

function checkNumbers(
  numbers: Uint32Array,
  strings: number,
  validity: Uint8Array | undefined,
  column: ColumnDefinition,
): void {
  for (let row = 0; row < numbers.length; row++) {
    if (numbers[row] < strings || !hasValue(validity, row)) continue
    throw badRequest(`row ${row} of ${title(column)} has string ${numbers[row]}; there are ${strings}`)
  }
}

/** Less than 0 where bytes `from` to before `to` of a come before those of b. */
export function compareBytes(
  a: Uint8Array,
  from: number,
  to: number,
  b: Uint8Array,
  otherFrom: number,
  otherTo: number,
): number {
  const shared = Math.min(to - from, otherTo - otherFrom)
  for (let i = 0; i < shared; i++) {
    const difference = a[from + i] - b[otherFrom + i]
    if (difference !== 0) return difference
  }
  return to - from - (otherTo - otherFrom)
}

function title({ name, type }: ColumnDefinition): string {
  return `column ${JSON.stringify(name)} (${type})`
}
