import type { IndexStructure, PreparedWrite, WriteBatch } from '../../gpu/index-structure.js'
import type { StoredIndex } from '../../persistence/disk/dictionary.js'
import { columnWords, keyTypeOfColumn } from '../../protocol/column-types.js'
import {
  aligned,
  asBytes,
  type Column,
  type CutColumn,
  columnOf,
  NO_VALUES,
  valueAt,
} from '../../protocol/columns.js'
import { WarpdexError } from '../../protocol/errors.js'
import { LIMITS } from '../../protocol/limits.js'
import type { ColumnDefinition, RelationDefinition } from '../../protocol/relation.js'
import { type ColumnValues, hasValue, type RelationBatch } from '../../protocol/relation-batch.js'
import { unpackColumn } from '../../protocol/relation-values.js'
import { type ScalarKey, TupleEncoder } from '../../protocol/tuple-key.js'
import { type IndexDefinition, type KeyType, WriteOp } from '../../protocol/types.js'
import type { IndexUpkeep } from './index-upkeep.js'
import type { IndexWriter } from './index-writer.js'
import type { PagedStructure } from './paged-structure.js'
import type { NumberedRows } from './relation-reader.js'
import { joinBatches } from './write-batch.js'

/** An index whose turn it is, until that is released. */
export interface HeldIndex {
  readonly definition: IndexDefinition
  readonly stored: StoredIndex
  readonly structure: PagedStructure<IndexStructure>
  readonly writer: IndexWriter
  readonly upkeep: IndexUpkeep
  prepare(batch: WriteBatch): Promise<PreparedWrite>
  /** Builds it anew. */
  remake(): Promise<void>
  /** As `remake`, since rows have other numbers: whoever has some of it, or is going through it, is told by the generation of its handle. */
  renumber(): Promise<void>
  release(): void
}

/** Keys of an index over columns, and as their payloads the numbers of the rows that have them. */
export interface RowKeys {
  readonly keys: Column
  /** u32. */
  readonly payloads: Column
}

/** A column and its values. */
interface KeyPart {
  readonly column: ColumnDefinition
  readonly values: ColumnValues
}

/** The type of keys that are the values of one column, or tuples of those of several. */
export function keyTypeOf(columns: readonly ColumnDefinition[]): KeyType {
  return columns.length === 1
    ? keyTypeOfColumn(columns[0].type)
    : `tuple(${columns.map(({ type }) => keyTypeOfColumn(type)).join(',')})`
}

/**
 * The keys of rows. Rows in which a column has no value, or a NaN, have none.
 *
 * @param columns those that the index is over
 * @param numbers of the batch's rows in their relation, or that of the first, which the others follow
 * @throws WarpdexError `TOO_LARGE` for a key of more than `keyBytes`
 */
export function keysOfRows(
  { rows, columns: all }: RelationBatch,
  columns: readonly ColumnDefinition[],
  numbers: number | Uint32Array,
): RowKeys {
  const parts = columns.flatMap((column) => {
    const values = all.get(column.name)
    return values === undefined ? [] : [{ column, values }]
  })
  const live = rowsWithKeys(parts, rows)
  const numberOf = (row: number) => (typeof numbers === 'number' ? numbers + row : numbers[row])
  const payloads = { bytes: asBytes(live.map(numberOf)), width: 4 }
  const [part] = parts
  if (parts.length > 1) return { keys: checked(tupleKeys(parts, live), columns), payloads }
  if (part.column.type === 'string')
    return { keys: checked(stringKeys(part.values, live), columns), payloads }
  return { keys: fixedKeys(part, live, rows), payloads }
}

/** Numbers within the batch, ascending. */
function rowsWithKeys(parts: readonly KeyPart[], rows: number): Uint32Array {
  const floats = parts
    .filter(({ column: { type } }) => type === 'f32' || type === 'f64')
    .map(({ column, values }) =>
      aligned<ArrayLike<number>>(values.values, column.type === 'f32' ? Float32Array : Float64Array),
    )
  const isWhole = floats.length === 0 && parts.every(({ values }) => values.validity === undefined)
  const live = new Uint32Array(rows)
  let count = 0
  for (let row = 0; row < rows; row++) {
    const has =
      isWhole ||
      (parts.every(({ values }) => hasValue(values.validity, row)) &&
        !floats.some((column) => Number.isNaN(column[row])))
    if (has) live[count++] = row
  }
  return live.subarray(0, count)
}

