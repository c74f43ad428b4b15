import type { Data, DataType, Decimal, Dictionary, Field, Float, Int, Timestamp, Vector } from 'apache-arrow'
import { type ColumnType, parseColumnType, storageInRelation } from '../../protocol/column-types.js'
import { KEY_ARRAYS, type KeyArray } from '../../protocol/columns.js'
import { badRequest } from '../../protocol/errors.js'
import type { ResultColumn } from '../../protocol/query/tree.js'
import type { ColumnDefinition, RelationDefinition } from '../../protocol/relation.js'
import type { RelationBatch } from '../../protocol/relation-batch.js'
import type { ColumnInput, RelationInput, RelationValue } from '../../protocol/relation-values.js'
import { shown } from '../../protocol/shown.js'
import { formatText, hasTexts } from '../../protocol/value-texts.js'
import type { Arrow, RecordBatch, Schema, Table } from './arrow-types.js'
import { checkName } from './call-options.js'

/** Arrow's numbers of types, which are part of its format. */
const ARROW = {
  dictionary: -1,
  int: 2,
  float: 3,
  utf8: 5,
  bool: 6,
  decimal: 7,
  date: 8,
  timestamp: 10,
  largeUtf8: 20,
} as const
/** Arrow's numbers of a float's and a date's units, and by that of a timestamp the microseconds of one. */
const DOUBLE = 2
const DAYS = 0
const MICROSECONDS = 2
const DAY_MILLISECONDS = 86_400_000n

/**
 * The package, which is loaded when it is asked for.
 * @throws WarpdexError `BAD_REQUEST` that says how to install it
 */
export async function loadArrow(): Promise<Arrow> {
  try {
    return await import('apache-arrow')
  } catch (cause) {
    const { installCommand } = await import('../../protocol/optional-packages.js')
    throw badRequest(`this needs the package apache-arrow: ${installCommand('apache-arrow')}`, { cause })
  }
}

/**
 * The columns of an Arrow table or record batch, to be appended to a relation.
 * @throws WarpdexError `BAD_REQUEST` for a column that the relation lacks, or whose type it cannot take
 */
export function arrowInput(source: Table | RecordBatch, definition: RelationDefinition): RelationInput {
  if (!isSchema(source?.schema) || typeof source.getChild !== 'function') {
    throw badRequest(`appendArrow takes an Arrow table or record batch, not ${shown(source)}`)
  }
  // What the relation lacks is refused with its other columns.
  const input = new Map<string, ColumnInput>(source.schema.fields.map(({ name }) => [name, []]))
  for (const column of definition.columns) {
    const vector = source.getChild(column.name)
    if (vector !== null) input.set(column.name, inputOf(vector, column))
  }
  return Object.fromEntries(input)
}

/**
 * A relation with the columns of an Arrow schema: integers of up to 32 bits become u32 or i32, dates date, timestamps timestamp, decimals of up to 18 digits
 * such, and texts, also by dictionary, string.
 * @throws WarpdexError `BAD_REQUEST` for other types
 */
export function arrowDefinition(name: string, schema: Schema): RelationDefinition {
  checkName(name, 'arrowDefinition', 'a relation')
  if (!isSchema(schema)) throw badRequest(`arrowDefinition takes an Arrow schema, not ${shown(schema)}`)
  return { name, columns: schema.fields.map(columnOf) }
}

/** Whether something looks like a schema; it may be that of another copy of the package. */
function isSchema(schema: Schema | undefined): boolean {
  return Array.isArray(schema?.fields) && schema.fields.every((field) => typeof field?.name === 'string')
}

function columnOf({ name, type, nullable }: Field): ColumnDefinition {
  const own = columnType(type)
  if (own !== undefined) return { name, type: own, nullable }
  throw badRequest(
    `column ${JSON.stringify(name)} is of Arrow's type ${type}; a relation takes numbers, decimals of up to 18 digits, booleans, dates, timestamps and texts, so cast it before`,
  )
}

