import { aligned, asBytes } from '../../../protocol/columns.js'
import { encodeDataRequest } from '../../../protocol/data-frame.js'
import {
  type DataRequest,
  type WireColumn,
  type WireColumns,
  WRITES,
} from '../../../protocol/data-request.js'
import { WarpdexError } from '../../../protocol/errors.js'
import { sectionElementBytes } from '../../../protocol/frame.js'
import { SEQUENCE_BYTES } from '../../../protocol/types.js'
import { CoalescerByKind, cutShared, paddedCount } from '../../engine/coalescer.js'
import { Call, type Reply } from '../backend.js'

/** Gets of more keys than this go by themselves: their own way to the engine costs little beside what they take there. */
const SMALL_KEYS = 32_768

/** Keys of one group, after which no more join. */
const GROUP_KEYS = 131_072

/** Groups of one index that are under way: few large ones cost the engine's thread least, and it has other threads to serve meanwhile. */
const UNDER_WAY = 1

/** A get, or a `getNext`, that can go with others. */
interface Get extends Call {
  readonly request: DataRequest
}

/**
 * Makes one get, or `getNext`, of many small ones on their way to the engine's thread, which then has as little to do with all of them as with
 * one. Those that ask alike, of one token, index and generation, go together.
 */
export class GetGroups {
  readonly #send: (call: Call) => Promise<Reply>
  readonly #groups: CoalescerByKind<Get, Reply>

  /** @param send sends a call to the engine's thread */
  constructor(send: (call: Call) => Promise<Reply>) {
    this.#send = send
    this.#groups = new CoalescerByKind({
      underWay: UNDER_WAY,
      ask: (gets) => this.#ask(gets),
      share: ({ request }) => paddedCount(request.count) / GROUP_KEYS,
    })
  }

  /**
   * The reply to what is a small get of keys of fixed width; undefined for other calls, before which all gets go that could be told otherwise
   * after them.
   * @param who may do what others of that name may
   */
  offer(call: Call, who: string): Promise<Reply> | undefined {
    if (isSmallGet(call)) return this.#groups.call(kindOf(call.request, who), call)
    const isRead = 'handle' in call.request && !WRITES.has(call.request.op)
    if (!isRead) this.#groups.flush()
    return undefined
  }

  async #ask(gets: readonly Get[]): Promise<readonly (Reply | Promise<Reply>)[]> {
    const wanted = gets.filter(({ givenUp }) => !givenUp)
    const [first] = wanted
    if (first === undefined) return gets.map(cancelled)
    const isLone = wanted.length === 1
    try {
      // A lone one is waited for as well: those that come meanwhile are the next group.
      const reply = await this.#send(isLone ? first : joined(first, wanted))
      const replies = isLone ? [reply] : cutReply(reply, wanted)
      return gets.map((get) => replies[wanted.indexOf(get)] ?? cancelled())
    } catch (error) {
      // Together their payloads may be more than one reply holds.
      if (isLone || !(error instanceof WarpdexError) || error.code !== 'TOO_LARGE') throw error
      return gets.map((get) => this.#send(get))
    }
  }
}

/** A name for all that ask alike. */
function kindOf(request: DataRequest, who: string): string {
  const { handle, generation, op, withSequences, reverse, columns } = request
  const asks = `${op} ${withSequences} ${reverse} ${columns.sequences !== undefined}`
  return `${handle} ${generation} ${columns.keys?.type} ${asks} ${who}`
}

function isSmallGet(call: Call): call is Get {
  const { request } = call
  if (request.op !== 'get' && request.op !== 'getNext') return false
  const { traversal, version, count } = request
  if (traversal !== undefined || version !== undefined || count > SMALL_KEYS) return false
  const { keys, sequences } = request.columns
  if (keys === undefined || keys.offsets !== undefined || keys.type === 'bytes') return false
  // Wrong counts are left for the engine to refuse.
  if (sequences !== undefined && sequences.bytes.byteLength !== count * SEQUENCE_BYTES) return false
  return keys.bytes.byteLength === count * sectionElementBytes(keys.type) && count > 0
}

function cancelled(): Promise<never> {
  return Promise.reject(new WarpdexError('CANCELLED', 'the request was cancelled before it began'))
}

/** One get of the keys of all. */
function joined(first: Get, gets: readonly Get[]): Call {
  const count = countOf(gets)
  const columns = {
    keys: joinedColumn(gets, 'keys', count),
    ...(first.request.columns.sequences && { sequences: joinedColumn(gets, 'sequences', count) }),
  }
  const deadlines = gets.map(({ request }) => request.deadline ?? 0)
  // For as long as somebody waits for any of them.
  const deadline = deadlines.includes(0) ? 0 : Math.max(...deadlines)
  const request: DataRequest = { ...first.request, deadline, count, columns }
  const all = new Call(request, encodeDataRequest(request), first.owner, first.client)
  // Cancelled once all of them are.
  for (const get of gets) {
    get.onCancel = () => {
      if (gets.every(({ givenUp }) => givenUp)) all.cancel()
    }
  }
  return all
}

/** Keys of all, each get's filled up. */
function countOf(gets: readonly Get[]): number {
  return gets.reduce((sum, { request }) => sum + paddedCount(request.count), 0)
}

function joinedColumn(gets: readonly Get[], name: 'keys' | 'sequences', count: number): WireColumn {
  const type = gets[0]?.request.columns[name]?.type ?? 'u32'
  const width = sectionElementBytes(type)
  const bytes = new Uint8Array(count * width)
  let at = 0
  for (const { request } of gets) {
    const column = request.columns[name]
    if (column) bytes.set(column.bytes, at * width)
    at += paddedCount(request.count)
  }
  return { type, bytes }
}

function cutReply({ result, memory, running }: Reply, gets: readonly Get[]): readonly Reply[] {
  const { found, keys, payloads, sequences } = result.columns ?? {}
  if (found === undefined || payloads === undefined)
    throw new WarpdexError('INTERNAL', 'a get has no columns')
  let left = gets.length
  const shared = memory && { release: () => void (--left === 0 && memory.release()) }
  const counts = gets.map(({ request }) => request.count)
  const all = countOf(gets)
  return cutShared(found.bytes, counts, (ownFound, start, count) => {
    const part = (column: WireColumn) => cutColumn(column, start, start + count, all)
    const columns: WireColumns = {
      // A copy: a frame is made around columns that lie as in one, and its gaps may be what others of the group were found to have.
      found: { type: found.type, bytes: ownFound.slice() },
      ...(keys && { keys: part(keys) }),
      payloads: part(payloads),
      ...(sequences && { sequences: part(sequences) }),
    }
    return { result: { columns }, memory: shared, running }
  })
}

/** Values number `start` to before `end` of `count`. */
function cutColumn(
  { type, bytes, offsets }: WireColumn,
  start: number,
  end: number,
  count: number,
): WireColumn {
  if (offsets === undefined) {
    const width = bytes.byteLength / count
    return { type, bytes: bytes.subarray(start * width, end * width) }
  }
  const cuts = aligned(offsets, Uint32Array)
  const own = cuts.slice(start, end + 1).map((offset) => offset - cuts[start]!)
  return { type, bytes: bytes.subarray(cuts[start], cuts[end]), offsets: asBytes(own) }
}
