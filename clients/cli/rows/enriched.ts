import { asBytes } from '../../../protocol/columns.js'
import { badRequest, toWarpdexError, WarpdexError } from '../../../protocol/errors.js'
import type { BatchColumn } from '../../../protocol/query/result.js'
import type { ColumnDefinition } from '../../../protocol/relation.js'
import type { IndexDefinition } from '../../../protocol/types.js'
import type { FileReader } from '../../sdk/files/file-reader.js'
import type { Index } from '../../sdk/index.js'
import { QueryBatch, ResultVector } from '../../sdk/query/query-batch.js'
import { asText } from '../bytes.js'
import { type AnyKey, parseKey } from '../keys.js'
import { type AnyPayload, showPayload } from '../payloads.js'
import { resultColumn } from './result-column.js'
import { cellText } from './text-forms.js'

/** What is looked up of a file's rows. */
export interface Lookup {
  readonly index: Index
  readonly definition: IndexDefinition
  /** Column of the file with the keys. */
  readonly key: string
  /** Name of the column that is added. */
  readonly as: string
  /** Whether bytes are written as hex digits. */
  readonly hex: boolean
  /** Called with the rows of a batch, and those of them whose keys have payloads. */
  readonly count: (rows: number, found: number) => void
}

/**
 * The rows of a file with the first payload of each one's key, null where there is none; batch by batch.
 * @throws WarpdexError `BAD_REQUEST` that names the row of a key that is none
 */
export async function* enriched(
  reader: FileReader,
  columns: readonly ColumnDefinition[],
  lookup: Lookup,
  signal: AbortSignal,
): AsyncGenerator<QueryBatch> {
  const { key, as } = lookup
  const names = columns.map(({ name }) => name)
  const at = names.indexOf(key)
  if (at < 0) {
    throw badRequest(`the file has no column ${JSON.stringify(key)}; its columns are ${names.join(', ')}`)
  }
  if (names.includes(as))
    throw badRequest(`the file has a column ${JSON.stringify(as)}; name another by --as`)
  let before = 0
  for await (const batch of reader.batches(columns)) {
    if (signal.aborted) throw new WarpdexError('CANCELLED', 'the lookup was cancelled')
    const own = columns.map((column) => resultColumn(column, batch))
    const added = await payloadColumn(new ResultVector(own[at]), before, lookup)
    yield new QueryBatch({ rows: batch.rows, columns: [...own, added] })
    before += batch.rows
  }
}

/** @param before rows of the batches before */
async function payloadColumn(
  column: ResultVector,
  before: number,
  { index, definition, as, hex, count }: Lookup,
): Promise<BatchColumn> {
  const keys: AnyKey[] = []
  const rows: number[] = []
  for (let row = 0; row < column.length; row++) {
    const text = cellText(column, column.at(row))
    if (text === null) continue
    rows.push(row)
    keys.push(keyAt(text, before + row, definition, hex))
  }
  const found = await index.getMany(keys)
  let foundRows = 0
  const payloads = Array.from({ length: column.length }, (): AnyPayload | null => null)
  rows.forEach((row, i) => {
    if (!found.has(i)) return
    payloads[row] = found.payloads.at(i)
    foundRows++
  })
  count(column.length, foundRows)
  const validity = new Uint8Array(Math.ceil(payloads.length / 8))
  for (const [row, payload] of payloads.entries()) if (payload !== null) validity[row >> 3] |= 1 << (row & 7)
  const common = { name: as, nullable: true, validity }
  const { payloadKind } = definition
  if (payloadKind === 'u32') {
    const values = asBytes(Uint32Array.from(payloads, Number))
    return { ...common, type: payloadKind, values, texts: undefined }
  }
  if (payloadKind === 'u64') {
    const values = asBytes(
      BigUint64Array.from(payloads, (payload) => (typeof payload === 'bigint' ? payload : 0n)),
    )
    return { ...common, type: payloadKind, values, texts: undefined }
  }
  const numbers = new Map<string, number>()
  const values = Uint32Array.from(payloads, (payload) => {
    if (payload === null) return 0
    const text = payloadText(payload, definition, hex)
    const number = numbers.get(text) ?? numbers.size
    numbers.set(text, number)
    return number
  })
  return { ...common, type: 'string', values: asBytes(values), texts: [...numbers.keys()] }
}

/** A cell holds any text, line ends too. */
function payloadText(payload: AnyPayload, definition: IndexDefinition, hex: boolean): string {
  if (typeof payload === 'string' && definition.payloadKind === 'text') return payload
  const text = payload instanceof Uint8Array && !hex ? asText(payload) : undefined
  return text ?? showPayload(payload, definition, hex)
}

/** Blanks around a number or a tuple mean nothing. */
function keyAt(text: string, row: number, definition: IndexDefinition, hex: boolean): AnyKey {
  const { keyType } = definition
  try {
    return parseKey(keyType === 'string' || keyType === 'bytes' ? text : text.trim(), definition, hex)
  } catch (thrown) {
    const { code, message } = toWarpdexError(thrown)
    throw new WarpdexError(code, `row ${row + 1}: ${message}`, { cause: thrown })
  }
}
