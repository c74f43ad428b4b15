import { shownBytes } from '../gpu/index/layout.js'
import type {
  IndexShape,
  IndexStructure,
  ReadColumns,
  ReadOp,
  ReadOptions,
  ReadRequest,
  ReadResults,
  ScanOptions,
} from '../gpu/index-structure.js'
import { type Column, columnFrom } from '../protocol/columns.js'
import { LIMITS } from '../protocol/limits.js'
import type { Traversal } from '../protocol/traversal.js'
import { type IndexDefinition, type KeyType, keyWidth, tokenWidth } from '../protocol/types.js'
import type { Cancellation } from '../src/engine/index.js'

type Bytes = Uint8Array | undefined
type Offsets = Uint32Array | undefined

/** A scan with its columns and their offsets one by one. */
export interface ScanRequest extends ScanOptions {
  readonly from?: Bytes
  readonly fromOffsets?: Offsets
  readonly to?: Bytes
  readonly toOffsets?: Offsets
  readonly tokens?: Bytes
  readonly tokenOffsets?: Offsets
}

export type GetNextRequest = ReadOptions['getNext'] & {
  readonly keys: Uint8Array
  readonly keyOffsets?: Offsets
  readonly sequences?: Bytes
}

/** Answers with their columns and offsets one by one. */
export interface FlatPayloads {
  readonly payloads: Uint8Array
  readonly payloadOffsets?: Offsets
}
interface FlatKeys {
  readonly keys: Uint8Array
  readonly keyOffsets?: Offsets
}
export interface FlatGet extends FlatPayloads {
  readonly found: Uint8Array
  /** Only where they were asked for. */
  readonly sequences?: Uint8Array
}
export interface FlatGetAll extends FlatPayloads {
  readonly offsets: Uint32Array
}
export interface FlatNext extends FlatGet, FlatKeys {
  readonly sequences: Uint8Array
}
export interface FlatScan extends FlatGetAll, FlatKeys {
  readonly more: Uint8Array
  readonly tokens: Uint8Array
  readonly tokenOffsets?: Offsets
  readonly expireAt?: Uint8Array
}

const OFFSETS = {
  keys: 'keyOffsets',
  payloads: 'payloadOffsets',
  tokens: 'tokenOffsets',
  sequences: 'sequenceOffsets',
} as const

/** An answer with its columns one by one. */
export function flat<T>(answer: object): T {
  const parts: Record<string, unknown> = { ...answer }
  for (const [name, offsetsName] of Object.entries(OFFSETS)) {
    const column = parts[name] as Column | undefined
    if (column === undefined) continue
    parts[name] = column.bytes
    if (column.offsets !== undefined) parts[offsetsName] = column.offsets
  }
  return parts as T
}

/** The answer whose columns are given one by one. */
export function unflat<T>(shape: IndexShape, answer: object): T {
  const { keyType } = shape
  const { keyOffsets, payloadOffsets: _, tokenOffsets, ...parts } = answer as FlatScan & Partial<FlatNext>
  const column = (bytes: Bytes, width: number | undefined, offsets?: Offsets) =>
    bytes && columnFrom(bytes, width, offsets)
  const columns = {
    keys: column(parts.keys, keyWidth(keyType), keyOffsets),
    payloads: column(parts.payloads, shownBytes(shape)),
    tokens: column(parts.tokens, tokenWidth(keyType), tokenOffsets),
    sequences: column(parts.sequences, 4),
    expireAt: column(parts.expireAt, 8),
  }
  const given = Object.entries(columns).filter(([, column]) => column !== undefined)
  return { ...parts, ...Object.fromEntries(given) } as T
}

/** Whatever answers reads. */
export interface Readable {
  readonly shape?: Pick<IndexShape, 'keyType'>
  readonly definition?: Pick<IndexDefinition, 'keyType'>
  read<Op extends ReadOp>(
    request: ReadRequest<Op>,
    columns: ReadColumns,
    reader?: Cancellation,
  ): Promise<ReadResults[Op]>
}

/** Options and columns of a scan. */
export function scanOf(
  request: ScanRequest,
  keyType: KeyType,
): { options: ScanOptions; columns: ReadColumns } {
  const { from, fromOffsets, to, toOffsets, tokens, tokenOffsets, ...options } = request
  const columns = {
    from: from && columnFrom(from, keyWidth(keyType), fromOffsets),
    to: to && columnFrom(to, keyWidth(keyType), toOffsets),
    tokens: tokens && columnFrom(tokens, tokenWidth(keyType), tokenOffsets),
  }
  return { options, columns }
}

/** The reads of a structure, or of an index, each a method with its columns one by one. */
export function reads(structure: Readable, reader?: Cancellation) {
  const keyType = structure.shape?.keyType ?? structure.definition?.keyType ?? 'u32'
  const column = (bytes: Uint8Array, offsets: Offsets) => ({
    keys: columnFrom(bytes, keyWidth(keyType), offsets),
  })
  return {
    get: async (keys: Uint8Array, offsets?: Offsets, traversal?: Traversal) =>
      flat<FlatGet>(await structure.read({ op: 'get', traversal }, column(keys, offsets), reader)),
    /** With the sequence number of each payload. */
    getFirst: async (keys: Uint8Array, offsets?: Offsets, traversal?: Traversal) =>
      flat<FlatGet>(
        await structure.read({ op: 'get', traversal, withSequences: true }, column(keys, offsets), reader),
      ),
    getAll: async (keys: Uint8Array, limit: number = LIMITS.scanEntries, offsets?: Offsets) =>
      flat<FlatGetAll>(await structure.read({ op: 'getAll', limit }, column(keys, offsets), reader)),
    count: async (keys: Uint8Array, offsets?: Offsets) =>
      structure.read({ op: 'count' }, column(keys, offsets), reader),
    explain: async (keys: Uint8Array, offsets?: Offsets, traversal?: Traversal) =>
      structure.read({ op: 'explain', traversal }, column(keys, offsets), reader),
    getNext: async ({ keys, keyOffsets, sequences: places, ...options }: GetNextRequest) => {
      const sequences = places && { bytes: places, width: 4 }
      const columns = { ...column(keys, keyOffsets), sequences }
      return flat<FlatNext>(await structure.read({ op: 'getNext', ...options }, columns, reader))
    },
    scan: async (request: ScanRequest) => {
      const { options, columns } = scanOf(request, keyType)
      return flat<FlatScan>(await structure.read({ op: 'scan', ...options }, columns, reader))
    },
    countRanges: async (request: Omit<ScanRequest, 'limit'>) => {
      const { options, columns } = scanOf({ ...request, limit: 1 }, keyType)
      const { ranges, fromExclusive, toExclusive } = options
      return structure.read({ op: 'countRanges', ranges, fromExclusive, toExclusive }, columns, reader)
    },
  }
}

/** Makes a structure of which one read is another. */
export function withRead<Op extends ReadOp>(
  structure: IndexStructure,
  op: Op,
  run: (columns: ReadColumns) => Promise<ReadResults[Op]>,
): IndexStructure {
  const read = structure.read.bind(structure)
  return Object.assign(structure, {
    read: (request: ReadRequest<ReadOp>, columns: ReadColumns) =>
      request.op === op ? run(columns) : read(request, columns),
  })
}
