import { asBytes } from '../../protocol/columns.js'
import { badRequest, type WarpdexError } from '../../protocol/errors.js'
import { type Rows, rowsOf } from '../../protocol/rows.js'
import { isIterable, shown, titleOf } from '../../protocol/shown.js'
import { type IndexDefinition, type PayloadKind, payloadBytes } from '../../protocol/types.js'

/** A column of payloads of kind `bytes`: payload i is bytes offsets[i] to offsets[i + 1]. */
export interface Blob {
  readonly bytes: Uint8Array
  readonly offsets: Uint32Array
}

/** Payloads to store, one a key: a column, or a list of single ones, which costs work for each. Text becomes UTF-8. */
export type PayloadsInput = Uint32Array | BigUint64Array | Uint8Array | Blob | readonly PayloadInput[]
export type PayloadInput = number | bigint | string | Uint8Array

/**
 * Payloads to store as a column.
 *
 * @throws WarpdexError `BAD_REQUEST` for payloads that are not of the index's kind, or not one for each of `count` keys
 */
export function payloadColumn(payloads: PayloadsInput, definition: IndexDefinition, count: number): Rows {
  const column = readInput(payloads, definition)
  const width = payloadBytes(definition.payloadKind)
  const found = width === undefined ? (column.offsets?.length ?? 0) - 1 : column.bytes.length / width
  if (found === count) return column
  throw badRequest(`${count} keys came with ${found} payloads; each needs one`)
}

function readInput(payloads: PayloadsInput, definition: IndexDefinition): Rows {
  if (isList(payloads)) return listColumn(payloads, definition)
  const { payloadKind } = definition
  if (payloadKind === 'bytes') {
    if (isBlob(payloads)) return payloads
  } else if (ArrayBuffer.isView(payloads) && payloads instanceof arrayOf(payloadKind)) {
    return { bytes: asBytes(payloads) }
  }
  throw wrongColumn(payloads, definition)
}

/** Whether bytes come with offsets that cut them. */
export function isBlob(column: unknown): column is Blob {
  if (typeof column !== 'object' || column === null || !('bytes' in column) || !('offsets' in column)) {
    return false
  }
  const { bytes, offsets } = column
  return bytes instanceof Uint8Array && offsets instanceof Uint32Array && offsets.length > 0
}

function arrayOf(kind: PayloadKind): typeof Uint32Array | typeof BigUint64Array | typeof Uint8Array {
  if (kind === 'u32') return Uint32Array
  return kind === 'u64' ? BigUint64Array : Uint8Array
}

function isList(payloads: PayloadsInput): payloads is readonly PayloadInput[] {
  return Array.isArray(payloads)
}

function listColumn(payloads: readonly PayloadInput[], definition: IndexDefinition): Rows {
  const { payloadKind } = definition
  if (payloadKind === 'u32') {
    const column = Uint32Array.from(payloads, (payload, i) => {
      if (typeof payload === 'number' && payload >>> 0 === payload) return payload
      throw unfit(payload, i, definition)
    })
    return { bytes: asBytes(column) }
  }
  if (payloadKind === 'u64') {
    const column = BigUint64Array.from(payloads, (payload, i) => {
      const value = typeof payload === 'number' && Number.isSafeInteger(payload) ? BigInt(payload) : payload
      if (typeof value === 'bigint' && BigInt.asUintN(64, value) === value) return value
      throw unfit(payload, i, definition)
    })
    return { bytes: asBytes(column) }
  }
  return listRows(payloads, definition)
}

function listRows(payloads: readonly PayloadInput[], definition: IndexDefinition): Rows {
  const width = payloadBytes(definition.payloadKind)
  const encoder = new TextEncoder()
  const rows = Array.from(payloads, (payload, i) => {
    const row = typeof payload === 'string' ? encoder.encode(payload) : payload
    if (row instanceof Uint8Array && (width === undefined || row.length === width)) return row
    throw unfit(payload, i, definition)
  })
  const { bytes, offsets } = rowsOf(rows)
  return width === undefined ? { bytes, offsets } : { bytes }
}

function wrongColumn(payloads: unknown, definition: IndexDefinition): WarpdexError {
  const single = ['string', 'number', 'bigint'].includes(typeof payloads)
  const list = isIterable(payloads) && !ArrayBuffer.isView(payloads) ? '; Array.from makes a list of it' : ''
  return wrongKind(
    single ? shown(payloads) : titleOf(payloads),
    definition,
    single ? `; a single one is a list of one, [${shown(payloads)}]` : list,
  )
}

function unfit(payload: unknown, i: number, definition: IndexDefinition): WarpdexError {
  const found = payload instanceof Uint8Array ? `${payload.length} bytes` : shown(payload)
  return wrongKind(`payload ${i} (${found})`, definition, '')
}

function wrongKind(what: string, { name, payloadKind }: IndexDefinition, advice: string): WarpdexError {
  const right: Record<string, string> = {
    u32: 'Uint32Array or a list of whole numbers from 0 to 4294967295, one a key',
    u64: 'BigUint64Array or a list of bigints from 0n to 2n ** 64n - 1n, one a key',
    bytes: 'list of texts or Uint8Arrays, one a key, or {bytes, offsets}',
  }
  const rows = 'Uint8Array of rows, or a list of Uint8Arrays or texts of that length, one a key'
  return badRequest(
    `${what} does not fit index "${name}"; its ${payloadKind} payloads are given as a ${right[payloadKind] ?? rows}${advice}`,
  )
}
