import { asBytes } from './columns.js'
import { badRequest } from './errors.js'
import type { Section, SectionType } from './frame.js'
import type { Traversal } from './traversal.js'
import { INSERT_MODES, type InsertMode } from './types.js'

/** Operations by code, from 1 on. A code never changes its meaning. */
export const DATA_OPS = [
  'get',
  'getAll',
  'count',
  'getNext',
  'scan',
  'explain',
  'insert',
  'delete',
  'write',
  'load',
  'countRanges',
  'deleteRange',
  'expect',
  'watch',
] as const
export type DataOp = (typeof DATA_OPS)[number]

/** Kinds of columns. A kind never changes its meaning; 32 to 39 are kept. */
export const COLUMN_KINDS = {
  keys: 1,
  from: 2,
  to: 3,
  tokens: 4,
  sequences: 5,
  ops: 6,
  payloads: 7,
  after: 8,
  found: 9,
  offsets: 10,
  counts: 11,
  more: 12,
  codes: 13,
  position: 33,
  expireAt: 34,
  conditions: 35,
} as const
export type ColumnName = keyof typeof COLUMN_KINDS
export const COLUMNS = Object.keys(COLUMN_KINDS) as readonly ColumnName[]

/** A column as it travels: values of one type and, where values have no common width, the offsets that cut them. */
export interface WireColumn extends Section {
  /** u32, one more than there are values; value i is bytes offsets[i] to offsets[i + 1]. */
  readonly offsets?: Uint8Array | undefined
}

export type WireColumns = { readonly [Name in ColumnName]?: WireColumn | undefined }

/** A column to be sent. One that does not say its type has that of its name, or of keys of the index. */
interface SentColumn {
  readonly type?: SectionType | undefined
  readonly bytes: Uint8Array
  readonly offsets?: ArrayBufferView | undefined
}

export type SentColumns = { readonly [Name in ColumnName]?: SentColumn | undefined }

/** Types of columns of requests that have no keys. */
export const COLUMN_TYPES: { readonly [Name in ColumnName]?: SectionType } = {
  tokens: 'bytes',
  sequences: 'u32',
  ops: 'u8',
  payloads: 'bytes',
  after: 'u64',
  expireAt: 'u64',
  conditions: 'u8',
}

/** What a request for data may say beside its columns; each operation takes some of it, see `OPERATIONS`. */
export interface DataOptions {
  /** Entries a range, of a scan; batches of a watch. */
  readonly limit?: number | undefined
  /** Milliseconds from its arrival after which nobody waits for the answer; 0 or absent: for ever. */
  readonly deadline?: number | undefined
  readonly reverse?: boolean | undefined
  readonly fromExclusive?: boolean | undefined
  readonly toExclusive?: boolean | undefined
  /** What of its entries a scan leaves out. */
  readonly withoutKeys?: boolean | undefined
  readonly withoutPayloads?: boolean | undefined
  /** Whether it says beside payloads when they expire. */
  readonly withExpireAt?: boolean | undefined
  /** Whether a get says the sequence number of each payload, from which `getNext` goes on. */
  readonly withSequences?: boolean | undefined
  readonly mode?: InsertMode | undefined
  readonly traversal?: Traversal | undefined
  /** A write of the same client with the same number is applied once, however often it is sent. */
  readonly writeId?: number | undefined
  /** The read version of the same client to read. */
  readonly version?: number | undefined
  /** Whether a scan opens that version for its further pages, if it has more than it returns. */
  readonly opensVersion?: boolean | undefined
  /** Of the last batch before those that are asked for. */
  readonly position?: number | undefined
}

/** Which index is meant: the id under which it is stored, and how often its name has come to mean something else. */
export interface IndexHandle {
  readonly handle: number
  readonly generation: number
}

/** A request for the data of one index. */
export interface DataRequest extends IndexHandle, DataOptions {
  readonly id: number
  readonly op: DataOp
  /** Keys, items or ranges. */
  readonly count: number
  readonly columns: WireColumns
}

/** A request that is to be sent. */
export interface SentRequest extends Omit<DataRequest, 'columns'> {
  /** How keys of the index travel, for columns that do not say it. */
  readonly keyType?: SectionType | undefined
  readonly columns: SentColumns
}

