import { type ColumnType, DECIMAL_DIGITS, storageInRelation } from './column-types.js'
import {
  aligned,
  asBytes,
  columnOf,
  KEY_ARRAYS,
  type KeyArray,
  NO_VALUES,
  numberColumn,
  valuesOf,
} from './columns.js'
import { badRequest, type WarpdexError } from './errors.js'
import { type ColumnDefinition, type RelationDefinition, unknownColumn } from './relation.js'
import { type ColumnValues, compareBytes, hasValue, type RelationBatch } from './relation-batch.js'
import { isIterable, shown } from './shown.js'
import { hasLoneSurrogate } from './tuple-key.js'
import { dayOf, formatText, hasTexts, microsecondOf, parseText } from './value-texts.js'

/** One value of a column: integers of 64 bits are bigints, dates, timestamps and decimals texts, and null is a missing one. */
export type RelationValue = number | bigint | string | boolean | null

/** One value to store. A `Date` is a day or a moment, UTC; a decimal may be a number, too. */
export type InputValue = RelationValue | Date | undefined

/** Values to store: a typed array of what the column's are stored as (`storageInRelation`), or single values, among which null and undefined are missing ones. */
export type ColumnInput = KeyArray | readonly InputValue[]

/** Values to store, by column name. */
export type RelationInput = Readonly<Record<string, ColumnInput>>

/**
 * Values as a column of a batch.
 * @throws WarpdexError `BAD_REQUEST` that names column and row of a value that the column cannot hold
 */
function packColumn(input: ColumnInput, column: ColumnDefinition): ColumnValues {
  if (ArrayBuffer.isView(input)) return packArray(input, column)
  return packList(Array.from<InputValue>(input), column)
}

/** @param input without holes, which methods of arrays would pass over */
function packList(input: readonly InputValue[], column: ColumnDefinition): ColumnValues {
  const { type } = column
  const validity = validityOf(input, column)
  if (type === 'string') return { ...packStrings(input, column), validity }
  const storage = storageInRelation(type)
  const missing = storage === 'u64' || storage === 'i64' ? 0n : 0
  const stored = input.map((value) =>
    value === null || value === undefined ? missing : storedNumber(value, type),
  )
  const values = numberColumn(storage, stored, (row) => misfit(input[row], column, row))
  return { values: asBytes(values), validity }
}

/** What a value is stored as; undefined for one that the type does not have. */
function storedNumber(value: NonNullable<InputValue>, type: ColumnType): unknown {
  if (type === 'boolean') return typeof value === 'boolean' ? Number(value) : undefined
  if (!hasTexts(type)) return value
  const number = textNumber(value, type)
  return type === 'date' && number !== undefined ? Number(number) : number
}

function textNumber(value: NonNullable<InputValue>, type: ColumnType): bigint | undefined {
  if (value instanceof Date) {
    if (Number.isNaN(value.getTime())) return undefined
    return type === 'date' ? dayOf(value) : type === 'timestamp' ? microsecondOf(value) : undefined
  }
  const isNumber = typeof value === 'number' || typeof value === 'bigint'
  if (isNumber && (type === 'date' || type === 'timestamp')) return undefined
  return parseText(isNumber ? plainDigits(value) : String(value), type)
}

/** A number as a text without an exponent. */
function plainDigits(value: number | bigint): string {
  const text = String(value)
  return text.includes('e') ? Number(value).toFixed(DECIMAL_DIGITS) : text
}

function packArray(input: ArrayBufferView, column: ColumnDefinition): ColumnValues {
  const { type } = column
  const Stored = KEY_ARRAYS[storageInRelation(type)]
  if (type !== 'string' && input instanceof Object(Stored)) return { values: asBytes(input) }
  const right = type === 'string' ? 'an array of strings' : `a ${Stored.name} or an array`
  throw badRequest(
    `column ${JSON.stringify(column.name)} (${type}) takes ${right}, not a ${input.constructor.name}`,
  )
}

function validityOf(
  values: readonly InputValue[],
  { name, type, nullable }: ColumnDefinition,
): Uint8Array | undefined {
  let validity: Uint8Array | undefined
  values.forEach((value, row) => {
    if (value !== null && value !== undefined) return
    if (!nullable) {
      throw badRequest(
        `column ${JSON.stringify(name)} (${type}) has no value in row ${row}, and must have one`,
      )
    }
    validity ??= new Uint8Array(Math.ceil(values.length / 8)).fill(0xff)
    validity[row >> 3] &= ~(1 << (row & 7))
  })
  return validity
}

