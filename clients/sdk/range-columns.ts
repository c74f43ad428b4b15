import { type WireColumns, wireColumn } from '../../protocol/data-request.js'
import { badRequest, WarpdexError } from '../../protocol/errors.js'
import { LIMITS } from '../../protocol/limits.js'
import { pickRows, type Rows, type RowWidth, rowCount, sliceRows } from '../../protocol/rows.js'
import { type IndexDefinition, keyWidth, SEQUENCE_BYTES } from '../../protocol/types.js'
import { type AnyKeys, wireKeys } from './keys.js'
import { lowerEnds, upperEnds } from './range-ends.js'

/** Ranges of keys as columns with one row a range; an absent one leaves that end open. */
export interface RangeColumns {
  readonly count: number
  readonly keyWidth: RowWidth
  readonly from: Rows | undefined
  readonly to: Rows | undefined
  /** Where to continue; absent at the start. */
  readonly tokens: Rows | undefined
}

/** Ranges as a caller gives them. */
export interface RangesInput {
  readonly from?: AnyKeys | undefined
  readonly to?: AnyKeys | undefined
  readonly fromExclusive?: boolean | undefined
  readonly toExclusive?: boolean | undefined
}

/** @throws WarpdexError `BAD_REQUEST` for ends of different numbers, `WRONG_KEY_TYPE` */
export function rangeColumns(ranges: RangesInput, definition: IndexDefinition): RangeColumns {
  const { fromExclusive, toExclusive } = ranges
  const width = keyWidth(definition.keyType)
  const from = ranges.from === undefined ? undefined : lowerEnds(ranges.from, fromExclusive, definition)
  const to = ranges.to === undefined ? undefined : upperEnds(ranges.to, toExclusive, definition)
  const ends = from ?? to
  if (ends === undefined) {
    throw badRequest('ranges need from, to or both; scan() goes through a whole index')
  }
  const count = rowCount(ends, width)
  if (to !== undefined && rowCount(to, width) !== count) {
    const message = `${count} from keys came with ${rowCount(to, width)} to keys; a range has one of each`
    throw badRequest(message)
  }
  return { count, keyWidth: width, from, to, tokens: undefined }
}

/** The ranges with these numbers. */
export function pickRanges(ranges: RangeColumns, numbers: Uint32Array): RangeColumns {
  return mapColumns(ranges, numbers.length, (column, width) => pickRows(column, width, numbers))
}

/** The columns of a scan. */
export function scanColumns(
  { from, to, tokens }: Pick<RangeColumns, 'from' | 'to' | 'tokens'>,
  definition: IndexDefinition,
): WireColumns {
  return {
    from: from && wireKeys(from, definition),
    to: to && wireKeys(to, definition),
    tokens: tokens && wireColumn('bytes', tokens.bytes, tokens.offsets),
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
    const part = mapColumns(ranges, end - start, (column, width) => sliceRows(column, width, start, end))
    parts.push(askForRanges(part, limit, ask))
  }
  return (await Promise.all(parts)).flat()
}

function mapColumns(
  { keyWidth, from, to, tokens }: RangeColumns,
  count: number,
  map: (column: Rows, width: RowWidth) => Rows,
): RangeColumns {
  const tokenWidth = keyWidth && keyWidth + SEQUENCE_BYTES
  return {
    count,
    keyWidth,
    from: from && map(from, keyWidth),
    to: to && map(to, keyWidth),
    tokens: tokens && map(tokens, tokenWidth),
  }
}
