import { columnWords } from '../../../protocol/column-types.js'
import { asBytes, NO_VALUES } from '../../../protocol/columns.js'
import type { ColumnDefinition } from '../../../protocol/relation.js'
import type { ColumnValues, RelationBatch } from '../../../protocol/relation-batch.js'
import type { Device } from '../../device/device.js'
import type { Recorder } from '../../device/recorder.js'
import type { DeviceMemory } from '../../memory/page-run.js'
import { Region } from '../../memory/region.js'
import type { Scratch } from '../../memory/scratch.js'
import type { DeviceColumnData } from '../device-relation.js'
import type { AppendBits } from '../query/append-bits.js'
import type { DeviceWork } from '../query/device-work.js'
import type { QueryColumn } from '../query/query-column.js'
import { StringDictionary } from '../string-dictionary.js'
import type { Recode } from './recode.js'
import { usedStrings } from './used-strings.js'

/** Rows of one word of a validity bitmap. */
const WORD_ROWS = 32

/** What a column's strings become when others come. */
interface GrownStrings {
  readonly strings: StringDictionary
  /** New numbers of those that are there, if any changes. */
  readonly moved?: Uint32Array | undefined
  /** Of what comes, part by part: new numbers of all of its strings, if they are others here. */
  readonly added?: readonly Uint32Array[]
}

/** Rows to be added, from the host or the device. */
interface NewRows {
  readonly rows: number
  readonly values: Uint8Array | DeviceMemory
  /** Undefined where all rows have a value. */
  readonly validity: DeviceMemory | undefined
  /** What is to be uploaded to `validity`. */
  readonly bits?: Uint8Array | undefined
}

/** Rows for which a column has room, and which have changed nothing yet. */
export interface PreparedValues {
  readonly parts: readonly NewRows[]
  readonly strings: GrownStrings | undefined
  /** A bitmap for a column that has had none, with its words. */
  readonly validity: Region | undefined
}

/** What a column on the device needs beside its definition. */
export interface ColumnParts {
  readonly values: Region
  readonly validity?: Region | undefined
  readonly strings?: StringDictionary | undefined
}

/** What columns are changed with. */
export interface ColumnKernels {
  readonly recode: Recode
  readonly appendBits: AppendBits
}

/** A column of a stored relation on the device. It grows at its end; the layout is that of `DeviceColumnData`. */
export class StoredColumn {
  readonly definition: ColumnDefinition
  readonly #device: Device
  readonly #kernels: ColumnKernels
  readonly #values: Region
  #validity: Region | undefined
  #strings: StringDictionary | undefined

  constructor(device: Device, definition: ColumnDefinition, kernels: ColumnKernels, parts: ColumnParts) {
    this.#device = device
    this.definition = definition
    this.#kernels = kernels
    this.#values = parts.values
    this.#validity = parts.validity
    this.#strings = definition.type === 'string' ? (parts.strings ?? new StringDictionary()) : undefined
  }

  /** @throws WarpdexError `OUT_OF_DEVICE_MEMORY` */
  static async create(
    device: Device,
    definition: ColumnDefinition,
    kernels: ColumnKernels,
  ): Promise<StoredColumn> {
    return new StoredColumn(device, definition, kernels, {
      values: await valuesRegion(device, definition, 0),
    })
  }

  get rows(): number {
    return this.#values.records
  }

  get strings(): StringDictionary | undefined {
    return this.#strings
  }

  get data(): DeviceColumnData {
    return {
      type: this.definition.type,
      values: this.#values.buffer,
      validity: this.#validity?.buffer,
      dictionary: this.#strings,
    }
  }

