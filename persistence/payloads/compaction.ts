import { setImmediate } from 'node:timers/promises'
import { fitsSegment, type NewSegment, type Segment, type SegmentBody } from './segment.js'

/** Whether an entry of the index may still refer to a row. */
export type RowFilter = (row: number) => boolean

/** Segments `from` to `to` of the list, and what takes their place. */
export interface CompactionStep {
  readonly from: number
  readonly to: number
  readonly result: readonly Segment[]
  /** Those that go, with their payloads. */
  readonly replaced: readonly (readonly [Segment, SegmentBody])[]
  /** Those that come. */
  readonly created: readonly NewSegment[]
}

export interface CompactionTarget {
  /** The list, which may have grown at its end since the last call. */
  segments(): readonly Segment[]
  load(segment: Segment): SegmentBody
  create(firstRow: number, body: SegmentBody): NewSegment
  /** Makes a step in one transaction. */
  replace(step: CompactionStep): Promise<void>
}

/** What one transaction of a compaction reads and replaces at most, so that writes need not wait for it long. */
const STEP_BYTES = 8 * 1024 * 1024
const STEP_SEGMENTS = 2048

/**
 * Merges neighbouring segments that fit into one. With a filter the payloads of dead rows go, where that makes a segment fit with
 * its neighbours or halves it; segments without live rows go altogether, except for the last, which holds the next row's number.
 */
export async function compact(
  target: CompactionTarget,
  isLive?: RowFilter,
  stop?: AbortSignal,
): Promise<void> {
  for (let from = 0; from < target.segments().length && stop?.aborted !== true; ) {
    const step = planStep(target, from, isLive)
    if (step.replaced.length > 0) await target.replace(step)
    else await setImmediate()
    from += step.result.length
  }
}

function planStep(target: CompactionTarget, from: number, isLive: RowFilter | undefined): CompactionStep {
  const segments = target.segments()
  const result: Segment[] = []
  const replaced: [Segment, SegmentBody][] = []
  const created: NewSegment[] = []
  let to = from
  for (let bytes = 0; to < segments.length && to - from < STEP_SEGMENTS && bytes < STEP_BYTES; ) {
    const run = takeRun(target, segments, to, isLive)
    to += run.segments.length
    bytes += run.segments.reduce((sum, { payloadBytes }) => sum + payloadBytes, 0)
    if (!run.worthwhile) {
      result.push(...run.segments)
      continue
    }
    const bodies = run.segments.map((segment) => target.load(segment))
    run.segments.forEach((segment, i) => {
      replaced.push([segment, bodies[i]])
    })
    if (run.liveRows === 0 && to < segments.length) continue
    const { firstRow } = run.segments[0]
    const merged = target.create(firstRow, mergeBodies(bodies, run.liveBytes, firstRow, isLive))
    created.push(merged)
    result.push(merged.segment)
  }
  return { from, to, result, replaced, created }
}

interface Run {
  readonly segments: readonly Segment[]
  readonly liveRows: number
  readonly liveBytes: number
  readonly worthwhile: boolean
}

/** The longest run of neighbours from a place on that fit into one segment; at least one. */
function takeRun(
  target: CompactionTarget,
  segments: readonly Segment[],
  start: number,
  isLive: RowFilter | undefined,
): Run {
  let { rows: liveRows, bytes: liveBytes } = measure(target, segments[start], isLive)
  let { count: rows, payloadBytes } = segments[start]
  let end = start + 1
  for (; end < segments.length; end++) {
    const next = segments[end]
    if (next.firstRow !== segments[start].firstRow + rows) break
    if (!fitsSegment(rows + next.count, liveBytes)) break
    const live = measure(target, next, isLive)
    if (!fitsSegment(rows + next.count, liveBytes + live.bytes)) break
    rows += next.count
    payloadBytes += next.payloadBytes
    liveRows += live.rows
    liveBytes += live.bytes
  }
  const worthwhile = end - start > 1 || liveRows === 0 || liveBytes < payloadBytes / 2
  return { segments: segments.slice(start, end), liveRows, liveBytes, worthwhile }
}

function measure(
  target: CompactionTarget,
  segment: Segment,
  isLive: RowFilter | undefined,
): { rows: number; bytes: number } {
  if (isLive === undefined) return { rows: segment.count, bytes: segment.payloadBytes }
  const { offsets } = target.load(segment)
  let rows = 0
  let bytes = 0
  for (let i = 0; i < segment.count; i++) {
    if (!isLive(segment.firstRow + i)) continue
    rows++
    bytes += offsets[i + 1] - offsets[i]
  }
  return { rows, bytes }
}

function mergeBodies(
  bodies: readonly SegmentBody[],
  liveBytes: number,
  firstRow: number,
  isLive: RowFilter | undefined,
): SegmentBody {
  const rows = bodies.reduce((sum, { offsets }) => sum + offsets.length - 1, 0)
  const merged = { offsets: new Uint32Array(rows + 1), bytes: new Uint8Array(liveBytes) }
  let row = 0
  let end = 0
  for (const { offsets, bytes } of bodies) {
    for (let i = 0; i < offsets.length - 1; i++) {
      if (isLive === undefined || isLive(firstRow + row)) {
        merged.bytes.set(bytes.subarray(offsets[i], offsets[i + 1]), end)
        end += offsets[i + 1] - offsets[i]
      }
      merged.offsets[++row] = end
    }
  }
  return merged
}
