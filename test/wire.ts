import { decodeDataReply, encodeDataRequest } from '../protocol/data-frame.js'
import {
  COLUMNS,
  type ColumnName,
  DATA_OPS,
  type DataOp,
  type DataRequest,
  type IndexHandle,
  type WireColumn,
  type WireColumns,
  wireColumn,
} from '../protocol/data-request.js'
import {
  decodeFrame,
  encodeFrame,
  type Frame,
  isControlFrame,
  type Section,
  type Sections,
  sectionElementBytes,
} from '../protocol/frame.js'
import { LIMITS } from '../protocol/limits.js'
import type { OpenedIndex } from '../protocol/replies.js'
import { type KeyType, keyWidth, SEQUENCE_BYTES } from '../protocol/types.js'

/*
 * Requests as tests write them, `{id, op, index, ...options}` with columns by name, and their frames. The offsets of a column are sections
 * of their own here, so that tests can say of each how it is.
 */

/** What has to be known of an index to ask for its data. */
export type Opened = IndexHandle & { readonly keyType: KeyType }

/** A request's fields: those of a control request, or `index` and the options of a request for data. */
export type RequestFields = Readonly<Record<string, unknown>>

const OFFSETS: { readonly [Name in ColumnName]?: string } = {
  keys: 'keyOffsets',
  payloads: 'payloadOffsets',
  from: 'fromOffsets',
  to: 'toOffsets',
  tokens: 'tokenOffsets',
}
/** Operations on ranges, of which there is one where there are no columns. */
const RANGES = ['scan', 'countRanges', 'deleteRange']
const OFFSETS_NAMES = Object.values(OFFSETS)
/** What a load's reply counts, in its order. */
const LOAD_COUNTS = ['rows', 'inserted', 'replaced', 'existing', 'refused'] as const

/** The name of the index whose data a request is for; undefined for a control request. */
export function dataIndex({ op, index }: RequestFields): string | undefined {
  return isDataOp(op) && typeof index === 'string' ? index : undefined
}

/** The frame of a request for data. */
function dataFrame(fields: RequestFields, sections: Sections, opened: Opened): Uint8Array {
  const { op, all, index, strategy, resolution, after, ...options } = fields
  const columns: WireColumns = {
    ...columnsOf(sections),
    ...(after === undefined ? {} : { after: wireColumn('u64', BigUint64Array.of(BigInt(Number(after)))) }),
  }
  const { handle, generation, keyType } = opened
  return encodeDataRequest({
    handle,
    generation,
    count: countOf(columns, RANGES.includes(String(op)), keyType),
    traversal: strategy === undefined ? undefined : { strategy, resolution },
    ...options,
    op: all === true ? 'getAll' : op,
    columns,
  } as DataRequest)
}

/** The frame of any request; one for data is of the index `opened`. */
export function requestFrame(fields: RequestFields, sections: Sections = {}, opened?: Opened): Uint8Array {
  if (dataIndex(fields) === undefined) return encodeFrame(fields, sections)
  if (opened === undefined) throw new Error('a request for data is of an index that was opened')
  return dataFrame(fields, sections, opened)
}

/** A reply of either kind; the columns of data are sections, and the counts of a load are fields. */
export function replyFrame(bytes: Uint8Array): Frame {
  if (isControlFrame(bytes)) return decodeFrame(bytes, LIMITS.replyHeaderBytes)
  const { id, op, columns } = decodeDataReply(bytes)
  const sections = new Map<string, Section>()
  for (const name of COLUMNS) {
    const column = columns[name]
    if (column === undefined) continue
    sections.set(name, { type: column.type, bytes: column.bytes })
    if (column.offsets !== undefined) {
      sections.set(OFFSETS[name] ?? `${name}Offsets`, { type: 'u32', bytes: column.offsets })
    }
  }
  return { id, header: { id, ok: true, ...(op === 'load' && loadCounts(columns)) }, sections }
}

