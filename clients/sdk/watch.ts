import { exclusionsIn } from '../../protocol/changes.js'
import { aligned, type Column, columnFrom } from '../../protocol/columns.js'
import { numberIn } from '../../protocol/data-frame.js'
import type { ColumnName, IndexHandle } from '../../protocol/data-request.js'
import { badRequest, type ErrorCode, WarpdexError } from '../../protocol/errors.js'
import { shown } from '../../protocol/shown.js'
import { type KeyType, keyWidth, type PayloadKind, WriteOp } from '../../protocol/types.js'
import { type Bounds, CALL_OPTIONS, type CallOptions, type Kinds, withinBounds } from './call-options.js'
import type { CallColumns, DataCall } from './data-call.js'
import type { IndexCalls, KnownIndex } from './index-calls.js'
import type { Key } from './keys.js'
import { eachEntry, type Part, type Reply, readGroups, readKeys, readPayloads } from './reply.js'
import { type KeyVector, keyVector, type Payload, type Payloads } from './results.js'
import { Snapshot, versionOf } from './snapshot.js'

export interface WatchOptions extends Pick<CallOptions, 'signal'> {
  /** The position of a batch, to go on behind it, or a snapshot, to begin behind what it sees; by default the feed begins behind what is durable. */
  readonly from?: string | Snapshot | undefined
}

export const WATCH_OPTIONS: Kinds<WatchOptions> = {
  from: {
    is: (value) => typeof value === 'string' || value instanceof Snapshot,
    right: 'the position of a batch, or a snapshot, which client.snapshot() opens',
  },
  signal: CALL_OPTIONS.signal,
}

/**
 * What a write did, in the terms of `Index`. A deletion with a payload is of those that equal it. `expireAt` is there where the index has a `ttl`: as `put` takes
 * it, 0 for never.
 */
export type Change<K extends KeyType, P extends PayloadKind> =
  | {
      readonly op: 'insert' | 'put'
      readonly key: Key<K>
      readonly payload: Payload<P>
      readonly expireAt?: number
    }
  | { readonly op: 'delete'; readonly key: Key<K>; readonly payload?: Payload<P> }
  | ({ readonly op: 'deleteRange' } & DeletedRange<K>)

/** A range that was deleted; an absent end is open. */
export interface DeletedRange<K extends KeyType> {
  readonly from?: Key<K> | undefined
  readonly to?: Key<K> | undefined
  readonly fromExclusive?: boolean | undefined
  readonly toExclusive?: boolean | undefined
}

/** What a batch has changed in an index, in columns, and one by one. */
interface BatchColumns<K extends KeyType, P extends PayloadKind> {
  /** For all changes, or one for each. */
  readonly ops: Uint8Array
  readonly keys: KeyVector<K>
  readonly payloads: Payloads<P> | undefined
  readonly expireAt: BigUint64Array | undefined
  readonly range: DeletedRange<K> | undefined
  /** Its ends as they travel, which may be no keys. */
  readonly ends: Pick<CallColumns, 'from' | 'to'> | undefined
}

/** The changes that became durable together, in their order. */
export class ChangeBatch<K extends KeyType, P extends PayloadKind> implements Iterable<Change<K, P>> {
  /** From which a feed goes on behind this batch, also much later. */
  readonly position: string
  /** @internal */
  readonly columns: BatchColumns<K, P>
  readonly length: number

  constructor(position: string, columns: BatchColumns<K, P>) {
    this.position = position
    this.length = columns.range === undefined ? columns.keys.length : 1
    this.columns = columns
  }

  /** Change number i. */
  at(i: number): Change<K, P> {
    const { ops, keys, payloads, expireAt, range } = this.columns
    if (range !== undefined) return { op: 'deleteRange', ...range }
    // What holds keys of type K gives keys of that type.
    const key = keys.at(i) as Key<K>
    const op = ops.length === 1 ? ops[0] : ops[i]
    if (op === WriteOp.deleteKey) return { op: 'delete', key }
    if (payloads === undefined) throw misfit('changes with payloads come without them')
    const payload = payloads.at(i)
    if (op === WriteOp.deletePair) return { op: 'delete', key, payload }
    const change = { op: op === WriteOp.replace ? 'put' : 'insert', key, payload } as const
    return expireAt === undefined ? change : { ...change, expireAt: Number(expireAt[i]) }
  }

