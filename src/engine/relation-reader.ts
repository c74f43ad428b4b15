import type { Device, DeviceColumn } from '../../gpu/device/device.js'
import type { DeviceColumnData, DeviceRelation } from '../../gpu/relational/device-relation.js'
import type { StringDictionary } from '../../gpu/relational/string-dictionary.js'
import { aligned, asBytes } from '../../protocol/columns.js'
import { WarpdexError } from '../../protocol/errors.js'
import { LIMITS } from '../../protocol/limits.js'
import {
  type ColumnDefinition,
  columnWords,
  pickColumns,
  type RelationDefinition,
} from '../../protocol/relation.js'
import { type ColumnValues, hasValue, type RelationBatch } from '../../protocol/relation-batch.js'

/** Which rows to read. */
export interface RowsToRead {
  /** Number of the first row. */
  readonly from: number
  /** Rows at most. */
  readonly limit: number
}

/** Which rows of which columns to read; of all where none are named. */
export interface RowsOfColumns extends RowsToRead {
  readonly columns: readonly string[]
}

/** Rows that were read. */
export interface ReadRows {
  /** Those of the batch, in its order. */
  readonly columns: readonly ColumnDefinition[]
  readonly batch: RelationBatch
  /** Rows of the relation. */
  readonly total: number
}

/**
 * Rows of some columns in the order in which they were appended.
 * @throws WarpdexError `BAD_REQUEST` for a column that is not there; also what `readRows` throws
 */
export async function readColumns(
  device: Device,
  relation: DeviceRelation,
  definition: RelationDefinition,
  { columns: names, ...rows }: RowsOfColumns,
): Promise<ReadRows> {
  const columns = names.length === 0 ? definition.columns : pickColumns(definition, names)
  const order = columns.map(({ name }) => name)
  return { columns, batch: await readRows(device, relation, order, rows), total: relation.rows }
}

/** Bytes of columns of one reply. */
const REPLY_BYTES = LIMITS.frameBytes / 2

/**
 * Rows of a relation as a batch: fewer than asked for where the relation has no more, or their columns would not fit into one reply.
 *
 * @param names of columns, which the relation has
 * @throws WarpdexError `TOO_LARGE` when a single row does not fit
 */
export async function readRows(
  device: Device,
  relation: DeviceRelation,
  names: readonly string[],
  { from, limit }: RowsToRead,
): Promise<RelationBatch> {
  const columns = names.flatMap((name) => {
    const data = relation.columns.get(name)
    return data === undefined ? [] : [{ name, data }]
  })
  const rowBytes = columns.reduce((sum, { data }) => sum + columnWords(data.type) * 4 + 1 / 8, 0)
  const first = Math.min(from, relation.rows)
  const rows = Math.min(relation.rows - first, limit, Math.floor(REPLY_BYTES / rowBytes))
  const places = columns.flatMap(({ data }) => placesOf(data, first, rows))
  const read =
    rows === 0 ? places.map(() => new Uint8Array(0)) : await device.submitAndRead(device.record(), places)
  let next = 0
  const raw = columns.map(({ name, data }) => {
    const values = read[next++]
    const words = data.validity === undefined ? undefined : read[next++]
    return { name, data, values, validity: words && bitsFrom(words, first % 32, rows) }
  })
  return withStrings(raw, rows)
}

interface RawColumn {
  readonly name: string
  readonly data: DeviceColumnData
  readonly values: Uint8Array
  readonly validity: Uint8Array | undefined
}

/** Where the values of rows lie, and the words of the bitmap that they have bits in. */
function placesOf({ type, values, validity }: DeviceColumnData, first: number, rows: number): DeviceColumn[] {
  const width = columnWords(type) * 4
  const place = { buffer: values, bytes: rows * width, offset: first * width }
  if (validity === undefined) return [place]
  const word = Math.floor(first / 32)
  return [place, { buffer: validity, bytes: (Math.ceil((first + rows) / 32) - word) * 4, offset: word * 4 }]
}

/** The bitmap that begins with a bit of the first of some words. */
function bitsFrom(words: Uint8Array, shift: number, rows: number): Uint8Array {
  const source = aligned(words, Uint32Array)
  const bits = new Uint32Array(Math.ceil(rows / 32))
  for (let i = 0; i < bits.length; i++) {
    bits[i] = source[i] >>> shift
    if (shift > 0 && i + 1 < source.length) bits[i] |= source[i + 1] << (32 - shift)
  }
  if (rows % 32 > 0) bits[bits.length - 1] &= 2 ** (rows % 32) - 1
  return asBytes(bits).subarray(0, Math.ceil(rows / 8))
}

/** As many rows as fit with the strings that they refer to. */
function withStrings(raw: readonly RawColumn[], most: number): RelationBatch {
  for (let rows = most; ; rows = Math.floor(rows / 2)) {
    const columns = new Map<string, ColumnValues>()
    let bytes = 0
    for (const { name, data, values, validity } of raw) {
      const column: ColumnValues = {
        values: values.subarray(0, rows * columnWords(data.type) * 4),
        validity: validity?.subarray(0, Math.ceil(rows / 8)),
      }
      const full = data.dictionary === undefined ? column : withOwnStrings(column, data.dictionary)
      columns.set(name, full)
      bytes += full.values.byteLength + (full.strings?.bytes.byteLength ?? 0)
    }
    if (bytes <= 2 * REPLY_BYTES - LIMITS.headerBytes) return { rows, columns }
    if (rows <= 1) throw new WarpdexError('TOO_LARGE', `a row has ${bytes} bytes; ask for fewer columns`)
  }
}

/** A column with the strings that its rows have, numbered among these. */
function withOwnStrings({ values, validity }: ColumnValues, dictionary: StringDictionary): ColumnValues {
  const codes = aligned(values, Uint32Array)
  const used = new Set<number>()
  for (let row = 0; row < codes.length; row++) if (hasValue(validity, row)) used.add(codes[row])
  const ascending = Uint32Array.from(used).sort()
  const numbers = new Map(Array.from(ascending, (code, number) => [code, number]))
  const strings = dictionary.choose(ascending)
  return { values: asBytes(codes.map((code) => numbers.get(code) ?? 0)), validity, strings }
}