/** Sends requests of either kind over a connection, in their order, and opens each index before it asks for its data. */
export class Wire {
  readonly #send: (frame: Uint8Array) => void
  readonly #receive: (reply: Frame) => void
  readonly #opened = new Map<string, Opened>()
  readonly #waiting: (readonly [RequestFields, Sections])[] = []
  /** What is called with the replies to opens under way, by their ids. */
  readonly #opening = new Map<number, (reply: Frame) => void>()
  #nextId = Number.MAX_SAFE_INTEGER

  /** @param receive gets the replies to what was sent, without those to the opens that are made here */
  constructor(send: (frame: Uint8Array) => void, receive: (reply: Frame) => void) {
    this.#send = send
    this.#receive = receive
  }

  send(fields: RequestFields, sections: Sections = {}): void {
    this.#waiting.push([fields, sections])
    this.#pump()
  }

  /** A message came. */
  received(bytes: Uint8Array): void {
    const reply = replyFrame(bytes)
    const opened = this.#opening.get(Number(reply.id))
    if (opened === undefined) {
      this.#receive(reply)
      return
    }
    this.#opening.delete(Number(reply.id))
    opened(reply)
    this.#pump()
  }

  /** Opens an index, so that what is sent next does not wait for that. @returns undefined where it cannot be opened */
  open(index: string): Promise<Opened | undefined> {
    return new Promise((resolve) => this.#open(index, () => resolve(this.#opened.get(index))))
  }

  /** Opens an index again before its data is asked for the next time. */
  forget(index: string): void {
    this.#opened.delete(index)
  }

  #pump(): void {
    for (;;) {
      const next = this.#waiting[0]
      if (next === undefined || this.#opening.size > 0) return
      const [fields, sections] = next
      const index = dataIndex(fields)
      const opened = index === undefined ? undefined : this.#opened.get(index)
      if (index !== undefined && opened === undefined) {
        this.#open(index, (reply) => {
          if (reply.header.ok === true) return
          this.#waiting.shift()
          const id = Number(fields.id)
          this.#receive({ ...reply, id, header: { ...reply.header, id } })
        })
        return
      }
      this.#waiting.shift()
      // Whatever becomes of it, the name may mean another index then.
      if (/^(create|drop)/.test(String(fields.op))) this.#opened.delete(String(fields.index))
      this.#send(requestFrame(fields, sections, opened))
    }
  }

  #open(index: string, done: (reply: Frame) => void): void {
    const id = this.#nextId--
    this.#opening.set(id, (reply) => {
      if (reply.header.ok === true) this.#opened.set(index, reply.header as object as OpenedIndex)
      done(reply)
    })
    this.#send(encodeFrame({ id, op: 'open', index }))
  }
}

function isDataOp(op: unknown): op is DataOp {
  return DATA_OPS.some((known) => known === op)
}

function columnsOf(sections: Sections): WireColumns {
  const columns: { [Name in ColumnName]?: WireColumn } = {}
  for (const [name, section] of Object.entries(sections)) {
    const known = COLUMNS.find((candidate) => candidate === name)
    if (known !== undefined) columns[known] = { ...section, offsets: sections[OFFSETS[known] ?? '']?.bytes }
    else if (!OFFSETS_NAMES.includes(name)) throw new Error(`there is no column "${name}"`)
  }
  return columns
}

/** The count that the columns have; a test may say another. */
function countOf({ keys, from, to, tokens }: WireColumns, hasRanges: boolean, keyType: KeyType): number {
  if (!hasRanges) return keys === undefined ? 0 : rowsOf(keys, sectionElementBytes(keys.type))
  const ends = from ?? to
  if (ends !== undefined) return rowsOf(ends, sectionElementBytes(ends.type))
  return tokens === undefined ? 1 : rowsOf(tokens, (keyWidth(keyType) ?? 0) + SEQUENCE_BYTES)
}

function rowsOf({ bytes, offsets }: WireColumn, width: number): number {
  return Math.max(0, offsets === undefined ? Math.floor(bytes.length / width) : offsets.length / 4 - 1)
}

function loadCounts({ counts }: WireColumns): object {
  const words = new Uint32Array(new Uint8Array(counts?.bytes ?? []).buffer)
  return Object.fromEntries(LOAD_COUNTS.map((name, i) => [name, words[i]]))
}