function columnType(type: DataType): ColumnType | undefined {
  switch (type.typeId) {
    case ARROW.int: {
      // The number of the type says which it is.
      const { bitWidth, isSigned } = type as Int
      return `${isSigned ? 'i' : 'u'}${bitWidth > 32 ? 64 : 32}`
    }
    case ARROW.float:
      return (type as Float).precision === DOUBLE ? 'f64' : 'f32'
    case ARROW.bool:
      return 'boolean'
    case ARROW.date:
      return 'date'
    case ARROW.timestamp:
      return 'timestamp'
    case ARROW.decimal: {
      const { precision, scale } = type as Decimal
      return parseColumnType(`decimal(${precision},${scale})`)
    }
    case ARROW.utf8:
    case ARROW.largeUtf8:
      return 'string'
    case ARROW.dictionary:
      return columnType((type as Dictionary).dictionary)
    default:
      return undefined
  }
}

function inputOf(vector: Vector, { name, type }: ColumnDefinition): ColumnInput {
  const own = columnType(vector.type)
  if (own === undefined || (own === 'string') !== (type === 'string')) {
    throw badRequest(
      `column ${JSON.stringify(name)} (${type}) cannot take values of Arrow's type ${vector.type}`,
    )
  }
  if (type !== 'string' && vector.nullCount === 0 && vector.type.typeId !== ARROW.dictionary) {
    const values: unknown = vector.toArray()
    const { name: expected } = KEY_ARRAYS[storageInRelation(type)]
    // An array of that name is the one that `packColumn` takes as it is, if it counts in the same units.
    const isSame = !hasTexts(type) || (own === type && factorOf(vector.type) === 1n)
    if (ArrayBuffer.isView(values) && values.constructor.name === expected && isSame)
      return values as KeyArray
  }
  if (hasTexts(own)) return textsOfVector(vector, own)
  return Array.from(vector, (value: unknown) => plainValue(value, type))
}

/** What a date's, a timestamp's or a decimal's values are multiplied by, or divided by, to be as a column has them. */
function factorOf(type: DataType): bigint {
  const unit = (type as Timestamp).unit
  if (type.typeId === ARROW.timestamp)
    return unit > MICROSECONDS ? 1000n : 1000n ** BigInt(MICROSECONDS - unit)
  return type.typeId === ARROW.date && unit !== DAYS ? DAY_MILLISECONDS : 1n
}

/** Dates, timestamps and decimals as texts. */
function textsOfVector(vector: Vector, type: ColumnType): (string | null)[] {
  const { typeId }: DataType = vector.type
  const { unit } = vector.type as Timestamp
  const divides = typeId === ARROW.date ? unit !== DAYS : typeId === ARROW.timestamp && unit > MICROSECONDS
  const factor = factorOf(vector.type)
  return vector.data.flatMap((data: Data) =>
    Array.from({ length: data.length }, (_, i) => {
      if (!data.getValid(i)) return null
      const value = rawValue(data.values, i, typeId === ARROW.decimal)
      return formatText(divides ? value / factor : value * factor, type)
    }),
  )
}

/** The integer at a place; a decimal has 128 bits. */
function rawValue(values: ArrayLike<number | bigint>, i: number, isDecimal: boolean): bigint {
  if (!isDecimal) return BigInt(values[i] ?? 0)
  const words = [3, 2, 1, 0].map((word) => BigInt(values[4 * i + word] ?? 0))
  return BigInt.asIntN(
    128,
    words.reduce((value, word) => (value << 32n) | word, 0n),
  )
}

function plainValue(value: unknown, type: ColumnType): RelationValue {
  const isWide = type === 'u64' || type === 'i64'
  if (typeof value === 'boolean') return type === 'boolean' ? value : isWide ? BigInt(value) : Number(value)
  if (typeof value === 'bigint') return isWide || hasTexts(type) ? value : Number(value)
  return typeof value === 'number' || typeof value === 'string' ? value : null
}

/**
 * Columns of a result as an Arrow record batch, without a copy of their values; strings become dictionaries. Needs the package
 * `apache-arrow`.
 *
 * @param columns those of the batch
 */
export async function toArrow(columns: readonly ResultColumn[], batch: RelationBatch): Promise<RecordBatch> {
  const { recordBatch } = await import('./arrow-batch.js')
  return recordBatch(await loadArrow(), columns, batch)
}