  *[Symbol.iterator](): Iterator<Change<K, P>> {
    for (let i = 0; i < this.length; i++) yield this.at(i)
  }
}

/** Batches of a request at most. */
const PAGE_BATCHES = 1024

/** What a feed waits out: the server comes back, or has time again. */
const PASSING: readonly ErrorCode[] = ['SHUTTING_DOWN', 'OVERLOADED']
const PAUSE_MS = 250

/** Where a feed is. */
interface Place {
  readonly known: KnownIndex
  readonly asks: Pick<DataCall, 'position' | 'version'>
}

/**
 * The batches of changes of an index, for as long as they are asked for, or until there is none at the moment. After a lost connection it goes on where it was.
 * @throws WarpdexError `POSITION_GONE`, `INDEX_CHANGED` or `UNKNOWN_INDEX` where the index is not the one that the feed is of
 */
export async function* watchChanges<K extends KeyType, P extends PayloadKind>(
  calls: IndexCalls,
  { from, signal }: WatchOptions,
  untilNow = false,
): AsyncGenerator<ChangeBatch<K, P>, void, undefined> {
  const stop = new AbortController()
  const abort = () => stop.abort()
  const { onClosing } = calls.connection
  onClosing.add(abort)
  signal?.addEventListener('abort', abort)
  if (signal?.aborted === true) abort()
  // Of no call, so that the deadline of calls is none of it.
  const bounds = () => calls.connection.bounds({ deadline: Number.POSITIVE_INFINITY, signal: stop.signal })
  try {
    const feed = new Feed(calls, bounds)
    let place = await feed.begin(from)
    for (;;) {
      const { after, part, known } = await feed.ask(place, PAGE_BATCHES)
      const { count } = part.asked
      place = { known, asks: { position: after + count } }
      if (count > 0) yield* batchesIn<K, P>(part, after, known)
      else if (untilNow) return
      else await feed.ask(place, 0)
    }
  } finally {
    onClosing.delete(abort)
    signal?.removeEventListener('abort', abort)
  }
}

/** The position from which a feed goes on that begins now. */
export async function beginningOf(
  calls: IndexCalls,
  from: string | Snapshot | undefined,
  bounds: () => Bounds,
): Promise<string> {
  const feed = new Feed(calls, bounds)
  const { known, after } = await feed.ask(await feed.begin(from), 1)
  return positionText(known, after)
}

/** An answer to a watch. */
interface Page {
  /** Position of the batch before those of the page. */
  readonly after: number
  /** As many batches as it is said to have been asked for. */
  readonly part: Part
  /** The index that it is of. */
  readonly known: KnownIndex
}

/** The requests of one feed. */
class Feed {
  readonly #calls: IndexCalls
  readonly #bounds: () => Bounds

  constructor(calls: IndexCalls, bounds: () => Bounds) {
    this.#calls = calls
    this.#bounds = bounds
  }

  /** @throws WarpdexError `BAD_REQUEST` for what is no position */
  async begin(from: string | Snapshot | undefined): Promise<Place> {
    const given = typeof from === 'string' ? parsePosition(from) : undefined
    const version = typeof from === 'string' ? undefined : versionOf({ snapshot: from })
    const known = this.#calls.definition.known ?? (await this.#calls.definition.get(this.#bounds()))
    if (given === undefined) return { known, asks: { version } }
    const { position, ...handle } = given
    return { known: { ...known, ...handle }, asks: { position } }
  }

