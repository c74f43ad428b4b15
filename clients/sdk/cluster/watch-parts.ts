import type { Column } from '../../../protocol/columns.js'
import { badRequest, WarpdexError } from '../../../protocol/errors.js'
import { shown } from '../../../protocol/shown.js'
import type { IndexDefinition, KeyType, PayloadKind } from '../../../protocol/types.js'
import { IndexCalls } from '../index-calls.js'
import type { Key } from '../keys.js'
import { keyVector } from '../results.js'
import { beginningOf, ChangeBatch, type DeletedRange, type WatchOptions, watchChanges } from '../watch.js'
import { type Ends, Placement } from './placement.js'

/** The feed of an index on one replica set. */
interface Feed<K extends KeyType, P extends PayloadKind> {
  readonly set: number
  readonly batches: AsyncIterable<ChangeBatch<K, P>>
}

/** A batch that is there to be told. */
interface Arrival<K extends KeyType, P extends PayloadKind> {
  readonly set: number
  readonly batch: ChangeBatch<K, P>
  /** Has the next one of its feed come. */
  readonly take: () => void
}

/**
 * The batches of changes of an index on replica sets of a cluster: those of each one in their order, and of different ones as they come. A position
 * has one of each replica set.
 * @throws WarpdexError as `watchChanges`
 */
export async function* watchParts<K extends KeyType, P extends PayloadKind>(
  calls: IndexCalls,
  { from, signal }: WatchOptions,
): AsyncGenerator<ChangeBatch<K, P>, void, undefined> {
  const { connection, name } = calls
  const bounds = () => connection.bounds({ deadline: Number.POSITIVE_INFINITY, signal })
  const given = typeof from === 'string' ? parsePositions(from) : undefined
  const known = await calls.definition.get(bounds())
  const placement = new Placement(known)
  const { sets } = placement
  const hasAll = given === undefined || (given.size === sets.length && sets.every((set) => given.has(set)))
  if (!hasAll) throw isAnother(name)
  const stop = new AbortController()
  const abort = () => stop.abort()
  signal?.addEventListener('abort', abort)
  try {
    const parts = sets.map((set) => ({ set, calls: new IndexCalls(connection.replicaSets[set]!, name) }))
    // A batch tells where all feeds are, so all begin before there is one.
    const begun = parts.map(async ({ set, calls }) => {
      return [set, await beginningOf(calls, given?.get(set) ?? from, bounds)] as const
    })
    const positions = new Map(await Promise.all(begun))
    const feeds = parts.map(({ set, calls }) => {
      return { set, batches: watchChanges<K, P>(calls, { from: positions.get(set), signal: stop.signal }) }
    })
    for await (const { set, batch } of asTheyCome(feeds, stop)) {
      positions.set(set, batch.position)
      const range = rangeIn(batch, placement, sets.indexOf(set))
      if (range === undefined && batch.columns.range !== undefined) continue
      const columns = { ...batch.columns, range: range && keysOf<K>(range, known) }
      yield new ChangeBatch(positionsText(positions), columns)
    }
  } catch (error) {
    const isGone = error instanceof WarpdexError && ['INDEX_CHANGED', 'UNKNOWN_INDEX'].includes(error.code)
    if (!isGone) throw error
    // Waits for the end of a split, and tells if there is no such index any more.
    await calls.latest(bounds())
    throw isAnother(name)
  } finally {
    signal?.removeEventListener('abort', abort)
  }
}

/**
 * Of the range that a batch has deleted, the part that is in one of those of a placement. Each replica set is told of the whole, at another moment than others
 * are.
 */
export function rangeIn<K extends KeyType, P extends PayloadKind>(
  { columns: { range, ends } }: ChangeBatch<K, P>,
  placement: Placement,
  number: number,
): Ends | undefined {
  return range && ends && placement.clip(number, { ...range, from: ends.from, to: ends.to })
}

function keysOf<K extends KeyType>(ends: Ends, { keyType }: IndexDefinition): DeletedRange<K> {
  // What holds keys of type K gives keys of that type.
  const keyOf = (end: Column | undefined) => end && (keyVector(keyType, end).at(0) as Key<K>)
  return { ...ends, from: keyOf(ends.from), to: keyOf(ends.to) }
}

/**
 * What feeds have, until one of them fails. Of each feed one batch waits to be told.
 * @param stop aborted in the end, which ends the feeds
 */
async function* asTheyCome<K extends KeyType, P extends PayloadKind>(
  feeds: readonly Feed<K, P>[],
  stop: AbortController,
): AsyncGenerator<Arrival<K, P>, void, undefined> {
  const arrived: Arrival<K, P>[] = []
  let wake = () => {}
  let failure: unknown
  const follow = async ({ set, batches }: Feed<K, P>) => {
    for await (const batch of batches) {
      if (stop.signal.aborted) return
      await new Promise<void>((take) => {
        arrived.push({ set, batch, take })
        wake()
      })
    }
  }
  for (const feed of feeds)
    follow(feed).catch((error: unknown) => {
      failure ??= error
      wake()
    })
  try {
    for (;;) {
      const next = arrived.shift()
      next?.take()
      if (next !== undefined) yield next
      else if (failure !== undefined) throw failure
      else
        await new Promise<void>((resolve) => {
          wake = resolve
        })
    }
  } finally {
    stop.abort()
    for (const { take } of arrived) take()
  }
}

function isAnother(name: string): WarpdexError {
  const what = `index ${JSON.stringify(name)} is another one than was watched, or was split at other keys`
  return new WarpdexError('INDEX_CHANGED', `${what}; read it at a snapshot, and watch it from that`)
}

function positionsText(positions: ReadonlyMap<number, string>): string {
  return Array.from(positions, ([set, position]) => `${set}:${position}`).join()
}

/** The position of each replica set. */
function parsePositions(text: string): ReadonlyMap<number, string> {
  const parts = text.split(',').map((part) => {
    const [, set, position] = /^(\d+):(\d+\.\d+\.\d+)$/.exec(part) ?? []
    if (set === undefined || position === undefined)
      throw badRequest(`${shown(text)} is not a position of a cluster's feed; each batch of that has one`)
    return [Number(set), position] as const
  })
  return new Map(parts)
}
