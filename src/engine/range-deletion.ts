import type { IndexShape, IndexStructure, PreparedWrite, WriteBatch } from '../../gpu/index-structure.js'
import type { LoggedRange } from '../../persistence/log/log-records.js'
import { type Column, columnBytes, columnOf } from '../../protocol/columns.js'
import { LIMITS } from '../../protocol/limits.js'
import { keyWidth, WriteOp } from '../../protocol/types.js'
import { pageEntries } from './payload-reclaimer.js'

/** What is deleted from, and how writes to it are prepared. */
export interface RangeTarget {
  readonly structure: Pick<IndexStructure, 'read' | 'shape'>
  readonly prepare: (batch: WriteBatch) => Promise<PreparedWrite>
}

/** Bytes of keys that are read before any is deleted: what is left of a structure that much has gone from is slower to read. */
const GATHERED_BYTES = LIMITS.frameBytes

/**
 * Counts the entries of a range, has that logged, and deletes them.
 * @param log called with the count when memory is made sure of; throws with nothing changed
 * @returns whether the structure holds what is logged; if not, it must be rebuilt
 */
export async function deleteLogged(
  target: RangeTarget,
  range: LoggedRange,
  log: (deleted: number) => Promise<void>,
): Promise<{ readonly deleted: number; readonly isSound: boolean }> {
  const deleted = await countRange(target, range)
  let isLogged = false
  try {
    await deleteRange(target, range, async () => {
      await log(deleted)
      isLogged = true
    })
  } catch (error) {
    if (!isLogged) throw error
    // What is logged counts.
    return { deleted, isSound: false }
  }
  return { deleted, isSound: true }
}

async function countRange({ structure }: RangeTarget, range: LoggedRange): Promise<number> {
  const { fromExclusive, toExclusive } = range
  const request = { op: 'countRanges', ranges: 1, fromExclusive, toExclusive } as const
  const [count] = await structure.read(request, endsOf(range, structure.shape))
  return Number(count)
}

/**
 * Deletes all keys of a range in slices, each a batch of its own on the device, so that other indexes get their share of it. Nobody may read the
 * structure meanwhile.
 *
 * @param begin called when the first slice is prepared, and memory made sure of for any: only what it resolves to is followed by changes
 */
export async function deleteRange(
  target: RangeTarget,
  range: LoggedRange,
  begin: () => Promise<void>,
): Promise<void> {
  const { prepare } = target
  const slices = gathered(target, range)
  let begun = false
  for await (const keys of slices) {
    const prepared = await prepare({ ops: WriteOp.deleteKey, keys, goesOn: true })
    if (!begun) await beginOrDiscard(begin, prepared)
    begun = true
    prepared.apply()
  }
  if (!begun) await begin()
}

/** Begins what the first slice, which is prepared, belongs to. */
export async function beginOrDiscard(begin: () => Promise<void>, prepared: PreparedWrite): Promise<void> {
  try {
    await begin()
  } catch (error) {
    prepared.discard()
    throw error
  }
}

/** The keys of a range in slices, of which many are read ahead. */
async function* gathered({ structure }: RangeTarget, range: LoggedRange): AsyncGenerator<Column> {
  const { fromExclusive, toExclusive } = range
  const limit = pageEntries(structure.shape.keyType)
  const request = { op: 'scan', ranges: 1, limit, fromExclusive, toExclusive, withoutPayloads: true } as const
  const ends = endsOf(range, structure.shape)
  let tokens: Column | undefined
  for (let more = true; more; ) {
    const slices: Column[] = []
    for (let bytes = 0; more && bytes < GATHERED_BYTES; ) {
      const page = await structure.read(request, { ...ends, tokens })
      if (page.offsets[1] > 0) slices.push(page.keys)
      bytes += columnBytes(page.keys)
      more = page.more[0] === 1
      tokens = page.tokens
    }
    yield* slices
  }
}

function endsOf({ from, to }: LoggedRange, { keyType }: IndexShape): { from?: Column; to?: Column } {
  const width = keyWidth(keyType)
  return { ...(from && { from: columnOf([from], width) }), ...(to && { to: columnOf([to], width) }) }
}
