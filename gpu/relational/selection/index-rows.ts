import { aligned } from '../../../protocol/columns.js'
import { type DeviceReads, payloadsOf, type TreeReads } from '../../device-reads.js'
import type { ScanColumns } from '../../index/read/scan-result.js'
import type { IndexStructure } from '../../index-structure.js'
import type { KeyColumn } from '../../keys/key-column.js'
import type { DeviceMemory } from '../../memory/page-run.js'
import type { DeviceWork } from '../query/device-work.js'
import { bitsFor } from '../query/query-column.js'
import { asksForNaN, type IndexKeys, indexKeys, type KeyCondition } from './index-keys.js'

/** What is asked of an index over columns of a relation. */
export interface IndexQuestion {
  /** On its leading columns; all but the last are on one value each. */
  readonly conditions: readonly KeyCondition[]
  /** Columns that it has. */
  readonly columns: number
  /** Rows of the relation. */
  readonly rows: number
  /** Rows that are expected: memory is set aside for some times as many. */
  readonly expected: number
  /** Rows past which the index is not to be used. */
  readonly most: number
}

/** Numbers of rows, ascending. */
export interface IndexedRows {
  readonly buffer: DeviceMemory
  readonly count: number
}

/** Keys that are looked for, and ranges, at most. */
const MOST_KEYS = 2 ** 16
/** Rows of a range at most where one thread goes from one to the next. */
const MOST_WALKED = 2 ** 12
/** Places for what is found in ranges: each range has as many as all may have together. Kernels go through all of them. */
const MOST_PLACES = 2 ** 22
const LEAST_PLACES = 2 ** 10
/** Places for each row that is expected. */
const ROOM = 4

/** What was found in a tree, before it is known how much that is. */
interface Found {
  readonly reads: TreeReads
  /** The keys, and the payloads of each. */
  readonly points: { readonly queries: KeyColumn; readonly counts: DeviceMemory } | undefined
  readonly ranges: readonly ScanColumns[]
}

/**
 * The rows that an index of the server has for conditions on its columns: exactly those that satisfy all of them. What is found stays on the device; how
 * much it is comes back first.
 * @returns undefined where the index has not all of these rows, they are more than it pays for or has places for, or the search takes more memory than the query
 * may have
 * @throws WarpdexError `OUT_OF_DEVICE_MEMORY` where the device is full
 */
export async function indexRows(
  work: DeviceWork,
  structure: IndexStructure,
  question: IndexQuestion,
): Promise<IndexedRows | undefined> {
  const { conditions, columns, rows } = question
  if (conditions.some(({ set }) => set.nulls)) return undefined
  const keys = indexKeys(conditions, columns)
  if (keys.pointCount + keys.rangeCount > MOST_KEYS) return undefined
  return structure.duringReads?.(async (reads) => {
    // What has a null or a NaN in some column of the index is not in it.
    const needsAll = conditions.length < columns || conditions.some(asksForNaN)
    if (needsAll && payloadsOf(reads) < rows) return undefined
    return work.untilSubmitted(() => work.attempt(() => rowsOfKeys(work, reads, keys, question)))
  })
}

