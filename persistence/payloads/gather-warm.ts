import { fittingOffsets, type GatheredPayloads, type GatherRequest, LOADS_A_TURN } from './gather.js'
import { type LocatedRows, NOT_HERE, type PayloadArena, type SegmentTable } from './payload-arena.js'
import { findSegment, type Segment, type SegmentBody } from './segment.js'

export interface WarmSource {
  readonly arena: PayloadArena
  readonly table: SegmentTable
  /** In the order of their rows. */
  readonly segments: readonly Segment[]
  /** Has another thread bring segments into memory from disk. */
  prefetch(segments: readonly Segment[]): Promise<void>
  /** Reads a segment. */
  load(segment: Segment): SegmentBody
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
): Promise<GatheredPayloads | undefined> {
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
