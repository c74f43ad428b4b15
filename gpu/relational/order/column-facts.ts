import { storageOf } from '../../../protocol/column-types.js'
import { aligned } from '../../../protocol/columns.js'
import type { Device, Kernels } from '../../device/device.js'
import { GROUP_SIZE } from '../../device/recorder.js'
import type { DeviceMemory } from '../../memory/page-run.js'
import type { DeviceRelation } from '../device-relation.js'
import type { DeviceWork } from '../query/device-work.js'
import type { RowNumbers } from '../query/fetch.js'
import { bytesOf, type QueryColumn, ROW_BYTES, valueBits, valueWords } from '../query/query-column.js'
import type { Table, TableColumn } from '../query/table.js'

/** What is known of the values of some rows, whatever their order. They are meant in their unsigned form that has their order: `i32` with the sign flipped, and so on. */
export interface ValueFacts {
  /** Lowest bits in which values differ at most; all above them are those of `common`. */
  readonly bits: number
  /** The bits that all values have, and zeros in place of the others. */
  readonly common: bigint
  /** Whether some may be null. */
  readonly nulls: boolean
}

/** What is known of a column of a table. */
export interface ColumnFacts extends ValueFacts {
  /** Whether there are no nulls, and no value is less than the one before. */
  readonly ascending: boolean
  /** Whether each is even greater. */
  readonly unique: boolean
}

/** The facts of a relation's columns, by name, for as long as its rows are the same. */
export type KeptFacts = Map<string, ColumnFacts>

/** Which column of a relation a query reads. */
export interface Origin {
  readonly relation: DeviceRelation
  readonly name: string
}

/** What a query knows of the columns that it meets. */
export class KnownFacts {
  readonly #stored = new Map<QueryColumn, Origin & { readonly kept: KeptFacts }>()
  /** Columns of some rows of others, in their order. */
  readonly #drawn = new WeakMap<QueryColumn, TableColumn>()
  readonly #measured = new WeakMap<TableColumn, ColumnFacts>()

  /** A relation's columns stay as they are for as long as the query runs. */
  add(relation: DeviceRelation): void {
    const { columns, facts: kept = new Map() } = relation
    for (const [name, column] of columns) this.#stored.set(column, { relation, name, kept })
  }

  /** A column has the values of some rows of another, in their order. */
  draw(column: QueryColumn, from: TableColumn): void {
    this.#drawn.set(column, from)
  }

  /** What a column's values are chosen from, as far back as is known. */
  origin(source: QueryColumn): QueryColumn {
    const from = this.#drawn.get(source)
    return from === undefined ? source : this.origin(from.source)
  }

  /** Where a column is from, if it is not a computed one. */
  originOf(source: QueryColumn): Origin | undefined {
    return this.#stored.get(source)
  }

  /** What is known without asking the device; it takes in what is known of the relation that a column's values are chosen from. */
  of(column: TableColumn): ColumnFacts {
    return this.#measured.get(column) ?? chosenFacts(column.rows, this.#ofSource(column.source))
  }

  /** What is found of a whole column of a relation is kept with that. */
  learn(column: TableColumn, facts: ColumnFacts): void {
    const stored = this.#stored.get(column.source)
    if (stored === undefined || column.rows !== undefined) this.#measured.set(column, facts)
    else stored.kept.set(stored.name, facts)
  }

  isMeasured(column: TableColumn): boolean {
    return (
      this.#measured.has(column) || (column.rows === undefined && this.#kept(column.source) !== undefined)
    )
  }

  #kept(source: QueryColumn): ColumnFacts | undefined {
    const stored = this.#stored.get(source)
    return stored?.kept.get(stored.name)
  }

  #ofSource(source: QueryColumn): ColumnFacts {
    const from = this.#drawn.get(source)
    if (from !== undefined) return chosenFacts(SOME_ROWS, this.of(from))
    return this.#kept(source) ?? assumedFacts(source)
  }
}

/** A column that is measured, and how many rows it has. */
interface Measured {
  readonly column: TableColumn
  readonly rows: number
}

/** Rows from which on it is worth a round trip to learn of a column that no relation keeps: where a round trip takes long, sorting is fast. */
const MEASURED_ROWS = { hardware: 2 ** 18, software: 1024 }

/**
 * Learns of columns, but for those of 128 bits, what `work.facts` has of them then. Of columns of stored relations everything is measured once, and kept; of others what is worth it. Waits for
 * the device where something is to be measured, once for all columns.
 */
export async function learnFacts(
  work: DeviceWork,
  asked: readonly Pick<Table, 'columns' | 'rows'>[],
): Promise<void> {
  const { facts } = work
  const least = work.device.facts.software ? MEASURED_ROWS.software : MEASURED_ROWS.hardware
  const measured = new Map<QueryColumn | TableColumn, Measured>()
  for (const { columns, rows } of asked) {
    for (const column of columns) {
      if (valueWords(column.source.type) === 4) continue
      const source = facts.origin(column.source)
      const relation = facts.originOf(source)?.relation
      if (relation !== undefined)
        measured.set(source, { column: { source, rows: undefined }, rows: relation.rows })
      else if (rows >= least) measured.set(column, { column, rows })
    }
  }
  const unknown = [...measured.values()].filter(({ column }) => !facts.isMeasured(column))
  await work.kernels.columnFacts.measure(work, unknown)
}

