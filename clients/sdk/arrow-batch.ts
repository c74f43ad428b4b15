import type { Data, Utf8, Vector } from 'apache-arrow'
import { type ColumnType, columnWords, decimalShape, RESULT_DIGITS } from '../../protocol/column-types.js'
import { aligned } from '../../protocol/columns.js'
import type { ResultColumn } from '../../protocol/query/tree.js'
import type { ColumnValues, RelationBatch } from '../../protocol/relation-batch.js'
import type { Arrow, RecordBatch } from './arrow-types.js'

/** As `toArrow`. */
export function recordBatch(
  arrow: Arrow,
  columns: readonly ResultColumn[],
  batch: RelationBatch,
): RecordBatch {
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

function dataOf(arrow: Arrow, type: ColumnType, column: ColumnValues, length: number): Data {
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
    case 'f64':
      return arrow.makeData({ ...common, type: new arrow.Float64(), data: aligned(values, Float64Array) })
    case 'date':
      return arrow.makeData({ ...common, type: new arrow.DateDay(), data: aligned(values, Int32Array) })
    case 'timestamp': {
      const type = new arrow.TimestampMicrosecond('UTC')
      return arrow.makeData({ ...common, type, data: aligned(values, BigInt64Array) })
    }
    case 'string':
      return arrow.makeData({
        ...common,
        type: new arrow.Dictionary(new arrow.Utf8(), new arrow.Uint32()),
        data: aligned(values, Uint32Array),
        dictionary: textsOf(arrow, column),
      })
    default: {
      const { precision, scale } = decimalShape(type) ?? { precision: RESULT_DIGITS, scale: 0 }
      return arrow.makeData({
        ...common,
        type: new arrow.Decimal(scale, precision, 128),
        data: columnWords(type) === 4 ? aligned(values, Uint32Array) : wideWords(values),
      })
    }
  }
}

/** Integers of 64 bits as ones of 128, in words. */
function wideWords(values: Uint8Array): Uint32Array {
  const short = aligned(values, Uint32Array)
  const words = new Uint32Array(2 * short.length)
  for (let i = 0; i < short.length; i += 2) {
    words.set(short.subarray(i, i + 2), 2 * i)
    words.fill(short[i + 1]! >> 31, 2 * i + 2, 2 * i + 4)
  }
  return words
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
