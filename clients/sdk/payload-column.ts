import {
  asBytes,
  type Column,
  columnOf,
  countOf,
  KEY_ARRAYS,
  numberColumn,
  oneNumber,
} from '../../protocol/columns.js'
import { badRequest, WarpdexError } from '../../protocol/errors.js'
import { LIMITS } from '../../protocol/limits.js'
import { isIterable, isList, shown, titleOf } from '../../protocol/shown.js'
import { hasLoneSurrogate } from '../../protocol/tuple-key.js'
import { type IndexDefinition, type PayloadKind, payloadBytes } from '../../protocol/types.js'

/** A column of payloads of any length: payload i is bytes offsets[i] to offsets[i + 1]. */
export interface Blob {
  readonly bytes: Uint8Array
  readonly offsets: Uint32Array
}

/** Payloads to store, one a key: a column, or a list of single ones, which costs work for each. Text becomes UTF-8. */
export type PayloadsInput<P extends PayloadKind = PayloadKind> = [PayloadKind] extends [P]
  ? Uint32Array | BigUint64Array | Uint8Array | Blob | readonly PayloadInput[]
  : PayloadColumn<P> | readonly PayloadToStore<P>[]

type PayloadColumn<P extends PayloadKind> = P extends 'u32'
  ? Uint32Array
  : P extends 'u64'
    ? BigUint64Array
    : P extends `fixed(${number})`
      ? Uint8Array
      : Blob

/** One of them, of any kind: whatever JSON can say may be one. */
export type PayloadInput = unknown

/** A payload that a caller may give for an index of the kind; for `json` what `JSON.stringify` takes. */
export type PayloadToStore<P extends PayloadKind> = P extends 'u32'
  ? number
  : P extends 'u64'
    ? bigint | number
    : P extends 'text'
      ? string
      : P extends 'json'
        ? unknown
        : Uint8Array | string

const encoder = new TextEncoder()

/**
 * Payloads to store as a column.
 *
 * @throws WarpdexError `BAD_REQUEST` for payloads that are not of the index's kind, or not one for each of `count` keys
 */
export function payloadColumn(payloads: PayloadsInput, definition: IndexDefinition, count: number): Column {
  const column = readInput(payloads, definition)
  const found = countOf(column)
  if (found === count) return column
  throw badRequest(`${count} keys came with ${found} payloads; each needs one`)
}

/**
 * The payload of a call that stores one.
 *
 * @throws WarpdexError as `payloadColumn` does, and `TOO_LARGE` for one that no server takes
 */
export function singlePayload(payload: PayloadInput, definition: IndexDefinition): Column {
  const { payloadKind } = definition
  if (payloadKind === 'u32' || payloadKind === 'u64') {
    const column = oneNumber(payloadKind, payload)
    if (column === undefined) throw unfit(payload, 0, definition)
    return column
  }
  const column = payloadColumn([payload], definition, 1)
  const { byteLength } = column.bytes
  if (byteLength <= LIMITS.payloadBytes) return column
  throw new WarpdexError(
    'TOO_LARGE',
    `the payload has ${byteLength} bytes; ${LIMITS.payloadBytes} are allowed`,
  )
}

/** What stands in the place of a payload where a write has none for a key. */
export function noPayload({ payloadKind }: IndexDefinition): PayloadInput {
  if (payloadKind === 'u32' || payloadKind === 'u64') return 0
  const width = payloadBytes(payloadKind)
  return width === undefined ? '' : new Uint8Array(width)
}

function readInput(payloads: PayloadsInput, definition: IndexDefinition): Column {
  if (isList(payloads)) return listColumn(payloads, definition)
  const { payloadKind } = definition
  const width = payloadBytes(payloadKind)
  if (width === undefined) {
    if (isBlob(payloads)) return { bytes: payloads.bytes, offsets: payloads.offsets }
  } else {
    const Column = payloadKind === 'u32' || payloadKind === 'u64' ? KEY_ARRAYS[payloadKind] : Uint8Array
    if (ArrayBuffer.isView(payloads) && payloads instanceof Object(Column))
      return { bytes: asBytes(payloads), width }
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

function listColumn(payloads: readonly PayloadInput[], definition: IndexDefinition): Column {
  const { payloadKind } = definition
  const width = payloadBytes(payloadKind)
  if (payloadKind === 'u32' || payloadKind === 'u64') {
    const numbers = numberColumn(payloadKind, payloads, (i) => unfit(payloads[i], i, definition))
    return { bytes: asBytes(numbers), width: numbers.BYTES_PER_ELEMENT }
  }
  const rows = Array.from(payloads, (payload, i) => {
    const row = bytesOf(payload, payloadKind)
    if (row !== undefined && (width === undefined || row.length === width)) return row
    throw unfit(payload, i, definition)
  })
  return columnOf(rows, width)
}

/** A payload as it is stored, or undefined for what is none of the kind. */
function bytesOf(payload: PayloadInput, kind: PayloadKind): Uint8Array | undefined {
  if (kind === 'json') return jsonBytes(payload)
  if (typeof payload !== 'string')
    return kind !== 'text' && payload instanceof Uint8Array ? payload : undefined
  return kind === 'text' && hasLoneSurrogate(payload) ? undefined : encoder.encode(payload)
}

function jsonBytes(value: unknown): Uint8Array | undefined {
  try {
    const text: string | undefined = JSON.stringify(value)
    return text === undefined ? undefined : encoder.encode(text)
  } catch {
    // A cycle, a bigint, or what a method of the value's own throws.
    return undefined
  }
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
    text: 'list of texts, without halves of surrogate pairs, one a key, or {bytes, offsets}',
    json: 'list of what JSON can say, one a key, or {bytes, offsets}',
  }
  const rows = 'Uint8Array of rows, or a list of Uint8Arrays or texts of that length, one a key'
  return badRequest(
    `${what} does not fit index "${name}"; its ${payloadKind} payloads are given as a ${right[payloadKind] ?? rows}${advice}`,
  )
}
