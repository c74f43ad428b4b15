import { aligned } from '../../protocol/columns.js'
import { WarpdexError } from '../../protocol/errors.js'
import { LIMITS } from '../../protocol/limits.js'
import { type Rows, type RowWidth, rowCount, sliceRows } from '../../protocol/rows.js'

/** Parts of a batch are multiples of this, so that their bitmaps can be put one after the other. */
const PART_UNIT = 8

/**
 * Asks for a batch of keys in as many requests as it takes, the first of them before it returns. A part whose answer would be
 * too large is asked for in halves.
 * @param join makes one answer of the replies, which are in order
 */
export function askInParts<R, T>(
  keys: Rows,
  width: RowWidth,
  ask: (part: Rows) => Promise<R>,
  join: (replies: readonly R[]) => T,
): Promise<T> {
  const count = rowCount(keys, width)
  if (count > LIMITS.batchItems) return askParts(keys, width, LIMITS.batchItems, ask).then(join)
  return ask(keys).then(
    (reply) => join([reply]),
    (error) => {
      const tooLarge = error instanceof WarpdexError && error.code === 'TOO_LARGE'
      if (!tooLarge || count <= PART_UNIT) throw error
      return askParts(keys, width, Math.ceil(count / 2 / PART_UNIT) * PART_UNIT, ask).then(join)
    },
  )
}

async function askParts<R>(
  keys: Rows,
  width: RowWidth,
  size: number,
  ask: (part: Rows) => Promise<R>,
): Promise<readonly R[]> {
  const parts: Promise<readonly R[]>[] = []
  const count = rowCount(keys, width)
  for (let start = 0; start < count; start += size) {
    const part = sliceRows(keys, width, start, Math.min(start + size, count))
    parts.push(askInParts(part, width, ask, (replies) => replies))
  }
  return (await Promise.all(parts)).flat()
}

/** The columns one after the other. */
export function joinBytes(columns: readonly Uint8Array[]): Uint8Array {
  if (columns.length === 1) return columns[0]
  const joined = new Uint8Array(columns.reduce((sum, { length }) => sum + length, 0))
  let end = 0
  for (const column of columns) {
    joined.set(column, end)
    end += column.length
  }
  return joined
}

/** Columns of u32 offsets one after the other: each continues where the one before it ended. */
export function joinOffsets(columns: readonly Uint8Array[]): Uint32Array {
  const parts = columns.map((bytes) => aligned(bytes, Uint32Array))
  if (parts.length === 1) return parts[0]
  const joined = new Uint32Array(parts.reduce((sum, { length }) => sum + length - 1, 1))
  let start = 0
  let base = 0
  for (const part of parts) {
    for (let i = 1; i < part.length; i++) joined[start + i] = base + part[i]
    start += part.length - 1
    base += part[part.length - 1]
    if (base > 0xffffffff) {
      throw new WarpdexError('TOO_LARGE', 'the answer has more than 4 GiB; ask for fewer keys at a time')
    }
  }
  return joined
}