/** What is known of the values of several columns together. */
export function unitedFacts(all: readonly ValueFacts[]): ValueFacts {
  return all.reduce((one, other) => {
    const bits = Math.max(one.bits, other.bits, bitLength(one.common ^ other.common))
    const common = (one.common >> BigInt(bits)) << BigInt(bits)
    return { bits, common, nulls: one.nulls || other.nulls }
  })
}

function bitLength(number: bigint): number {
  return number === 0n ? 0 : number.toString(2).length
}

const SOME_ROWS = { outer: false, ascending: true }

/** What the values of a type can be. */
function assumedFacts({ type, dictionary, validity }: QueryColumn): ColumnFacts {
  const bits = valueBits(type, dictionary)
  return { bits, common: 0n, nulls: validity !== undefined, ascending: false, unique: false }
}

/** What is left of a column's facts where rows were chosen. */
function chosenFacts(
  rows: Pick<RowNumbers, 'outer' | 'ascending'> | undefined,
  facts: ColumnFacts,
): ColumnFacts {
  if (rows === undefined) return facts
  const keepsOrder = rows.ascending === true && !rows.outer
  return {
    ...facts,
    nulls: facts.nulls || rows.outer,
    ascending: facts.ascending && keepsOrder,
    unique: facts.unique && keepsOrder,
  }
}

/** Values that an invocation looks at. */
const ROWS_PER_INVOCATION = 32

/** What the kernel writes of a column. */
const FACT_WORDS = 5

/** As in `column-facts.wesl`. */
const HAS_VALIDITY = 1
const HAS_ROWS = 2
const SIGNED = 4
const FLOATS = 8
const NULLS = 1
const DESCENTS = 2
const TIES = 4

/** Goes through columns to find their facts (`column-facts.wesl`). */
export class ColumnMeasurer {
  readonly #kernels: Kernels<'find_column_facts'>

  constructor(device: Device) {
    this.#kernels = device.kernels('relational/order/column-facts', ['find_column_facts'])
  }

  /** Waits for the device, unless there is nothing to measure. */
  async measure(work: DeviceWork, measured: readonly Measured[]): Promise<void> {
    const filled = measured.filter(({ rows }) => rows > 0)
    const outputs = filled.map(({ column, rows }) => ({
      buffer: this.#record(work, column, rows),
      bytes: FACT_WORDS * 4,
    }))
    for (const { column, rows } of measured) if (rows === 0) work.facts.learn(column, NO_ROWS)
    if (filled.length === 0) return
    const read = await work.readColumns(outputs)
    for (const [i, { column }] of filled.entries()) {
      work.facts.learn(column, factsFrom(aligned(read[i]!, Uint32Array)))
    }
  }

  #record(work: DeviceWork, { source, rows: chosen }: TableColumn, count: number): DeviceMemory {
    const { type, values, validity } = source
    const facts = work.words(FACT_WORDS)
    const storage = storageOf(type)
    work.recorder.clear(facts, 0, FACT_WORDS * 4)
    const groups = Math.ceil(count / ROWS_PER_INVOCATION / GROUP_SIZE)
    const flags =
      (validity === undefined ? 0 : HAS_VALIDITY) |
      (chosen === undefined ? 0 : HAS_ROWS) |
      (storage === 'i32' || storage === 'i64' ? SIGNED : 0) |
      (storage === 'f32' || storage === 'f64' ? FLOATS : 0)
    const { absent } = work
    const buffers = { values, validity: validity ?? absent, rows: chosen?.buffer ?? absent, facts }
    const params = { count, words: valueWords(type), flags, stride: groups * GROUP_SIZE }
    work.recorder.dispatchGroups(this.#kernels.find_column_facts, buffers, params, groups)
    work.moves({ read: count * (bytesOf(source) + (chosen === undefined ? 0 : ROW_BYTES)) })
    return facts
  }
}

const NO_ROWS: ColumnFacts = { bits: 0, common: 0n, nulls: false, ascending: true, unique: true }

function factsFrom(words: Uint32Array): ColumnFacts {
  const wide = (at: number) => BigInt(words[at]!) | (BigInt(words[at + 1]!) << 32n)
  const ones = wide(0)
  const differing = ones & wide(2)
  const bits = bitLength(differing)
  const found = words[4]!
  const ascending = (found & (NULLS | DESCENTS)) === 0
  return {
    bits,
    common: (ones >> BigInt(bits)) << BigInt(bits),
    nulls: (found & NULLS) !== 0,
    ascending,
    unique: ascending && (found & TIES) === 0,
  }
}
