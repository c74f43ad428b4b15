import { asBytes } from '../../protocol/columns.js'
import { WarpdexError } from '../../protocol/errors.js'
import { type IndexDefinition, type PayloadKind, payloadBytes } from '../../protocol/types.js'

/** A column of payloads of kind `bytes`: payload i is bytes offsets[i] to offsets[i + 1]. */
export interface Blob {
  readonly bytes: Uint8Array
  readonly offsets: Uint32Array
}

/** Payloads to store, one a key: a column, or a list of single ones, which costs work for each. Text becomes UTF-8. */
export type PayloadsInput = Uint32Array | BigUint64Array | Uint8Array | Blob | readonly PayloadInput[]
export type PayloadInput = number | bigint | string | Uint8Array

/** A column of payloads as it goes over the wire. */
export interface PayloadColumn {
  readonly bytes: Uint8Array
  /** For kind `bytes` only. */
  readonly offsets: Uint32Array | undefined
}

/**
 * Payloads to store as a column.
 *
 * @throws WarpdexError `BAD_REQUEST` for payloads that are not of the index's kind, or not one for each of `count` keys
 */
export function payloadColumn(
  payloads: PayloadsInput,
  definition: IndexDefinition,
  count: number,
): PayloadColumn {
  const column = readInput(payloads, definition)
  const width = payloadBytes(definition.payloadKind)
  const found = width === undefined ? (column.offsets?.length ?? 0) - 1 : column.bytes.length / width
  if (found === count) return column
  throw new WarpdexError('BAD_REQUEST', `${count} keys came with ${found} payloads; each needs one`)
}

function readInput(payloads: PayloadsInput, definition: IndexDefinition): PayloadColumn {
  if (isList(payloads)) return listColumn(payloads, definition)
  const { payloadKind } = definition
  if (payloadKind === 'bytes') {
    if ('offsets' in payloads) return payloads
  } else if (!('offsets' in payloads) && payloads instanceof arrayOf(payloadKind)) {
    return { bytes: asBytes(payloads), offsets: undefined }
  }
  throw wrongKind(payloads.constructor.name, definition)
}

function arrayOf(kind: PayloadKind): typeof Uint32Array | typeof BigUint64Array | typeof Uint8Array {
  if (kind === 'u32') return Uint32Array
  return kind === 'u64' ? BigUint64Array : Uint8Array
}

function isList(payloads: PayloadsInput): payloads is readonly PayloadInput[] {
  return Array.isArray(payloads)
}

function listColumn(payloads: readonly PayloadInput[], definition: IndexDefinition): PayloadColumn {
  const { payloadKind } = definition
  if (payloadKind === 'u32') {
    const column = Uint32Array.from(payloads, (payload) => {
      if (typeof payload === 'number' && payload >>> 0 === payload) return payload
      throw wrongKind(payload, definition)
    })
    return { bytes: asBytes(column), offsets: undefined }
  }
  if (payloadKind === 'u64') {
    const column = BigUint64Array.from(payloads, (payload) => {
      const value = typeof payload === 'number' && Number.isSafeInteger(payload) ? BigInt(payload) : payload
      if (typeof value === 'bigint' && BigInt.asUintN(64, value) === value) return value
      throw wrongKind(payload, definition)
    })
    return { bytes: asBytes(column), offsets: undefined }
  }
  return joinRows(payloads, definition)
}

function joinRows(payloads: readonly PayloadInput[], definition: IndexDefinition): PayloadColumn {
  const width = payloadBytes(definition.payloadKind)
  const encoder = new TextEncoder()
  const offsets = new Uint32Array(payloads.length + 1)
  let end = 0
  const rows = payloads.map((payload, i) => {
    const row = typeof payload === 'string' ? encoder.encode(payload) : payload
    if (!(row instanceof Uint8Array) || (width !== undefined && row.length !== width)) {
      throw wrongKind(payload, definition)
    }
    end += row.length
    if (end > 0xffffffff) throw new WarpdexError('TOO_LARGE', 'a batch has more than 4 GiB of payloads')
    offsets[i + 1] = end
    return row
  })
  const bytes = new Uint8Array(end)
  rows.forEach((row, i) => {
    bytes.set(row, offsets[i])
  })
  return { bytes, offsets: width === undefined ? offsets : undefined }
}

function wrongKind(payload: unknown, { name, payloadKind }: IndexDefinition): WarpdexError {
  const found = payload instanceof Uint8Array ? `${payload.length} bytes` : String(payload).slice(0, 40)
  const right: Record<string, string> = {
    u32: 'Uint32Array or a list of whole numbers',
    u64: 'BigUint64Array or a list of bigints',
    bytes: 'list of strings or Uint8Arrays, or {bytes, offsets}',
  }
  return new WarpdexError(
    'BAD_REQUEST',
    `${found} does not fit index "${name}"; its ${payloadKind} payloads are given as a ${right[payloadKind] ?? 'Uint8Array of rows, or a list of Uint8Arrays or strings of that length'}`,
  )
}
