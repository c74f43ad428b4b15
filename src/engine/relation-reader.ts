import type { Device, DeviceColumn } from '../../gpu/device/device.js'
import type { DeviceMemory } from '../../gpu/memory/page-run.js'
import type { DeviceColumnData, DeviceRelation } from '../../gpu/relational/device-relation.js'
import { withOwnStrings } from '../../gpu/relational/query/own-strings.js'
import { columnWords } from '../../protocol/column-types.js'
import { aligned, asBytes } from '../../protocol/columns.js'
import { WarpdexError } from '../../protocol/errors.js'
import { LIMITS } from '../../protocol/limits.js'
import { type ColumnDefinition, pickColumns, type RelationDefinition } from '../../protocol/relation.js'
import { type ColumnValues, hasValue, type RelationBatch } from '../../protocol/relation-batch.js'
import { bitsFrom, WORD_ROWS } from '../../protocol/removed-rows.js'

/** Which rows to read. */
export interface RowsToRead {
  /** Number of the first row. */
  readonly from: number
  /** Rows at most. */
  readonly limit: number
}

/** Which rows of which columns to read; of all where none are named. */
export interface RowsOfColumns extends RowsToRead {
  /** How often rows had got other numbers when those that are asked for were known; whatever it is now unless given. */
  readonly numbering?: number | undefined
  readonly columns: readonly string[]
}

/** Rows that were read. */
export interface ReadRows {
  /** Those of the batch, in its order. */
  readonly columns: readonly ColumnDefinition[]
  readonly batch: RelationBatch
  /** Numbers of rows that the relation has given, to those that were deleted too. */
  readonly total: number
  /** How often rows have got other numbers. */
  readonly numbering: number
  /** The row number to go on from. */
  readonly next: number
}

/**
 * Rows of some columns in the order in which they were appended.
 * @throws WarpdexError `BAD_REQUEST` for a column that is not there, `VERSION_GONE` for another numbering; also what `readRows` throws
 */
export async function readColumns(
  device: Device,
  relation: DeviceRelation,
  definition: RelationDefinition,
  { columns: names, numbering: known, ...rows }: RowsOfColumns,
): Promise<ReadRows> {
  const { numbering = 0 } = relation
  if (known !== undefined && known !== numbering) {
    const message = `the rows of ${JSON.stringify(definition.name)} have other numbers since a compaction (numbering ${numbering}, not ${known}); find them again`
    throw new WarpdexError('VERSION_GONE', message)
  }
  const columns = names.length === 0 ? definition.columns : pickColumns(definition, names)
  const order = columns.map(({ name }) => name)
  const { batch, next } = await readRows(device, relation, order, rows)
  return { columns, batch, total: relation.rows, next, numbering }
}

/** Bytes of columns of one reply. */
const REPLY_BYTES = LIMITS.frameBytes / 2

/** Rows, and where they lie. */
export interface NumberedRows {
  readonly batch: RelationBatch
  /** The number of the first row, of which the others follow; or of each, where some between them were deleted. */
  readonly numbers: number | Uint32Array
  /** The row number to go on from. */
  readonly next: number
}

/**
 * Rows of a relation as a batch: fewer than asked for where some were deleted, the relation has no more, or their columns would not fit into one
 * reply; none only at the end.
 *
 * @param names of columns, which the relation has
 * @throws WarpdexError `TOO_LARGE` when a single row does not fit
 */
export async function readRows(
  device: Device,
  relation: DeviceRelation,
  names: readonly string[],
  { from, limit }: RowsToRead,
): Promise<NumberedRows> {
  const columns = names.flatMap((name) => {
    const data = relation.columns.get(name)
    return data === undefined ? [] : [{ name, data }]
  })
  const rowBytes = columns.reduce((sum, { data }) => sum + columnWords(data.type) * 4 + 1 / 8, 0)
  const fitting = Math.min(limit, Math.floor(REPLY_BYTES / rowBytes))
  for (let first = Math.min(from, relation.rows); ; first += fitting) {
    const rows = Math.min(relation.rows - first, fitting)
    const { raw, live } = await readRaw(device, relation, columns, { first, rows })
    if (live === undefined) {
      const batch = withStrings(raw, rows)
      return { batch, numbers: first, next: first + batch.rows }
    }
    if (live.length === 0 && rows > 0 && first + rows < relation.rows) continue
    const chosen = raw.map((column) => liveColumn(column, live))
    const batch = withStrings(chosen, live.length)
    const next = batch.rows < live.length ? first + live[batch.rows] : first + rows
    return { batch, numbers: live.subarray(0, batch.rows).map((place) => first + place), next }
  }
}

/** Neighbouring rows as they lie, and the places of those among them that are live, where some of the relation's are not. */
async function readRaw(
  device: Device,
  { live }: DeviceRelation,
  columns: readonly Pick<RawColumn, 'name' | 'data'>[],
  { first, rows }: { readonly first: number; readonly rows: number },
): Promise<{ readonly raw: readonly RawColumn[]; readonly live: Uint32Array | undefined }> {
  const places = columns.flatMap(({ data }) => placesOf(data, first, rows))
  if (live !== undefined) places.push(bitsPlace(live.bits, first, rows))
  const read =
    rows === 0 ? places.map(() => new Uint8Array(0)) : await device.submitAndRead(device.record(), places)
  const bitsOf = (words: Uint8Array) => bitsFrom(words, first % WORD_ROWS, rows)
  let next = 0
  const raw = columns.map(({ name, data }) => {
    const values = read[next++]
    const words = data.validity === undefined ? undefined : read[next++]
    return { name, data, values, validity: words && asBytes(bitsOf(words)).subarray(0, Math.ceil(rows / 8)) }
  })
  return { raw, live: live && setBits(bitsOf(read[next])) }
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
  return [place, bitsPlace(validity, first, rows)]
}

function bitsPlace(buffer: DeviceMemory, first: number, rows: number): DeviceColumn {
  const word = Math.floor(first / WORD_ROWS)
  return { buffer, bytes: (Math.ceil((first + rows) / WORD_ROWS) - word) * 4, offset: word * 4 }
}

/** Those of the rows that are live. */
function liveColumn(raw: RawColumn, places: Uint32Array): RawColumn {
  const words = columnWords(raw.data.type)
  const source = aligned(raw.values, Uint32Array)
  const values = new Uint32Array(places.length * words)
  const bits = raw.validity && new Uint8Array(Math.ceil(places.length / 8))
  for (let i = 0; i < places.length; i++) {
    for (let word = 0; word < words; word++) values[i * words + word] = source[places[i] * words + word]
    if (bits !== undefined && hasValue(raw.validity, places[i])) bits[i >> 3] |= 1 << (i & 7)
  }
  return { ...raw, values: asBytes(values), validity: bits }
}

/** Places of the bits that are set. */
function setBits(bits: Uint32Array): Uint32Array {
  const places: number[] = []
  bits.forEach((word, i) => {
    for (let left = word; left !== 0; left &= left - 1)
      places.push(i * WORD_ROWS + 31 - Math.clz32(left & -left))
  })
  return Uint32Array.from(places)
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
