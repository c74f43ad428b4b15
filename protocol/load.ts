import type { AbortSignalLike } from './abort-signal.js'
import { asBytes, type Column, countOf, joinColumns } from './columns.js'
import { toWarpdexError, WarpdexError } from './errors.js'
import { BY_TTL } from './expiry.js'
import { cutPieces, itemBytes, type PieceLimits, type WriteItems } from './write-pieces.js'

/** What became of rows that were loaded. */
export interface LoadCounts {
  readonly rows: number
  readonly inserted: number
  readonly replaced: number
  /** Not inserted: their keys were there already (unique index, or mode `ifAbsent`). */
  readonly existing: number
  /** Refused: NaN is no key. */
  readonly refused: number
}

export interface LoadResult extends LoadCounts {
  /** Time from the start of the load. */
  readonly seconds: number
}

export const NO_ROWS: LoadCounts = { rows: 0, inserted: 0, replaced: 0, existing: 0, refused: 0 }

/** Why a load ended early. What it stored before stays, so that it can be taken up again from there. */
export class LoadError extends WarpdexError {
  /**
   * The rows that are durable: the first `stored.rows` of the load and, unless the connection was lost or a deadline passed, no
   * others.
   */
  readonly stored: LoadResult

  constructor(reason: WarpdexError, stored: LoadResult) {
    const stays =
      stored.rows === 0 ? 'no row of the load is' : `the first ${stored.rows} rows of the load are`
    super(reason.code, `${reason.message}; ${stays} stored`, { cause: reason })
    this.name = 'LoadError'
    this.stored = stored
  }
}

/** The parts of a load, and how they are stored. */
export interface LoadTask<Part> {
  readonly parts: AsyncIterable<Part>
  /** How much of what may be under way at a time a part is. */
  readonly share: (part: Part) => number
  /** Stores a part; called in order. Where it fails for one part it must fail for all after it. */
  readonly send: (part: Part) => Promise<LoadCounts>
  /** Told of all that is stored so far, after each part. What it throws ends the load. */
  readonly onProgress?: ((stored: LoadResult) => void) | undefined
  /** Aborting it ends the load with `CANCELLED`, once what is under way is done. */
  readonly signal?: AbortSignalLike | undefined
}

/**
 * Sends the parts of a load in order, several at a time.
 *
 * @throws LoadError with the code of what went wrong: with a part, or in the source of the parts
 */
export async function runLoad<Part>(task: LoadTask<Part>): Promise<LoadResult> {
  const { share, send, onProgress, signal } = task
  const start = performance.now()
  let counts = NO_ROWS
  const stored = (): LoadResult => ({ ...counts, seconds: (performance.now() - start) / 1000 })
  let failure: WarpdexError | undefined
  let end: () => void = () => {}
  const ended = new Promise<undefined>((resolve) => {
    end = () => resolve(undefined)
  })
  const fail = (thrown: unknown) => {
    failure ??= toWarpdexError(thrown)
    end()
  }
  const onAbort = () => fail(new WarpdexError('CANCELLED', 'the load was cancelled'))
  if (signal?.aborted) onAbort()
  signal?.addEventListener('abort', onAbort)
  const underWay = new Set<Promise<void>>()
  let load = 0
  const follow = async (part: Part, weight: number) => {
    try {
      const own = await send(part)
      counts = sum(counts, own)
      onProgress?.(stored())
    } catch (thrown) {
      fail(thrown)
    }
    load -= weight
  }
  const iterator = task.parts[Symbol.asyncIterator]()
  try {
    while (failure === undefined) {
      const next = await Promise.race([ended, iterator.next()])
      if (next === undefined || next.done === true) break
      const weight = share(next.value)
      while (load > 0 && load + weight > 1) await Promise.race(underWay)
      if (failure !== undefined) break
      load += weight
      const following: Promise<void> = follow(next.value, weight).then(() => void underWay.delete(following))
      underWay.add(following)
    }
  } catch (thrown) {
    fail(thrown)
  }
  // Not waited for: a source that hangs would hold up the end.
  if (failure !== undefined) iterator.return?.().catch(() => {})
  await Promise.all(underWay)
  signal?.removeEventListener('abort', onAbort)
  if (failure !== undefined) throw new LoadError(failure, stored())
  return stored()
}

/** Rows in parts of about the same size: small batches together, large ones in pieces. */
export async function* loadParts(
  batches: AsyncIterable<WriteItems> | Iterable<WriteItems>,
  limits: PieceLimits,
): AsyncGenerator<WriteItems, void, undefined> {
  let gathered: WriteItems[] = []
  let rows = 0
  let bytes = 0
  for await (const batch of batches) {
    for (const piece of cutPieces(batch, limits)) {
      const count = countOf(piece.keys)
      if (count === 0) continue
      const size = itemBytes(piece)
      if (rows > 0 && (rows + count > limits.rows || bytes + size > limits.bytes)) {
        yield joinItems(gathered)
        gathered = []
        rows = 0
        bytes = 0
      }
      gathered.push(piece)
      rows += count
      bytes += size
    }
  }
  if (rows > 0) yield joinItems(gathered)
}

function joinItems(parts: readonly WriteItems[]): WriteItems {
  if (parts.length === 1) return parts[0]
  const payloads = parts.flatMap((part) => (part.payloads === undefined ? [] : [part.payloads]))
  const areTimed = parts.some(({ expireAt }) => expireAt !== undefined)
  return {
    keys: joinColumns(parts.map(({ keys }) => keys)),
    payloads: payloads.length === 0 ? undefined : joinColumns(payloads),
    expireAt: areTimed
      ? joinColumns(parts.map(({ keys, expireAt }) => expireAt ?? allByTtl(countOf(keys))))
      : undefined,
  }
}

function allByTtl(count: number): Column {
  return { bytes: asBytes(new BigUint64Array(count).fill(BY_TTL)), width: 8 }
}

function sum(one: LoadCounts, other: LoadCounts): LoadCounts {
  return {
    rows: one.rows + other.rows,
    inserted: one.inserted + other.inserted,
    replaced: one.replaced + other.replaced,
    existing: one.existing + other.existing,
    refused: one.refused + other.refused,
  }
}
