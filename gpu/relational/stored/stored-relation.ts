import { columnWords } from '../../../protocol/column-types.js'
import { asBytes } from '../../../protocol/columns.js'
import { WarpdexError } from '../../../protocol/errors.js'
import type { ColumnDefinition } from '../../../protocol/relation.js'
import type { RelationBatch } from '../../../protocol/relation-batch.js'
import { type RemovedRows, WORD_ROWS } from '../../../protocol/removed-rows.js'
import type { Device } from '../../device/device.js'
import type { ImagePart, RegionStats, StructureImage } from '../../index-structure.js'
import { copiedParts, fillRegion, hostPart, type ReadPart } from '../../memory/image-parts.js'
import { hostParts } from '../../memory/page-out.js'
import type { PageRun } from '../../memory/page-run.js'
import type { Region } from '../../memory/region.js'
import type { DeviceRelation } from '../device-relation.js'
import type { KeptFacts } from '../order/column-facts.js'
import { AppendBits } from '../query/append-bits.js'
import type { DeviceWork } from '../query/device-work.js'
import type { Table } from '../query/table.js'
import { SampleKeeper } from '../relation-sample.js'
import { LiveBits, liveRegion } from './live-rows.js'
import { Recode } from './recode.js'
import { columnFromImage } from './restore-column.js'
import { type ColumnKernels, type PreparedValues, StoredColumn } from './stored-column.js'

/** Raised whenever the parts of an image change. */
const LAYOUT_VERSION = 1
/** That of an image of a relation in which rows were deleted. */
const LIVE_LAYOUT_VERSION = 2

/** Changes whose memory is made sure of, but which have changed nothing yet. */
export interface PreparedChange {
  /** Makes them: whatever is submitted after this returns sees all of them. */
  apply(): void
  /** Gives them up without a trace. */
  discard(): void
}

export interface RelationFigures {
  /** Rows that were not deleted. */
  readonly rows: number
  /** Deleted rows, which take their place still; absent where none was deleted. */
  readonly deletedRows?: number
  /** How often rows have got other numbers, by compactions. */
  readonly numbering: number
  /** Bytes of device memory that the relation owns. */
  readonly deviceBytes: number
  /** Bytes of it that hold values; the rest is room to grow. */
  readonly usedBytes: number
  /** Bytes of the different strings of its columns, in host memory. */
  readonly stringBytes: number
  readonly regions: readonly RegionStats[]
}

/** The columns of one relation on the device. Reads may overlap each other; none is under way when an append is applied. */
export class StoredRelation {
  readonly #device: Device
  readonly #columns: readonly StoredColumn[]
  readonly #sample = new SampleKeeper()
  readonly #facts: KeptFacts = new Map()
  readonly #appendBits: AppendBits
  /** How often its rows have got other numbers. */
  numbering = 0
  /** From the first deletion on. */
  #live: LiveBits | undefined
  /** Nothing of it goes on beside requests. */
  readonly background = undefined
  readonly derivedBytes = 0

  private constructor(device: Device, columns: readonly StoredColumn[], { appendBits }: ColumnKernels) {
    this.#device = device
    this.#columns = columns
    this.#appendBits = appendBits
  }