  /** Its device memory by role. */
  get regions(): readonly (readonly [role: 'values' | 'validity', region: Region])[] {
    const values = ['values', this.#values] as const
    return this.#validity === undefined ? [values] : [values, ['validity', this.#validity]]
  }

  /** Bytes of device memory that it would have with so many more rows, some of them null if it may have nulls. */
  bytesWith(rows: number, isTight: boolean): number {
    const values = isTight ? this.#values.leastBytes(rows) : this.#values.reservedBytes(rows)
    if (!this.definition.nullable) return values
    const words = Math.ceil((this.rows + rows) / WORD_ROWS)
    return values + Math.max(this.#validity?.bytes ?? 0, words * 4)
  }

  /**
   * Makes room for batches.
   * @param isTight whether to make no more room than they need
   * @param scratch is held until they are applied or discarded
   * @throws WarpdexError `OUT_OF_DEVICE_MEMORY`, `TOO_LARGE`, with nothing changed
   */
  async prepare(
    batches: readonly RelationBatch[],
    isTight: boolean,
    scratch: Scratch,
  ): Promise<PreparedValues> {
    const own = batches.map(({ rows, columns }) => ({ rows, ...columnOf(columns, this.definition) }))
    const strings = this.#strings && mergeAll(this.#strings, own)
    const parts = own.map(({ rows, values, validity: bits }): NewRows => {
      return { rows, values, validity: bits && scratch.bytes(bits.byteLength), bits }
    })
    return this.#makeRoom(parts, strings, isTight)
  }

  discard({ validity }: PreparedValues): void {
    validity?.destroy()
  }

  /** Adds prepared rows. What is recorded must be submitted before anything reads the column. */
  apply({ parts, strings, validity }: PreparedValues, recorder: Recorder, scratch: Scratch): void {
    const before = this.rows
    if (validity !== undefined) {
      this.#validity = validity
      this.#addValidity(recorder, undefined, 0, before)
    }
    if (strings?.moved !== undefined) this.#renumber(strings.moved, 0, before, recorder, scratch)
    const width = columnWords(this.definition.type) * 4
    parts.forEach(({ rows, values, validity, bits }, i) => {
      const first = this.#values.take(rows)
      const { buffer } = this.#values
      if (values instanceof Uint8Array) this.#device.upload(buffer, values, first * width, recorder)
      else recorder.copy(values, 0, buffer, first * width, rows * width)
      if (validity !== undefined && bits !== undefined) this.#device.upload(validity, bits, 0, recorder)
      this.#addValidity(recorder, validity, first, rows)
      const numbers = strings?.added?.[i]
      if (numbers !== undefined) this.#renumber(numbers, first, rows, recorder, scratch)
    })
    if (strings !== undefined) this.#strings = strings.strings
  }

  /**
   * Adds the values of a column on the device, of a type that is kept as this one's is. What was recorded before is submitted.
   * @param isTight whether to make no more room than they need
   * @throws WarpdexError `OUT_OF_DEVICE_MEMORY`, `TOO_LARGE`, with no rows added
   */
  async take(work: DeviceWork, source: QueryColumn, rows: number, isTight: boolean): Promise<void> {
    const strings = this.#strings && (await this.#mergeUsed(work, source, rows))
    await work.submitted()
    const validity = this.definition.nullable ? source.validity : undefined
    const prepared = await this.#makeRoom([{ rows, values: source.values, validity }], strings, isTight)
    this.apply(prepared, work.recorder, work.scratch)
  }

  /** Gives back what is beyond its rows. */
  async settle(): Promise<void> {
    await this.#values.fit(0)
    await this.#validity?.fit(0)
  }

  destroy(): void {
    this.#values.destroy()
    this.#validity?.destroy()
  }

  async #makeRoom(
    parts: readonly NewRows[],
    strings: GrownStrings | undefined,
    isTight: boolean,
  ): Promise<PreparedValues> {
    const rows = parts.reduce((sum, part) => sum + part.rows, 0)
    await (isTight ? this.#values.fit(rows) : this.#values.reserve(rows))
    const words = Math.ceil((this.rows + rows) / WORD_ROWS)
    await this.#validity?.reserve(words - this.#validity.records)
    const needsBits = this.#validity === undefined && parts.some(({ validity }) => validity !== undefined)
    const validity = needsBits ? await validityRegion(this.#device, this.definition, words) : undefined
    return { parts, strings, validity }
  }

  /** One dictionary for what is there and what comes: all of the other one where it is no longer than the column, else what its rows have of it. */
  async #mergeUsed(work: DeviceWork, source: QueryColumn, rows: number): Promise<GrownStrings> {
    const { dictionary } = source
    const known = this.#strings ?? new StringDictionary()
    if (dictionary === undefined || dictionary === known || rows === 0) return { strings: known }
    if (dictionary.size <= rows) {
      return this.rows === 0 ? { strings: dictionary } : mergeAll(known, [{ strings: dictionary }])
    }
    const used = await usedStrings(work, source, dictionary, rows)
    const { strings, moved, added } = known.merge(dictionary.choose(used))
    const numbers = new Uint32Array(dictionary.size)
    used.forEach((code, i) => {
      numbers[code] = added[i]
    })
    return { strings, moved, added: [numbers] }
  }

  /** @param bits undefined where all rows have a value */
  #addValidity(recorder: Recorder, bits: DeviceMemory | undefined, first: number, rows: number): void {
    const region = this.#validity
    if (region === undefined) return
    region.take(Math.ceil((first + rows) / WORD_ROWS) - region.records)
    this.#kernels.appendBits.record(recorder, bits, region.buffer, first, rows)
  }

  #renumber(numbers: Uint32Array, first: number, count: number, recorder: Recorder, scratch: Scratch): void {
    if (count === 0 || numbers.length === 0) return
    const map = scratch.words(numbers.length)
    this.#device.upload(map, asBytes(numbers), 0, recorder)
    this.#kernels.recode.record(recorder, this.#values.buffer, this.#validity?.buffer, map, { first, count })
  }
}

/** Room for the values of so many rows. */
export function valuesRegion(
  device: Device,
  { name, type }: ColumnDefinition,
  rows: number,
): Promise<Region> {
  return Region.create(device, 'columns', `values of ${name}`, columnWords(type), rows)
}

/** Room for so many words of a bitmap. */
export function validityRegion(device: Device, { name }: ColumnDefinition, words: number): Promise<Region> {
  return Region.create(device, 'columns', `validity of ${name}`, 1, words)
}

/** Batches have the columns of their relation, which `settleBatch` sees to. */
function columnOf(columns: RelationBatch['columns'], { name, type }: ColumnDefinition): ColumnValues {
  return (
    columns.get(name) ?? { values: new Uint8Array(0), ...(type === 'string' ? { strings: NO_VALUES } : {}) }
  )
}

function mergeAll(known: StringDictionary, batches: readonly Pick<ColumnValues, 'strings'>[]): GrownStrings {
  let strings = known
  let moved: Uint32Array | undefined
  const added: Uint32Array[] = []
  for (const batch of batches) {
    const merged = strings.merge(batch.strings ?? NO_VALUES)
    strings = merged.strings
    const { moved: next } = merged
    if (next !== undefined) {
      moved = moved === undefined ? next.slice(0, known.size) : moved.map((number) => next[number])
      for (const numbers of added) numbers.set(numbers.map((number) => next[number]))
    }
    added.push(merged.added)
  }
  return { strings, moved, added }
}
