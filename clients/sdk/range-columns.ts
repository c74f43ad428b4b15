import { asBytes } from '../../protocol/columns.js'
import { WarpdexError } from '../../protocol/errors.js'
import type { Sections } from '../../protocol/frame.js'
import { LIMITS } from '../../protocol/limits.js'
import type { IndexDefinition } from '../../protocol/types.js'
import { type Keys, keyColumn } from './keys.js'

/** Ranges of keys as columns of bytes, each with one element a range; an absent one leaves that end open. */
export interface RangeColumns {
  readonly count: number
  readonly from: Uint8Array | undefined
  readonly to: Uint8Array | undefined
  /** Where to continue; absent at the start. */
  readonly tokens: Uint8Array | undefined
}

type KeyList = Keys<IndexDefinition['keyType']>

/** @throws WarpdexError `BAD_REQUEST` for ends of different numbers, `WRONG_KEY_TYPE` */
export function rangeColumns(
  from: KeyList | undefined,
  to: KeyList | undefined,
  definition: IndexDefinition,
): RangeColumns {
  const count = from?.length ?? to?.length
  if (count === undefined) {
    throw new WarpdexError('BAD_REQUEST', 'ranges need from, to or both; scan() goes through a whole index')
  }
  if (to !== undefined && to.length !== count) {
    const message = `${count} from keys came with ${to.length} to keys; a range has one of each`
    throw new WarpdexError('BAD_REQUEST', message)
  }
  return {
    count,
    from: from && asBytes(keyColumn(from, definition)),
    to: to && asBytes(keyColumn(to, definition)),
    tokens: undefined,
  }
}

/** The ranges with these numbers. */
export function pickRanges(ranges: RangeColumns, numbers: Uint32Array): RangeColumns {
  return mapColumns(ranges, numbers.length, (column) => pickRows(column, ranges.count, numbers))
}

export function rangeSections({ from, to, tokens }: RangeColumns, { keyType }: IndexDefinition): Sections {
  return {
    ...(from && { from: { type: keyType, bytes: from } }),
    ...(to && { to: { type: keyType, bytes: to } }),
    ...(tokens && { tokens: { type: 'bytes', bytes: tokens } }),
  }
}

/**
 * Scans ranges in as many requests as it takes, and gives their replies in order. Where the entries would be too large for
 * a frame, the ranges are asked for in halves, and a single one with half the limit.
 */
export async function askForRanges<R>(
  ranges: RangeColumns,
  limit: number,
  ask: (part: RangeColumns, limit: number) => Promise<R>,
): Promise<R[]> {
  const { count } = ranges
  const most = Math.floor(LIMITS.scanEntries / limit)
  if (count > most) return askParts(ranges, most, limit, ask)
  try {
    return [await ask(ranges, limit)]
  } catch (error) {
    const tooLarge = error instanceof WarpdexError && error.code === 'TOO_LARGE'
    if (!tooLarge || (count === 1 && limit === 1)) throw error
    return count === 1
      ? askForRanges(ranges, limit >> 1, ask)
      : askParts(ranges, Math.ceil(count / 2), limit, ask)
  }
}

async function askParts<R>(
  ranges: RangeColumns,
  size: number,
  limit: number,
  ask: (part: RangeColumns, limit: number) => Promise<R>,
): Promise<R[]> {
  const parts: Promise<R[]>[] = []
  for (let start = 0; start < ranges.count; start += size) {
    const end = Math.min(start + size, ranges.count)
    const part = mapColumns(ranges, end - start, (column) => {
      const width = column.length / ranges.count
      return column.subarray(start * width, end * width)
    })
    parts.push(askForRanges(part, limit, ask))
  }
  return (await Promise.all(parts)).flat()
}

function mapColumns(
  { from, to, tokens }: RangeColumns,
  count: number,
  map: (column: Uint8Array) => Uint8Array,
): RangeColumns {
  return { count, from: from && map(from), to: to && map(to), tokens: tokens && map(tokens) }
}

function pickRows(column: Uint8Array, rows: number, numbers: Uint32Array): Uint8Array {
  const width = column.length / rows
  const picked = new Uint8Array(numbers.length * width)
  for (let i = 0; i < numbers.length; i++) {
    picked.set(column.subarray(numbers[i] * width, (numbers[i] + 1) * width), i * width)
  }
  return picked
}