  /** Asks for batches; with a limit of 0 until there are some, and for none. */
  async ask({ known, asks }: Place, limit: number): Promise<Page> {
    const call = { op: 'watch', count: 0, limit, ...asks, columns: {} } as const
    const send = (of: KnownIndex) =>
      this.#calls.request(of, call, this.#bounds(), true).then((reply) => pageOf(reply, of))
    // Positions are those of one index.
    const goesOn = asks.position !== undefined
    for (;;) {
      try {
        return await (goesOn ? this.#calls.goOn(known, () => send(known)) : this.#calls.run(known, send))
      } catch (error) {
        if (!(error instanceof WarpdexError) || !PASSING.includes(error.code)) throw error
        await this.#pause()
      }
    }
  }

  #pause(): Promise<void> {
    return withinBounds(this.#bounds(), (resolve) => void setTimeout(resolve, PAUSE_MS))
  }
}

function pageOf(reply: Reply<'watch'>, known: KnownIndex): Page {
  const { position, offsets } = reply.columns
  if (position === undefined) throw misfit('there is not a position')
  const count = offsets === undefined ? 0 : offsets.bytes.byteLength / 4 - 1
  return { after: numberIn(position, 'position'), part: { reply, asked: { count } }, known }
}

function* batchesIn<K extends KeyType, P extends PayloadKind>(
  part: Part,
  after: number,
  known: KnownIndex,
): Generator<ChangeBatch<K, P>> {
  const { columns } = part.reply
  const offsets = readGroups([part])
  const keys = readKeys<K>([part], known, eachEntry)
  const payloads = columns.payloads && readPayloads<P>([part], known, eachEntry)
  const expireAt = columns.expireAt && aligned(columns.expireAt.bytes, BigUint64Array)
  const ops = columns.ops?.bytes
  const cuts = columns.ops?.offsets && aligned(columns.ops.offsets, Uint32Array)
  if (ops === undefined || cuts?.length !== offsets.length) throw misfit('there are no ops for its batches')
  for (let i = 0; i + 1 < offsets.length; i++) {
    const own = ops.subarray(cuts[i], cuts[i + 1])
    const [first, end] = [offsets[i], offsets[i + 1]]
    const exclusions = exclusionsIn(own[0])
    if (first === end && exclusions === undefined) continue
    yield new ChangeBatch(positionText(known, after + i + 1), {
      ops: own,
      // The part of a column of keys is one of the same type.
      keys: keys.subarray(first, end) as KeyVector<K>,
      payloads: payloads?.part(first, end),
      expireAt: expireAt?.subarray(first, end),
      range: exclusions && {
        ...exclusions,
        from: keyIn<K>(part, 'from', known),
        to: keyIn<K>(part, 'to', known),
      },
      ends: exclusions && { from: endIn(part, 'from', known), to: endIn(part, 'to', known) },
    })
  }
}

/** An end of the range that a batch has deleted. */
function endIn({ reply }: Part, name: ColumnName, { keyType }: KnownIndex): Column | undefined {
  const column = reply.columns[name]
  if (column === undefined) return undefined
  const offsets = column.offsets && aligned(column.offsets, Uint32Array)
  return columnFrom(column.bytes, keyWidth(keyType), offsets)
}

function keyIn<K extends KeyType>(part: Part, name: ColumnName, known: KnownIndex): Key<K> | undefined {
  const end = endIn(part, name, known)
  // As in `ChangeBatch`.
  return end && (keyVector(known.keyType, end).at(0) as Key<K>)
}

function positionText({ handle, generation }: IndexHandle, position: number): string {
  return `${handle}.${generation}.${position}`
}

/** A position, and the index that it is of: none has another one's, whatever its name. */
function parsePosition(text: string): IndexHandle & { readonly position: number } {
  const [handle, generation, position] = /^\d+\.\d+\.\d+$/.test(text) ? text.split('.').map(Number) : []
  if (handle >>> 0 === handle && generation >>> 0 === generation && Number.isSafeInteger(position))
    return { handle, generation, position }
  throw badRequest(`${shown(text)} is not a position; each batch of a feed has one`)
}

function misfit(what: string): WarpdexError {
  return new WarpdexError('INTERNAL', `the server's reply to watch does not fit the request: ${what}`)
}
