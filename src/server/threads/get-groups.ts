import { aligned, asBytes } from '../../../protocol/columns.js'
import { encodeDataRequest } from '../../../protocol/data-frame.js'
import { type DataRequest, type WireColumns, WRITES } from '../../../protocol/data-request.js'
import { WarpdexError } from '../../../protocol/errors.js'
import { sectionElementBytes } from '../../../protocol/frame.js'
import { Coalescer, cutShared, paddedCount } from '../../engine/coalescer.js'
import { Call, type Reply } from '../backend.js'

/** Gets of more keys than this go by themselves: their own way to the engine costs little beside what they take there. */
const SMALL_KEYS = 16_384

/** Keys of one group, after which no more join. */
const GROUP_KEYS = 131_072

/** Groups of one index that are under way: few large ones cost the engine's thread least, and it has other threads to serve meanwhile. */
const UNDER_WAY = 1

/** A get that can go with others. */
interface Get extends Call {
  readonly request: DataRequest
}

/**
 * Makes one get of many small ones on their way to the engine's thread, which then has as little to do with all of them as with one. Those of
 * one token, index and generation go together.
 */
export class GetGroups {
  readonly #send: (call: Call) => Promise<Reply>
  readonly #groups = new Map<string, Coalescer<Get, Reply>>()

  /** @param send sends a call to the engine's thread */
  constructor(send: (call: Call) => Promise<Reply>) {
    this.#send = send
  }

  /**
   * The reply to what is a small get of keys of fixed width; undefined for other calls, before which all gets go that could be told otherwise
   * after them.
   * @param who may do what others of that name may
   */
  offer(call: Call, who: string): Promise<Reply> | undefined {
    if (isSmallGet(call)) return this.#group(call.request, who).call(call)
    const isRead = 'handle' in call.request && !WRITES.has(call.request.op)
    if (!isRead) for (const group of this.#groups.values()) group.flush()
    return undefined
  }

  #group({ handle, generation, columns }: DataRequest, who: string): Coalescer<Get, Reply> {
    const name = `${handle} ${generation} ${columns.keys?.type} ${who}`
    let group = this.#groups.get(name)
    if (group === undefined) {
      for (const [known, { isIdle }] of this.#groups) if (isIdle) this.#groups.delete(known)
      group = new Coalescer({
        underWay: UNDER_WAY,
        ask: (gets) => this.#ask(gets),
        share: ({ request }) => paddedCount(request.count) / GROUP_KEYS,
      })
      this.#groups.set(name, group)
    }
    return group
  }

  async #ask(gets: readonly Get[]): Promise<readonly (Reply | Promise<Reply>)[]> {
    const wanted = gets.filter(({ givenUp }) => !givenUp)
    const [first] = wanted
    if (first === undefined) return gets.map(cancelled)
    if (wanted.length === 1) return gets.map((get) => (get === first ? this.#send(first) : cancelled()))
    try {
      const parts = cutReply(await this.#send(joined(first, wanted)), wanted)
      return gets.map((get) => parts[wanted.indexOf(get)] ?? cancelled())
    } catch (error) {
      // Together their payloads may be more than one reply holds.
      if (!(error instanceof WarpdexError) || error.code !== 'TOO_LARGE') throw error
      return gets.map((get) => this.#send(get))
    }
  }
}

function isSmallGet(call: Call): call is Get {
  const { request } = call
  if (request.op !== 'get' || request.traversal !== undefined || request.count > SMALL_KEYS) return false
  const { keys } = request.columns
  if (keys === undefined || keys.offsets !== undefined || keys.type === 'bytes') return false
  // A wrong key count is left for the engine to refuse.
  return keys.bytes.byteLength === request.count * sectionElementBytes(keys.type) && request.count > 0
}

function cancelled(): Promise<never> {
  return Promise.reject(new WarpdexError('CANCELLED', 'the request was cancelled before it began'))
}

/** One get of the keys of all. */
function joined(first: Get, gets: readonly Get[]): Call {
  const type = first.request.columns.keys?.type ?? 'u32'
  const count = gets.reduce((sum, { request }) => sum + paddedCount(request.count), 0)
  const width = sectionElementBytes(type)
  const bytes = new Uint8Array(count * width)
  let at = 0
  for (const { request } of gets) {
    if (request.columns.keys) bytes.set(request.columns.keys.bytes, at * width)
    at += paddedCount(request.count)
  }
  const deadlines = gets.map(({ request }) => request.deadline ?? 0)
  // For as long as somebody waits for any of them.
  const deadline = deadlines.includes(0) ? 0 : Math.max(...deadlines)
  const request: DataRequest = { ...first.request, deadline, count, columns: { keys: { type, bytes } } }
  const all = new Call(request, encodeDataRequest(request), first.owner, first.client)
  // Cancelled once all of them are.
  for (const get of gets) {
    get.onCancel = () => {
      if (gets.every(({ givenUp }) => givenUp)) all.cancel()
    }
  }
  return all
}

function cutReply({ result, memory }: Reply, gets: readonly Get[]): readonly Reply[] {
  const { found, payloads } = result.columns ?? {}
  if (found === undefined || payloads === undefined)
    throw new WarpdexError('INTERNAL', 'a get has no columns')
  let left = gets.length
  const shared = memory && { release: () => void (--left === 0 && memory.release()) }
  const offsets = payloads.offsets && aligned(payloads.offsets, Uint32Array)
  const counts = gets.map(({ request }) => request.count)
  const width = payloads.bytes.byteLength / counts.reduce((sum, count) => sum + paddedCount(count), 0)
  return cutShared(found.bytes, counts, (ownFound, start, count) => {
    const end = start + count
    const columns: WireColumns = {
      // A copy: a frame is made around columns that lie as in one, and its gaps may be what others of the group were found to have.
      found: { type: found.type, bytes: ownFound.slice() },
      payloads: offsets
        ? {
            type: payloads.type,
            bytes: payloads.bytes.subarray(offsets[start], offsets[end]),
            offsets: asBytes(offsets.slice(start, end + 1).map((offset) => offset - offsets[start]!)),
          }
        : { type: payloads.type, bytes: payloads.bytes.subarray(start * width, end * width) },
    }
    return { result: { columns }, memory: shared }
  })
}