/** The successful answer to one. */
export interface DataReply {
  readonly id: number
  readonly op: DataOp
  readonly columns: WireColumns
}

/** What an operation takes beside keys, handle and deadline. */
interface Operation {
  readonly needs: readonly ColumnName[]
  readonly may: readonly ColumnName[]
  readonly options: readonly (keyof DataOptions)[]
}

export const OPERATIONS: { readonly [Op in DataOp]: Operation } = {
  get: { needs: ['keys'], may: [], options: ['withSequences', 'traversal', 'version'] },
  getAll: { needs: ['keys'], may: [], options: ['version'] },
  count: { needs: ['keys'], may: [], options: ['version'] },
  getNext: { needs: ['keys'], may: ['sequences'], options: ['reverse', 'traversal', 'version'] },
  scan: {
    needs: [],
    may: ['from', 'to', 'tokens'],
    options: [
      'limit',
      'reverse',
      'fromExclusive',
      'toExclusive',
      'withoutKeys',
      'withoutPayloads',
      'withExpireAt',
      'version',
      'opensVersion',
    ],
  },
  explain: { needs: ['keys'], may: [], options: ['traversal'] },
  insert: { needs: ['keys', 'payloads'], may: ['expireAt'], options: ['mode', 'writeId', 'traversal'] },
  delete: { needs: ['keys'], may: ['payloads'], options: ['writeId', 'traversal'] },
  write: { needs: ['keys', 'ops'], may: ['payloads', 'expireAt'], options: ['writeId', 'traversal'] },
  load: { needs: ['keys', 'payloads'], may: ['after', 'expireAt'], options: ['mode', 'writeId'] },
  countRanges: { needs: [], may: ['from', 'to'], options: ['fromExclusive', 'toExclusive', 'version'] },
  deleteRange: { needs: [], may: ['from', 'to'], options: ['fromExclusive', 'toExclusive', 'writeId'] },
  expect: { needs: ['keys', 'conditions'], may: ['payloads', 'sequences'], options: [] },
  watch: { needs: [], may: [], options: ['limit', 'position', 'version'] },
}

/** Operations that change an index: those that a write id may name. */
export const WRITES: ReadonlySet<string> = new Set(
  DATA_OPS.filter((op) => OPERATIONS[op].options.includes('writeId')),
)

interface MayWait {
  readonly op: string
  readonly limit?: number | undefined
  readonly atLeast?: unknown
}

/** Whether a request waits for changes, and tells none. */
export function isWait({ op, limit = 0, atLeast }: MayWait): boolean {
  return (op === 'watch' && limit === 0) || (op === 'position' && atLeast !== undefined)
}

/** A column of numbers, or of rows that offsets cut. */
export function wireColumn(
  type: Section['type'],
  values: ArrayBufferView,
  offsets?: Uint32Array | undefined,
): WireColumn {
  const bytes = asBytes(values)
  return offsets === undefined ? { type, bytes } : { type, bytes, offsets: asBytes(offsets) }
}

/**
 * Refuses a request that lacks what its operation needs, or has what it does not take.
 * @throws WarpdexError `BAD_REQUEST`
 */
export function checkOperation(request: DataRequest): void {
  const { op, columns } = request
  const { needs, may, options: takes } = OPERATIONS[op]
  for (const name of needs)
    if (columns[name] === undefined) throw badRequest(`${op} needs a column "${name}"`)
  for (const name in columns) {
    const column = name as ColumnName
    if (needs.includes(column) || may.includes(column)) continue
    throw badRequest(`${op} takes no column "${name}"; its columns are ${[...needs, ...may].join(', ')}`)
  }
  for (const option of OPTIONS) {
    const value = request[option]
    // These may be 0.
    const isNumber = option === 'writeId' || option === 'version' || option === 'position'
    const isGiven = isNumber ? value !== undefined : Boolean(value) && value !== INSERT_MODES[0]
    if (isGiven && !takes.includes(option)) throw badRequest(`${op} takes no ${option}`)
  }
  if (request.position !== undefined && request.version !== undefined)
    throw badRequest(`${op} takes a position or a version, not both`)
}

const OPTIONS = [...new Set(DATA_OPS.flatMap((op) => OPERATIONS[op].options))]