  /**
   * A relation without rows.
   * @throws WarpdexError `OUT_OF_DEVICE_MEMORY`
   */
  static async create(device: Device, definitions: readonly ColumnDefinition[]): Promise<StoredRelation> {
    const kernels = kernelsOf(device)
    return StoredRelation.#of(device, definitions, kernels, (column) =>
      StoredColumn.create(device, column, kernels),
    )
  }

  /**
   * Brings a relation back.
   * @throws WarpdexError `DAMAGED_FILE` when the image is not that of such a relation, `OUT_OF_DEVICE_MEMORY`
   */
  static async restore(
    device: Device,
    definitions: readonly ColumnDefinition[],
    meta: StructureImage['meta'],
    readPart: ReadPart,
  ): Promise<StoredRelation> {
    if (meta.layout !== LAYOUT_VERSION && meta.layout !== LIVE_LAYOUT_VERSION) {
      const message = `the image has layout ${meta.layout}; this version reads those up to ${LIVE_LAYOUT_VERSION}`
      throw new WarpdexError('DAMAGED_FILE', message)
    }
    const kernels = kernelsOf(device)
    const restored = await StoredRelation.#of(device, definitions, kernels, (column, i) =>
      columnFromImage(device, column, kernels, { meta, number: i, readPart }),
    )
    try {
      if (meta.layout === LIVE_LAYOUT_VERSION) restored.numbering = Number(meta.numbering ?? 0)
      if (typeof meta.deleted === 'number') await restored.#restoreLive(meta.deleted, readPart)
      return restored
    } catch (error) {
      restored.destroy()
      throw error
    }
  }

  async #restoreLive(deleted: number, readPart: ReadPart): Promise<void> {
    const region = await liveRegion(this.#device, this.rows)
    this.#live = new LiveBits(this.#device, region, this.#appendBits, deleted)
    await fillRegion(this.#device, region, Math.ceil(this.rows / WORD_ROWS), readPart('live'))
    await this.#device.compiled()
  }

  static async #of(
    device: Device,
    definitions: readonly ColumnDefinition[],
    kernels: ColumnKernels,
    make: (definition: ColumnDefinition, number: number) => Promise<StoredColumn>,
  ): Promise<StoredRelation> {
    const columns: StoredColumn[] = []
    try {
      for (const [i, definition] of definitions.entries()) columns.push(await make(definition, i))
      await device.compiled()
      return new StoredRelation(device, columns, kernels)
    } catch (error) {
      for (const column of columns) column.destroy()
      throw error
    }
  }

  /** Those that were deleted included. */
  get rows(): number {
    return this.#columns[0].rows
  }

  /**
   * Its columns as they are now: they change with the next append or deletion.
   * @throws WarpdexError `DEVICE_LOST` once its device is, so that nobody looks for its columns on the next one
   */
  get relation(): DeviceRelation {
    this.#device.check()
    const columns = this.#columns.map((column) => [column.definition.name, column.data] as const)
    const live = this.#live && {
      bits: this.#live.region.buffer,
      count: this.rows - this.#live.dead,
    }
    const { rows, numbering } = this
    return { rows, live, numbering, columns: new Map(columns), sample: this.#sample, facts: this.#facts }
  }

  /**
   * Makes room for batches, which `settleBatch` must have settled, one after the other.
   * @param removed rows that are there, and go when those of the batches come
   * @throws WarpdexError `OUT_OF_DEVICE_MEMORY`, `TOO_LARGE`, with nothing changed
   */
  async prepare(batches: readonly RelationBatch[], removed?: RemovedRows): Promise<PreparedChange> {
    const rows = batches.reduce((sum, batch) => sum + batch.rows, 0)
    const isTight = this.#requireRoom(rows, removed !== undefined)
    const prepared: { readonly column: StoredColumn; readonly values: PreparedValues }[] = []
    const scratch = this.#device.scratch()
    let live = this.#live
    const discard = () => {
      for (const { column, values } of prepared) column.discard(values)
      if (live !== this.#live) live?.region.destroy()
      scratch.release()
    }
    try {
      if (removed !== undefined) live ??= await this.#newLive(rows)
      await live?.reserve(this.rows + rows)
      for (const column of this.#columns) {
        prepared.push({ column, values: await column.prepare(batches, isTight, scratch) })
      }
    } catch (error) {
      discard()
      throw error
    }
    return {
      discard,
      apply: () => {
        const recorder = this.#device.record()
        if (live !== this.#live) live?.append(recorder, 0, this.rows)
        this.#live = live
        if (removed !== undefined) live?.remove(recorder, scratch, removed)
        if (rows > 0) live?.append(recorder, this.rows, rows)
        for (const { column, values } of prepared) column.apply(values, recorder, scratch)
        if (prepared.some(({ values }) => values.strings?.moved !== undefined)) this.#sample.forget()
        this.#facts.clear()
        recorder.submit()
        scratch.release()
      },
    }
  }

  async #newLive(added: number): Promise<LiveBits> {
    const region = await liveRegion(this.#device, this.rows + added)
    const live = new LiveBits(this.#device, region, this.#appendBits, 0)
    await this.#device.compiled()
    return live
  }

  /**
   * Adds the rows of a query's table, whose columns are those of the relation in their order; booleans are numbers. All that was recorded
   * is submitted. Once this has failed the relation is good for nothing.
   * @throws WarpdexError `OUT_OF_DEVICE_MEMORY`, `TOO_LARGE`
   */
  async take(work: DeviceWork, table: Table): Promise<void> {
    const { rows } = table
    if (rows === 0) return
    const isTight = this.#requireRoom(rows)
    this.#facts.clear()
    await work.untilSubmitted(async () => {
      for (const [i, column] of this.#columns.entries()) {
        await column.take(work, table.dense(work, i), rows, isTight)
      }
    })
  }

  /** Gives back room to grow, after the last table was taken. */
  async settle(): Promise<void> {
    for (const column of this.#columns) await column.settle()
  }

  /** As `IndexStructure.image`. */
  async image(): Promise<StructureImage> {
    return this.#imageOf(await hostParts(this.#device, this.#namedRegions()))
  }

  /** An image as of the last applied append, to be read once; later appends do not change it. `release` gives its memory back, read or not. */
  async snapshot(): Promise<StructureImage & { release(): void }> {
    const { parts, release } = copiedParts(this.#device, this.#namedRegions())
    return { ...this.#imageOf(parts), release }
  }

  #imageOf(parts: readonly ImagePart[]): StructureImage {
    const meta: Record<string, number | boolean> = {
      ...(this.#live === undefined && this.numbering === 0
        ? { layout: LAYOUT_VERSION }
        : { layout: LIVE_LAYOUT_VERSION, numbering: this.numbering }),
      ...(this.#live && { deleted: this.#live.dead }),
      rows: this.rows,
    }
    const strings: ImagePart[] = []
    this.#columns.forEach((column, i) => {
      meta[`${i}.nulls`] = column.data.validity !== undefined
      if (column.strings === undefined) return
      const { bytes, offsets } = column.strings
      meta[`${i}.strings`] = column.strings.size
      strings.push(hostPart(`${i}.strings`, bytes), hostPart(`${i}.offsets`, asBytes(offsets)))
    })
    return { meta, parts: [...parts, ...strings] }
  }

  get runs(): readonly PageRun[] {
    return this.#namedRegions().map(([, { buffer }]) => buffer)
  }

  get deviceBytes(): number {
    return this.#namedRegions().reduce((sum, [, { bytes }]) => sum + bytes, 0)
  }

  stats(): RelationFigures {
    const regions = this.#columns.flatMap(({ definition, regions }) =>
      regions.map(([role, { bytes, usedBytes }]) => {
        return { role: `${role} of ${definition.name}`, bytes, usedBytes, garbageBytes: 0 }
      }),
    )
    if (this.#live !== undefined) {
      const { bytes, usedBytes } = this.#live.region
      regions.push({ role: 'live rows', bytes, usedBytes, garbageBytes: 0 })
    }
    const stringBytes = this.#columns.reduce(
      (sum, { strings }) =>
        sum + (strings === undefined ? 0 : strings.bytes.byteLength + strings.offsets.byteLength),
      0,
    )
    const dead = this.#live?.dead ?? 0
    return {
      rows: this.rows - dead,
      ...(this.#live === undefined ? {} : { deletedRows: dead }),
      numbering: this.numbering,
      deviceBytes: this.deviceBytes,
      usedBytes: regions.reduce((sum, { usedBytes }) => sum + usedBytes, 0),
      stringBytes,
      regions,
    }
  }

  destroy(): void {
    for (const column of this.#columns) column.destroy()
    this.#live?.region.destroy()
  }

  /**
   * Each column must be bound as a whole, and all together are one structure.
   * @returns whether there is no room to grow beyond what these rows need
   */
  #requireRoom(added: number, removes = false): boolean {
    const rows = this.rows + added
    const { regionBytes, structureBytes } = this.#device
    const widest = Math.max(...this.#columns.map(({ definition }) => columnWords(definition.type) * 4))
    const most = Math.floor(regionBytes / widest)
    if (rows > most) {
      throw new WarpdexError(
        'OUT_OF_DEVICE_MEMORY',
        `the relation would have ${rows} rows; with a column of ${widest} bytes a value this device holds ${most}`,
      )
    }
    const isPartial = removes || this.#live !== undefined
    const live = isPartial ? this.#device.bytesOfPages(4 * Math.ceil(rows / WORD_ROWS)) : 0
    const least = this.#columns.reduce((sum, column) => sum + column.bytesWith(added, true), live)
    if (least > structureBytes) {
      throw new WarpdexError(
        'OUT_OF_DEVICE_MEMORY',
        `the relation would need ${least} bytes of device memory; ${structureBytes} are allowed`,
      )
    }
    return this.#columns.reduce((sum, column) => sum + column.bytesWith(added, false), live) > structureBytes
  }

  #namedRegions(): (readonly [string, Region])[] {
    const named = this.#columns.flatMap(({ regions }, i) =>
      regions.map(([role, region]) => [`${i}.${role}`, region] as const),
    )
    return this.#live === undefined ? named : [...named, ['live', this.#live.region] as const]
  }
}

function kernelsOf(device: Device): ColumnKernels {
  return { recode: new Recode(device), appendBits: new AppendBits(device) }
}
