import type {
  Data,
  DataType,
  Dictionary,
  Field,
  Int,
  RecordBatch,
  Schema,
  Table,
  Utf8,
  Vector,
} from 'apache-arrow'
import { aligned, KEY_ARRAYS } from '../../protocol/columns.js'
import { badRequest } from '../../protocol/errors.js'
import type { ResultColumn, ValueType } from '../../protocol/query/tree.js'
import type { ColumnDefinition, ColumnType, RelationDefinition } from '../../protocol/relation.js'
import type { ColumnValues, RelationBatch } from '../../protocol/relation-batch.js'
import type { ColumnInput, RelationInput, RelationValue } from '../../protocol/relation-values.js'
import { shown } from '../../protocol/shown.js'
import { checkName } from './call-options.js'

/** Arrow's numbers of types, which are part of its format. */
const ARROW = { dictionary: -1, int: 2, float: 3, utf8: 5, bool: 6, largeUtf8: 20 } as const

/** What `makeData` takes of a column, for all types that relations have. */
type Arrow = typeof import('apache-arrow')

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
 * A relation with the columns of an Arrow schema: integers of up to 32 bits and booleans become u32 or i32, floats f32, and texts,
 * also by dictionary, string.
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
    `column ${JSON.stringify(name)} is of Arrow's type ${type}; a relation takes integers, floats, booleans and texts, so cast it before`,
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
      return 'f32'
    case ARROW.bool:
      return 'u32'
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
    const { name: expected } = KEY_ARRAYS[type]
    // An array of that name is the one that `packColumn` takes as it is.
    if (ArrayBuffer.isView(values) && values.constructor.name === expected) return values as Uint32Array
  }
  const isWide = type === 'u64' || type === 'i64'
  return Array.from(vector, (value: unknown) => plainValue(value, isWide))
}

function plainValue(value: unknown, isWide: boolean): RelationValue {
  if (typeof value === 'boolean') return isWide ? BigInt(value) : Number(value)
  if (typeof value === 'bigint') return isWide ? value : Number(value)
  return typeof value === 'number' || typeof value === 'string' ? value : null
}

/**
 * Columns of a result as an Arrow record batch, without a copy of their values; strings become dictionaries. Needs the package
 * `apache-arrow`.
 *
 * @param columns those of the batch
 */
export async function toArrow(columns: readonly ResultColumn[], batch: RelationBatch): Promise<RecordBatch> {
  const arrow = await import('apache-arrow')
  const parts = columns.map(({ name, type, nullable }) => {
    const data = dataOf(arrow, type, batch.columns.get(name) ?? { values: new Uint8Array(0) }, batch.rows)
    return { data, field: new arrow.Field(name, data.type, nullable) }
  })
  const fields = parts.map(({ field }) => field)
  const children = parts.map(({ data }) => data)
  const struct = arrow.makeData({
    type: new arrow.Struct(fields),
    length: batch.rows,
    nullCount: 0,
    children,
  })
  return new arrow.RecordBatch(new arrow.Schema(fields), struct)
}

function dataOf(arrow: Arrow, type: ValueType, column: ColumnValues, length: number): Data {
  const { values, validity } = column
  const common = { length, nullCount: validity === undefined ? 0 : -1, nullBitmap: validity ?? null }
  switch (type) {
    case 'u32':
      return arrow.makeData({ ...common, type: new arrow.Uint32(), data: aligned(values, Uint32Array) })
    case 'i32':
      return arrow.makeData({ ...common, type: new arrow.Int32(), data: aligned(values, Int32Array) })
    case 'f32':
      return arrow.makeData({ ...common, type: new arrow.Float32(), data: aligned(values, Float32Array) })
    case 'u64':
      return arrow.makeData({ ...common, type: new arrow.Uint64(), data: aligned(values, BigUint64Array) })
    case 'i64':
      return arrow.makeData({ ...common, type: new arrow.Int64(), data: aligned(values, BigInt64Array) })
    case 'boolean':
      return arrow.makeData({ ...common, type: new arrow.Bool(), data: bitsOf(aligned(values, Uint32Array)) })
    case 'string':
      return arrow.makeData({
        ...common,
        type: new arrow.Dictionary(new arrow.Utf8(), new arrow.Uint32()),
        data: aligned(values, Uint32Array),
        dictionary: textsOf(arrow, column),
      })
  }
}

/** Booleans as Arrow has them: bit i % 8 of byte i >> 3. */
function bitsOf(words: Uint32Array): Uint8Array {
  const bits = new Uint8Array(Math.ceil(words.length / 8))
  words.forEach((word, i) => {
    if (word !== 0) bits[i >> 3] |= 1 << (i & 7)
  })
  return bits
}

function textsOf(arrow: Arrow, { strings }: ColumnValues): Vector<Utf8> {
  const { bytes: data, offsets = Uint32Array.of(0) } = strings ?? { bytes: new Uint8Array(0) }
  const length = offsets.length - 1
  const valueOffsets = Int32Array.from(offsets)
  return arrow.makeVector(
    arrow.makeData({ type: new arrow.Utf8(), length, nullCount: 0, valueOffsets, data }),
  )
}
