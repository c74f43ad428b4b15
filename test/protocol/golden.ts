import { asBytes } from '../../protocol/columns.js'
import {
  decodeDataReply,
  decodeDataRequest,
  encodeDataReply,
  encodeDataRequest,
} from '../../protocol/data-frame.js'
import type {
  ColumnName,
  DataOp,
  DataOptions,
  IndexHandle,
  WireColumn,
  WireColumns,
} from '../../protocol/data-request.js'
import {
  decodeFrame,
  encodeFrame,
  FrameError,
  isControlFrame,
  type Section,
  type SectionType,
} from '../../protocol/frame.js'

/** A column as it stands in JSON: numbers of 64 bits are texts, and the bytes of a blob are hexadecimal. */
export interface GoldenColumn {
  readonly name: string
  readonly type: SectionType
  readonly values?: readonly (number | string)[]
  readonly bytes?: string
  readonly offsets?: readonly number[]
}

/** What a control frame says. */
export interface GoldenControl {
  readonly header: Readonly<Record<string, unknown>>
  readonly sections: readonly GoldenColumn[]
}

/** What a data frame says; options at their defaults are left out. */
export interface GoldenData extends Partial<IndexHandle>, DataOptions {
  readonly id: number
  readonly op: DataOp
  readonly count?: number
  readonly columns: readonly GoldenColumn[]
}

export type GoldenMessage = GoldenControl | GoldenData

export interface GoldenFrame {
  readonly name: string
  readonly hex: string
  readonly message: GoldenMessage
}

/** A request that is refused. */
export interface GoldenRefusal {
  readonly name: string
  readonly hex: string
  readonly id: number | null
  readonly code: string
}

const DEFAULTS = new Map<string, unknown>([
  ...(['limit', 'deadline'] as const).map((name) => [name, 0] as const),
  ...(
    [
      'reverse',
      'fromExclusive',
      'toExclusive',
      'withSequences',
      'withoutKeys',
      'withoutPayloads',
      'withExpireAt',
      'opensVersion',
    ] as const
  ).map((name) => [name, false] as const),
  ['mode', 'append'],
])

const ARRAYS = {
  u8: Uint8Array,
  u32: Uint32Array,
  i32: Int32Array,
  f32: Float32Array,
  f64: Float64Array,
  u64: BigUint64Array,
  i64: BigInt64Array,
} as const

export function encodeGolden(message: GoldenMessage): Uint8Array {
  if ('header' in message)
    return encodeFrame(message.header, Object.fromEntries(message.sections.map(columnOf)))
  const columns = Object.fromEntries(message.columns.map(columnOf)) as WireColumns
  const { id, op, handle, generation, count = 0 } = message
  if (handle === undefined || generation === undefined) {
    return Buffer.concat(encodeDataReply({ id, op, columns }))
  }
  return encodeDataRequest({ ...message, handle, generation, count, columns })
}

export function decodeGolden(frame: Uint8Array): GoldenMessage {
  if (isControlFrame(frame)) {
    const { header, sections } = decodeFrame(frame)
    return { header, sections: [...sections].map(([name, section]) => jsonOf(name, section)) }
  }
  const isReply = (frame[24]! & 1) === 1
  const { columns, ...fields } = isReply ? decodeDataReply(frame) : decodeDataRequest(frame)
  const given = Object.entries(fields).filter(([name, value]) => value !== DEFAULTS.get(name))
  const all = Object.entries(columns) as [ColumnName, WireColumn][]
  const message = { ...Object.fromEntries(given), columns: all.map(([name, column]) => jsonOf(name, column)) }
  return JSON.parse(JSON.stringify(message))
}

function columnOf({ name, type, values = [], bytes, offsets }: GoldenColumn): [string, WireColumn] {
  const column = { type, bytes: type === 'bytes' ? Buffer.from(bytes ?? '', 'hex') : bytesOf(type, values) }
  return [name, offsets === undefined ? column : { ...column, offsets: asBytes(Uint32Array.from(offsets)) }]
}

function bytesOf(type: Exclude<SectionType, 'bytes'>, values: readonly (number | string)[]): Uint8Array {
  if (type === 'u64' || type === 'i64') return asBytes(ARRAYS[type].from(values.map(BigInt)))
  return asBytes(ARRAYS[type].from(values.map(Number)))
}

function jsonOf(name: string, { type, bytes, offsets }: Section & WireColumn): GoldenColumn {
  const content =
    type === 'bytes' ? { bytes: Buffer.from(bytes).toString('hex') } : { values: valuesOf(type, bytes) }
  const cuts = offsets === undefined ? {} : { offsets: [...new Uint32Array(new Uint8Array(offsets).buffer)] }
  return { name, type, ...content, ...cuts }
}

function valuesOf(type: Exclude<SectionType, 'bytes'>, bytes: Uint8Array): (number | string)[] {
  const values = [...new ARRAYS[type](new Uint8Array(bytes).buffer)]
  return values.map((value) => (typeof value === 'bigint' ? String(value) : value))
}

/** The id with which a request is refused: null where it cannot be read. */
export function refusedId(frame: Uint8Array, error: unknown): number | null {
  return error instanceof FrameError ? error.id : decodeFrame(frame).id
}
