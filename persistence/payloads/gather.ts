import type { CutColumn } from '../../protocol/columns.js'
import { damaged } from '../disk/record.js'
import { type LocatedRows, NOT_HERE, type PayloadArena, type SegmentTable } from './payload-arena.js'
import { bodyBytes, findSegment, type Segment, type SegmentBody } from './segment.js'

/** Rows to gather, as they come back from the device. */
export interface GatherRequest {
  /** Row i is words i * stride (low) and i * stride + 1 (high). */
  readonly rows: Uint32Array
  /** 2 unless told; 4 for payload columns of the device. */
  readonly stride?: number
  /** Bit i of byte i >> 3 is clear where row i is to be left out; all rows count without it. */
  readonly present?: Uint8Array | undefined
  /** Only the leading rows whose payloads fit in so many bytes are gathered. */
  readonly maxBytes?: number
}

/** What lies where, and how it is read. */
export interface SegmentSource {
  /** In the order of their rows. */
  readonly segments: readonly Segment[]
  /** Has another thread bring segments into memory from disk. */
  prefetch(segments: readonly Segment[]): Promise<void>
  load(segment: Segment): SegmentBody
}

/** Segments that another thread brings into memory at a time, and that are read before other work gets its turn. */
const LOADS_A_TURN = 64
/** Up to this length a loop copies a payload faster than a call of `set`. */
const SHORT_PAYLOAD = 48

export interface ColdSource extends SegmentSource {
  /** Bytes of segments that one gather may hold on to. */
  readonly heldBytes: number
  /** Names a row in an error. */
  describe(row: number): string
}

/**
 * Collects the payloads of many rows from segments that are not all in memory, and need not fit there. The rows are grouped by segment, so that each segment is looked up once and read at most
 * once, or twice when more segments are touched than may be held; in the order in which they lie on disk.
 *
 * @throws WarpdexError `DAMAGED_FILE` when a row does not exist or its segment is damaged
 */
export async function gather(source: ColdSource, request: GatherRequest): Promise<CutColumn> {
  const count = request.rows.length / (request.stride ?? 2)
  const starts = new Uint32Array(count)
  const lengths = new Uint32Array(count)
  const groups = groupRows(source, request, starts)
  await eachBody(source, groups, ({ offsets }, row) => {
    const local = starts[row]
    starts[row] = offsets[local]
    lengths[row] = offsets[local + 1] - offsets[local]
  })
  const offsets = fittingOffsets(lengths, request.maxBytes ?? 2 ** 32 - 1)
  const taken = offsets.length - 1
  const bytes = new Uint8Array(offsets[taken])
  await eachBody(source, groups, (body, row) => {
    if (row < taken) copy(body.bytes, starts[row], lengths[row], bytes, offsets[row])
  })
  return { offsets, bytes }
}

/** The rows of one segment, linked: `first`, then `next[first]` and so on until -1. */
interface RowGroup {
  readonly segment: Segment
  first: number
}

interface RowGroups {
  readonly groups: readonly RowGroup[]
  readonly next: Int32Array
  /** Bodies that are held from the first round to the second. */
  readonly held: Map<Segment, SegmentBody>
}

/** @param locals receives the place of each row within its segment */
function groupRows(source: ColdSource, request: GatherRequest, locals: Uint32Array): RowGroups {
  const { rows, stride = 2, present } = request
  const { segments } = source
  const groups = new Map<Segment, RowGroup>()
  const next = new Int32Array(locals.length)
  let group: RowGroup | undefined
  for (let i = 0; i < locals.length; i++) {
    if (present !== undefined && (present[i >> 3] & (1 << (i & 7))) === 0) continue
    const row = rows[i * stride] + rows[i * stride + 1] * 2 ** 32
    if (group === undefined || !holds(group.segment, row)) {
      const segment = segments[findSegment(segments, row)]
      if (segment === undefined || !holds(segment, row)) throw damaged(`${source.describe(row)} is missing`)
      group = groups.get(segment)
      if (group === undefined) {
        group = { segment, first: -1 }
        groups.set(segment, group)
      }
    }
    locals[i] = row - group.segment.firstRow
    next[i] = group.first
    group.first = i
  }
  const sorted = [...groups.values()].sort((one, other) => one.segment.firstRow - other.segment.firstRow)
  return { groups: sorted, next, held: new Map() }
}