/** The different strings, ascending by their bytes, and the number of each row's. */
function packStrings(
  values: readonly InputValue[],
  column: ColumnDefinition,
): Pick<ColumnValues, 'values' | 'strings'> {
  const numbers = new Uint32Array(values.length)
  const known = new Map<string, number>()
  values.forEach((value, row) => {
    if (value === null || value === undefined) return
    if (typeof value !== 'string') throw misfit(value, column, row)
    const number = known.get(value) ?? known.size
    if (number === known.size) known.set(value, number)
    numbers[row] = number
  })
  const texts = inByteOrder([...known.keys()])
  const ranks = new Uint32Array(texts.length)
  texts.forEach((text, rank) => {
    ranks[known.get(text) ?? 0] = rank
  })
  for (let row = 0; row < numbers.length; row++) numbers[row] = ranks[numbers[row]] ?? 0
  return { values: asBytes(numbers), strings: columnOf(texts.map((text) => encodeText(text, column))) }
}

const encoder = new TextEncoder()
const decoder = new TextDecoder('utf-8', { ignoreBOM: true })

/** Texts in the order of their UTF-8. That of JavaScript's strings differs only from the surrogates on. */
function inByteOrder(texts: string[]): string[] {
  if (!texts.some((text) => /[\ud800-\uffff]/.test(text))) return texts.sort()
  return texts
    .map((text) => ({ text, bytes: encoder.encode(text) }))
    .sort(({ bytes: a }, { bytes: b }) => compareBytes(a, 0, a.length, b, 0, b.length))
    .map(({ text }) => text)
}

function encodeText(text: string, { name }: ColumnDefinition): Uint8Array {
  if (!hasLoneSurrogate(text)) return encoder.encode(text)
  throw badRequest(
    `column ${JSON.stringify(name)} has a string with half of a surrogate pair, which UTF-8 cannot hold`,
  )
}

function misfit(value: InputValue, { name, type }: ColumnDefinition, row: number): WarpdexError {
  return badRequest(
    `row ${row} of column ${JSON.stringify(name)} has ${shown(value)}, which is not of type ${type}${hint(type)}`,
  )
}

/** How values are written that are texts in programs. */
function hint(type: ColumnType): string {
  if (type === 'date') return ', such as "1998-09-02"'
  if (type === 'timestamp') return ', such as "1998-09-02T12:00:00Z"'
  return hasTexts(type) ? ', such as "19.04": it has more digits, or is not a number' : ''
}

/** The values of a column, one a row. */
export function unpackColumn({ values, validity, strings }: ColumnValues, type: ColumnType): RelationValue[] {
  if (type === 'string') {
    const texts = valuesOf(strings ?? NO_VALUES).map((text) => decoder.decode(text.slice()))
    return Array.from(aligned(values, Uint32Array), (number, row) =>
      hasValue(validity, row) ? (texts[number] ?? null) : null,
    )
  }
  const numbers = aligned<ArrayLike<number | bigint>>(values, KEY_ARRAYS[storageInRelation(type)])
  return Array.from(numbers, (number, row) => (hasValue(validity, row) ? shownValue(number, type) : null))
}

function shownValue(number: number | bigint, type: ColumnType): RelationValue {
  if (type === 'boolean') return number !== 0
  return hasTexts(type) ? formatText(BigInt(number), type) : number
}

/**
 * Rows as a batch.
 * @param input values by column name; those of nullable columns may be missing
 * @throws WarpdexError `BAD_REQUEST` as `inputRows` and `packColumn`
 */
export function packBatch(input: RelationInput, definition: RelationDefinition): RelationBatch {
  const rows = inputRows(input, definition)
  const columns = definition.columns.flatMap((column): [string, ColumnValues][] =>
    Object.hasOwn(input, column.name) ? [[column.name, packColumn(input[column.name], column)]] : [],
  )
  return { rows, columns: new Map(columns) }
}

/**
 * How many rows values are.
 * @throws WarpdexError `BAD_REQUEST` for an unknown column, and where columns are no arrays, or of different lengths
 */
export function inputRows(input: RelationInput, definition: RelationDefinition): number {
  if (typeof input !== 'object' || input === null || isIterable(input)) {
    const [column] = definition.columns
    throw badRequest(`rows come as values by column, as in { ${column?.name}: […] }, not ${shown(input)}`)
  }
  const columns = Object.entries(input)
  const known = new Set(definition.columns.map(({ name }) => name))
  for (const [name, values] of columns) {
    if (!known.has(name)) throw unknownColumn(name, definition)
    if (Array.isArray(values) || isTypedArray(values)) continue
    throw badRequest(`column ${JSON.stringify(name)} takes an array or a typed array of values, one per row`)
  }
  const [first] = columns
  if (first === undefined) return 0
  const rows = first[1].length
  const other = columns.find(([, values]) => values.length !== rows)
  if (other === undefined) return rows
  throw badRequest(
    `column ${JSON.stringify(first[0])} has ${rows} rows, column ${JSON.stringify(other[0])} ${other[1].length}; all need as many`,
  )
}

function isTypedArray(values: unknown): boolean {
  return ArrayBuffer.isView(values) && 'length' in values
}
