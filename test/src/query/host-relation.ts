import type { Device } from '../../../gpu/device/device.js'
import type { DeviceMemory } from '../../../gpu/memory/page-run.js'
import type { DeviceColumnData, DeviceRelation } from '../../../gpu/relational/device-relation.js'
import { compareStrings, dictionaryOf } from '../../../gpu/relational/query/dictionaries.js'
import {
  type ColumnType,
  type StorageType,
  storageInRelation,
  storageOf,
} from '../../../protocol/column-types.js'
import { asBytes, numberColumn } from '../../../protocol/columns.js'
import type { ResultBatch } from '../../../protocol/query/result.js'
import type { ResultColumn } from '../../../protocol/query/tree.js'
import { formatText, hasTexts, parseText } from '../../../protocol/value-texts.js'

/** A value of a row: a bigint of 64-bit types, null where there is none. */
export type Cell = number | bigint | string | boolean | null

export interface HostColumn {
  readonly name: string
  readonly type: ColumnType
  readonly nullable: boolean
  readonly cells: readonly Cell[]
}

/** A relation in plain arrays, from which the device and the oracle get theirs. */
export interface HostRelation {
  readonly name: string
  readonly rows: number
  readonly columns: readonly HostColumn[]
}

export function hostRelation(name: string, columns: readonly HostColumn[]): HostRelation {
  return { name, rows: columns[0]?.cells.length ?? 0, columns }
}

/** The values of numbers as a column of bytes; nulls are 0. */
export function columnBytes(type: Exclude<ColumnType, 'string'>, cells: readonly Cell[]): Uint8Array {
  const storage = storageInRelation(type)
  const numbers = cells.map((cell) => {
    if (typeof cell === 'string') return hasTexts(type) ? parseText(cell, type)! : 0n
    return typeof cell === 'boolean' ? Number(cell) : (cell ?? 0)
  })
  const isWide = storage === 'u64' || storage === 'i64'
  const values = numbers.map((number) => (isWide ? BigInt(number) : Number(number)))
  return asBytes(numberColumn(storage, values, () => new Error(`no ${type}`) as never))
}

export function validityBytes(cells: readonly Cell[]): Uint8Array {
  const words = new Uint32Array(Math.ceil(cells.length / 32))
  cells.forEach((cell, row) => {
    if (cell !== null) words[row >> 5]! |= 1 << (row & 31)
  })
  return asBytes(words)
}

async function uploadBytes(device: Device, bytes: Uint8Array, label: string): Promise<DeviceMemory> {
  const buffer = await device.allocate(Math.max(16, bytes.byteLength), label)
  device.upload(buffer, bytes)
  return buffer
}

async function uploadColumn(device: Device, column: HostColumn): Promise<DeviceColumnData> {
  const { type, cells, nullable, name } = column
  const texts = cells.filter((cell) => typeof cell === 'string')
  const strings = type === 'string' ? [...new Set(texts)].sort(compareStrings) : []
  const codes = new Map(strings.map((text, code) => [text, code]))
  const bytes =
    type === 'string'
      ? columnBytes(
          'u32',
          cells.map((cell) => (typeof cell === 'string' ? codes.get(cell)! : null)),
        )
      : columnBytes(type, cells)
  return {
    type,
    values: await uploadBytes(device, bytes, name),
    validity: nullable ? await uploadBytes(device, validityBytes(cells), name) : undefined,
    dictionary: type === 'string' ? dictionaryOf(strings) : undefined,
  }
}

export async function uploadRelation(device: Device, relation: HostRelation): Promise<DeviceRelation> {
  const columns = new Map<string, DeviceColumnData>()
  for (const column of relation.columns) columns.set(column.name, await uploadColumn(device, column))
  return { rows: relation.rows, columns }
}

export function schemaOf({ columns }: HostRelation): readonly ResultColumn[] {
  return columns.map(({ name, type, nullable }) => ({ name, type, nullable }))
}

const READERS: Readonly<Record<StorageType, (view: DataView, row: number) => number | bigint>> = {
  u32: (view, row) => view.getUint32(row * 4, true),
  i32: (view, row) => view.getInt32(row * 4, true),
  f32: (view, row) => view.getFloat32(row * 4, true),
  u64: (view, row) => view.getBigUint64(row * 8, true),
  i64: (view, row) => view.getBigInt64(row * 8, true),
  f64: (view, row) => view.getFloat64(row * 8, true),
  i128: (view, row) => (view.getBigInt64(row * 16 + 8, true) << 64n) | view.getBigUint64(row * 16, true),
}

function readCell(type: ColumnType, view: DataView, row: number): Cell {
  const stored = READERS[storageOf(type)](view, row)
  if (type === 'boolean') return stored !== 0
  return hasTexts(type) ? formatText(BigInt(stored), type) : stored
}

/** The rows of batches, one after the other. */
export function rowsOf(batches: readonly ResultBatch[]): Cell[][] {
  return batches.flatMap(({ rows, columns }) => {
    const views = columns.map(
      ({ values }) => new DataView(values.buffer, values.byteOffset, values.byteLength),
    )
    return Array.from({ length: rows }, (_, row) =>
      columns.map(({ type, validity, texts }, i) => {
        if (validity !== undefined && (validity[row >> 3]! & (1 << (row & 7))) === 0) return null
        if (type === 'string') return texts![views[i]!.getUint32(row * 4, true)]!
        return readCell(type, views[i]!, row)
      }),
    )
  })
}