function fixedKeys({ column, values: { values } }: KeyPart, live: Uint32Array, rows: number): Column {
  const words = columnWords(column.type)
  if (live.length === rows) return { bytes: values, width: 4 * words }
  const source = aligned(values, Uint32Array)
  const keys = new Uint32Array(live.length * words)
  for (let i = 0; i < live.length; i++) {
    for (let word = 0; word < words; word++) keys[i * words + word] = source[live[i] * words + word]
  }
  return { bytes: asBytes(keys), width: 4 * words }
}

function stringKeys({ values, strings }: ColumnValues, live: Uint32Array): CutColumn {
  const numbers = aligned(values, Uint32Array)
  return columnOf(Array.from(live, (row) => valueAt(strings ?? NO_VALUES, numbers[row])))
}

function tupleKeys(parts: readonly KeyPart[], live: Uint32Array): CutColumn {
  const types = parts.map(({ column }) => keyTypeOfColumn(column.type))
  const encoder = new TupleEncoder(types)
  const columns = parts.map(({ values }, i) => unpackColumn(values, types[i]))
  // Rows in which any column is null are not among them, and keys have no booleans.
  for (const row of live) encoder.add(columns.map((values) => values[row] as ScalarKey))
  return encoder.column()
}

function checked(keys: CutColumn, columns: readonly ColumnDefinition[]): CutColumn {
  const { offsets } = keys
  for (let i = 1; i < offsets.length; i++) {
    const length = offsets[i] - offsets[i - 1]
    if (length <= LIMITS.keyBytes) continue
    const names = columns.map(({ name }) => JSON.stringify(name)).join(', ')
    throw new WarpdexError(
      'TOO_LARGE',
      `an index over ${names} takes keys of up to ${LIMITS.keyBytes} bytes, and a row has one of ${length}`,
    )
  }
  return keys
}

/** Rows that are put into an index at a time when it is made. */
const FILL_ROWS = 2 ** 18

/** Reads rows from a place on; fewer than asked for where a reply would be too large, none past the end. */
type ReadColumns = (names: readonly string[], from: number, limit: number) => Promise<NumberedRows>

/** Puts all rows that a relation has into an empty structure of an index over its columns. */
export async function fillIndex(
  structure: IndexStructure,
  relation: RelationDefinition,
  definition: IndexDefinition,
  read: ReadColumns,
): Promise<void> {
  const columns = columnsOf(relation, definition)
  const names = columns.map(({ name }) => name)
  for (let from = 0; ; ) {
    const { batch, numbers, next } = await read(names, from, FILL_ROWS)
    if (batch.rows === 0) break
    const rows = keysOfRows(batch, columns, numbers)
    const prepared = await structure.prepare({ ops: WriteOp.insert, ...rows, goesOn: true })
    prepared.apply()
    await structure.compactIfWorthwhile({ inBackground: false, goesOn: true })
    from = next
  }
  await structure.compactIfWorthwhile()
}

/**
 * Makes sure of the memory that indexes over columns need for the keys of rows that are appended one batch after the other. Called while all
 * are on the device.
 * @param first number of the first row
 */
export async function prepareIndexes(
  indexes: readonly HeldIndex[],
  relation: RelationDefinition,
  batches: readonly RelationBatch[],
  first: number,
): Promise<readonly PreparedWrite[]> {
  const prepared: PreparedWrite[] = []
  try {
    for (const { prepare, definition } of indexes) {
      const columns = columnsOf(relation, definition)
      let row = first
      const parts = batches.map((batch) => {
        const keys = keysOfRows(batch, columns, row)
        row += batch.rows
        return { ops: WriteOp.insert, ...keys }
      })
      prepared.push(await prepare(joinBatches(parts)))
    }
    return prepared
  } catch (error) {
    for (const each of prepared) each.discard()
    throw error
  }
}

/** The columns that an index is over. */
export function columnsOf(
  { columns }: RelationDefinition,
  { of }: IndexDefinition,
): readonly ColumnDefinition[] {
  const names = of?.columns ?? []
  return names.flatMap((name) => columns.filter((column) => column.name === name))
}
