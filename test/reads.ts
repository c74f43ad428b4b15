import type {
  GetNextResult,
  IndexStructure,
  ReadColumns,
  ReadOp,
  ReadOptions,
  ReadRequest,
  ReadResults,
  ScanOptions,
  ScanResult,
} from '../gpu/index-structure.js'
import { LIMITS } from '../protocol/limits.js'
import type { Traversal } from '../protocol/traversal.js'
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

/** Whatever answers reads. */
export interface Readable {
  read<Op extends ReadOp>(
    request: ReadRequest<Op>,
    columns: ReadColumns,
    reader?: Cancellation,
  ): Promise<ReadResults[Op]>
}

/** Options and columns of a scan. */
export function scanOf(request: ScanRequest): { options: ScanOptions; columns: ReadColumns } {
  const { from, fromOffsets, to, toOffsets, tokens, tokenOffsets, ...options } = request
  const rows = (bytes: Bytes, offsets: Offsets) => bytes && { bytes, offsets }
  const columns = {
    from: rows(from, fromOffsets),
    to: rows(to, toOffsets),
    tokens: rows(tokens, tokenOffsets),
  }
  return { options, columns }
}

/** The reads of a structure, or of an index, each a method with its columns one by one. */
export function reads(structure: Readable, reader?: Cancellation) {
  const column = (bytes: Uint8Array, offsets: Offsets) => ({ keys: { bytes, offsets } })
  return {
    get: (keys: Uint8Array, offsets?: Offsets, traversal?: Traversal) =>
      structure.read({ op: 'get', traversal }, column(keys, offsets), reader),
    getAll: (keys: Uint8Array, limit: number = LIMITS.scanEntries, offsets?: Offsets) =>
      structure.read({ op: 'getAll', limit }, column(keys, offsets), reader),
    count: (keys: Uint8Array, offsets?: Offsets) =>
      structure.read({ op: 'count' }, column(keys, offsets), reader),
    explain: (keys: Uint8Array, offsets?: Offsets, traversal?: Traversal) =>
      structure.read({ op: 'explain', traversal }, column(keys, offsets), reader),
    getNext: ({ keys, keyOffsets, sequences, ...options }: GetNextRequest): Promise<GetNextResult> =>
      structure.read({ op: 'getNext', ...options }, { ...column(keys, keyOffsets), sequences }, reader),
    scan: (request: ScanRequest): Promise<ScanResult> => {
      const { options, columns } = scanOf(request)
      return structure.read({ op: 'scan', ...options }, columns, reader)
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