async function rowsOfKeys(
  work: DeviceWork,
  { trees }: DeviceReads,
  keys: IndexKeys,
  question: IndexQuestion,
): Promise<IndexedRows | undefined> {
  const { rows, expected, most } = question
  const room = mostPlaces(trees, keys)
  // The search would find that they have no room.
  const hasRoom = keys.pointCount > 0 || expected <= room * keys.rangeCount * trees.length
  if (keys.rangeCount > 0 && !hasRoom) return undefined
  const limit = placesOf(trees, room, question)
  const found = trees.flatMap((reads) => (reads === undefined ? [] : [find(work, reads, keys, limit)]))
  const counts = await countsOf(work, found, keys)
  const total = sum(counts.flatMap(({ points, ranges }) => [points, ...ranges.map(({ count }) => count)]))
  if (total > most || counts.some(({ ranges }) => ranges.some(({ more }) => more))) return undefined
  const gathered = work.words(total)
  let end = 0
  const take = (buffer: DeviceMemory, count: number) => {
    work.recorder.copy(buffer, 0, gathered, 4 * end, 4 * count)
    work.moves({ read: 4 * count })
    end += count
  }
  found.forEach(({ reads, points, ranges }, i) => {
    const count = counts[i]!
    if (points !== undefined && count.points > 0) {
      const { recorder, scratch } = work
      const all = reads.getAll(recorder, scratch, points.queries, keys.pointCount, count.points)
      take(all.payloads.buffer, count.points)
    }
    ranges.forEach(({ payloads }, part) => {
      take(payloads, count.ranges[part]!.count)
    })
  })
  // Payloads of one key are in the order in which rows were appended.
  const isSorted = keys.pointCount === 1 && keys.rangeCount === 0
  if (isSorted || total < 2) return { buffer: gathered, count: total }
  const sorted = work.sort({ keys: gathered, values: undefined }, total, 1, { bits: bitsFor(rows) })
  return { buffer: sorted.keys, count: total }
}

/** The most places that a range can have in a tree. */
function mostPlaces(trees: DeviceReads['trees'], { rangeCount }: IndexKeys): number {
  const isWide = trees.every((tree) => tree === undefined || tree.scansWide)
  const places = Math.floor(MOST_PLACES / Math.max(1, rangeCount))
  return isWide ? places : Math.min(places, MOST_WALKED)
}

/** Places for the rows of a range in a tree, where that can have so many at most. */
function placesOf(trees: DeviceReads['trees'], room: number, { expected, most }: IndexQuestion): number {
  const largest = Math.max(1, ...trees.map((tree) => tree?.payloads ?? 0))
  const asked = Math.max(LEAST_PLACES, ROOM * Math.ceil(expected))
  return Math.min(room, largest, Math.max(1, Math.min(most, asked)))
}

/** Records the search of a tree. */
function find(work: DeviceWork, reads: TreeReads, keys: IndexKeys, limit: number): Found {
  const { recorder, scratch } = work
  let points: Found['points']
  if (keys.pointCount > 0) {
    points = {
      queries: reads.queries(recorder, scratch, keys.points),
      counts: work.words(keys.pointCount),
    }
    reads.count(recorder, points.queries, points.counts, keys.pointCount)
  }
  if (keys.rangeCount === 0) return { reads, points, ranges: [] }
  const ranges = reads.scan(recorder, scratch, {
    ranges: keys.rangeCount,
    from: keys.from,
    to: keys.to,
    limit,
  })
  return { reads, points, ranges }
}

/** Rows of a tree that were found. */
interface Counts {
  readonly points: number
  /** Of each part: rows, and whether there are more than it had room for. */
  readonly ranges: readonly { readonly count: number; readonly more: boolean }[]
}

async function countsOf(
  work: DeviceWork,
  found: readonly Found[],
  { pointCount, rangeCount }: IndexKeys,
): Promise<readonly Counts[]> {
  const columns = found.flatMap(({ points, ranges }) => [
    ...(points === undefined ? [] : [{ buffer: points.counts, bytes: 4 * pointCount }]),
    ...ranges.flatMap(({ offsets, more }) => [
      { buffer: offsets, bytes: 4, offset: 4 * rangeCount },
      { buffer: more, bytes: rangeCount },
    ]),
  ])
  const read = (await work.readColumns(columns)).values()
  const next = () => read.next().value ?? new Uint8Array(0)
  return found.map(({ points, ranges }) => {
    return {
      points: points === undefined ? 0 : sum(aligned(next(), Uint32Array)),
      ranges: ranges.map(() => {
        const [count = 0] = aligned(next(), Uint32Array)
        return { count, more: next().some((flag) => flag !== 0) }
      }),
    }
  })
}

function sum(numbers: Iterable<number>): number {
  let total = 0
  for (const number of numbers) total += number
  return total
}