function holds(segment: Segment, row: number): boolean {
  return row >= segment.firstRow && row < segment.firstRow + segment.count
}

async function eachBody(
  source: ColdSource,
  { groups, next, held }: RowGroups,
  visit: (body: SegmentBody, row: number) => void,
): Promise<void> {
  let heldBytes = 0
  const absent = groups.map(({ segment }) => segment).filter((segment) => !held.has(segment))
  let fetched = 0
  for (const { segment, first } of groups) {
    if (segment === absent[fetched]) {
      await source.prefetch(absent.slice(fetched, fetched + LOADS_A_TURN))
      fetched += LOADS_A_TURN
    }
    const body = held.get(segment) ?? source.load(segment)
    heldBytes += bodyBytes(body)
    if (heldBytes <= source.heldBytes) held.set(segment, body)
    for (let row = first; row >= 0; row = next[row]) visit(body, row)
  }
}

/** The offsets of the leading payloads that fit into so many bytes. */
function fittingOffsets(lengths: Uint32Array, maxBytes: number): Uint32Array {
  const offsets = new Uint32Array(lengths.length + 1)
  let end = 0
  for (let i = 0; i < lengths.length; i++) {
    end += lengths[i]
    if (end > maxBytes) return offsets.slice(0, i + 1)
    offsets[i + 1] = end
  }
  return offsets
}

function copy(from: Uint8Array, start: number, length: number, to: Uint8Array, end: number): void {
  if (length > SHORT_PAYLOAD) {
    to.set(from.subarray(start, start + length), end)
    return
  }
  for (let i = 0; i < length; i++) to[end + i] = from[start + i]
}

export interface WarmSource extends SegmentSource {
  readonly arena: PayloadArena
  readonly table: SegmentTable
  /** Whether the segments are those of the index still, though some may have come behind them. */
  isCurrent(): boolean
}

/**
 * Collects the payloads of rows in the arena, to which segments that are not there are brought first, in the order of their rows.
 *
 * @returns undefined where that cannot be: the segments do not fit there together, others take their place again and again, a row is in
 * none, or they were replaced or are about to be
 */
export async function gatherWarm(
  { arena, table, segments, prefetch, load, isCurrent }: WarmSource,
  { rows, stride = 2, present, maxBytes = 2 ** 32 - 1 }: GatherRequest,
): Promise<CutColumn | undefined> {
  let fewest = Number.POSITIVE_INFINITY
  for (;;) {
    const located = arena.locate(table, segments, rows, stride, present)
    if (located === undefined || located.absent >= fewest) return undefined
    if (located.absent === 0) {
      const offsets = fittingOffsets(located.lengths, maxBytes)
      const taken = offsets.length - 1
      return { offsets, bytes: arena.copy(located, taken, offsets[taken]) }
    }
    fewest = located.absent
    const absent = absentSegments(segments, rows, stride, located)
    if (absent === undefined) return undefined
    const next = absent.slice(0, LOADS_A_TURN)
    await prefetch(next)
    if (!isCurrent()) return undefined
    for (const segment of next) {
      // A segment with a body is leaving the disk. In the arena it would stay when its successor has its place in the table.
      if (segment.body !== undefined) return undefined
      if (!arena.add(table, segment, load(segment))) return undefined
    }
  }
}

/** The segments of rows that are not in the arena, in order; undefined if there is a row without one. */
function absentSegments(
  segments: readonly Segment[],
  rows: Uint32Array,
  stride: number,
  { addresses }: LocatedRows,
): readonly Segment[] | undefined {
  const places = new Set<number>()
  for (let i = 0; i < addresses.length; i++) {
    if (addresses[i] !== NOT_HERE) continue
    const row = rows[i * stride] + rows[i * stride + 1] * 2 ** 32
    const place = findSegment(segments, row)
    const segment = segments[place]
    if (segment === undefined || row >= segment.firstRow + segment.count) return undefined
    places.add(place)
  }
  return [...places].sort((one, other) => one - other).map((place) => segments[place])
}
