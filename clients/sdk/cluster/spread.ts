import { aligned, asBytes } from '../../../protocol/columns.js'
import type { WireColumn } from '../../../protocol/data-request.js'
import { badRequest } from '../../../protocol/errors.js'
import type { DataCall } from '../data-call.js'
import type { Reply } from '../reply.js'
import {
  ELSEWHERE,
  itemsByRange,
  joinReplies,
  type PartialReply,
  partOf,
  partsOf,
  pickItems,
  type RangePart,
} from './items.js'
import type { Placement } from './placement.js'

/** Asks the replica set that has a range of the keys. */
export type AskRange = (range: number, call: DataCall) => Promise<Reply>

/**
 * Carries out a call on an index whose keys are on several replica sets.
 * @throws WarpdexError `BAD_REQUEST` for what goes to one replica set only
 */
export function spread(call: DataCall, placement: Placement, ask: AskRange): Promise<Reply> {
  switch (call.op) {
    case 'scan':
      return scan(call, placement, ask)
    case 'getNext':
      return getNext(call, placement, ask)
    case 'countRanges':
    case 'deleteRange':
      return addUp(
        placement.sets.map((_, range) => ({ range, call })),
        ask,
      )
    case 'watch':
      if (placement.last === 0) return ask(0, call)
      throw badRequest('a feed is of one replica set of the cluster, which the address names, as in ?set=0')
    default:
      return byKeys(call, placement, ask)
  }
}

/** Each key is in one range. */
async function byKeys(call: DataCall, placement: Placement, ask: AskRange): Promise<Reply> {
  const { keys } = call.columns
  const items = keys === undefined ? [] : placement.itemsOf(keys)
  // Each replica set has all parts of a load, be they empty: so the next one is behind the same part everywhere.
  if (call.op === 'load' && items.length > 1)
    return addUp(
      items.map((own, range) => partOf(call, own, range)),
      ask,
    )
  const parts = partsOf(call, items)
  if (call.op === 'explain' || parts.length < 2) return ask(parts[0]?.range ?? 0, call)
  return joinReplies(await askParts(parts, ask), call.count)
}

function askParts(parts: readonly RangePart[], ask: AskRange): Promise<PartialReply[]> {
  return Promise.all(
    parts.map(async ({ range, numbers, call }) => ({ numbers, reply: await ask(range, call) })),
  )
}

/** Sums counts. */
async function addUp(parts: readonly Pick<RangePart, 'range' | 'call'>[], ask: AskRange): Promise<Reply> {
  const replies = await Promise.all(parts.map(({ range, call }) => ask(range, call)))
  const [first] = replies as [Reply]
  const columns = replies.map(({ columns }) => columns.counts!)
  return { ...first, columns: { counts: sumOf(columns) } }
}

function sumOf(columns: readonly WireColumn[]): WireColumn {
  const { type } = columns[0]!
  if (type === 'u32') {
    const numbers = columns.map(({ bytes }) => aligned(bytes, Uint32Array))
    const sums = numbers[0]!.map((_, i) => numbers.reduce((sum, own) => sum + own[i]!, 0))
    return { type, bytes: asBytes(sums) }
  }
  const numbers = columns.map(({ bytes }) => aligned(bytes, BigUint64Array))
  const sums = numbers[0]!.map((_, i) => numbers.reduce((sum, own) => sum + own[i]!, 0n))
  return { type, bytes: asBytes(sums) }
}

/** What is not found behind a key in its range is looked for in the next ones. */
async function getNext(call: DataCall, placement: Placement, ask: AskRange): Promise<Reply> {
  const { keys } = call.columns
  const starts = keys === undefined ? new Uint16Array(0) : placement.rangesOf(keys)
  const ends = new Uint16Array(call.count).fill(call.reverse === true ? 0 : placement.last)
  const isFound = ({ columns: { found } }: Reply, i: number) => ((found!.bytes[i >> 3]! >> (i & 7)) & 1) === 1
  const ranges = placement.sets.length
  return (await goOn(call, { ranges, starts, ends }, ask, isFound)).reply
}

/** A page of each range: what the first replica set has of it that has anything. */
async function scan(call: DataCall, placement: Placement, ask: AskRange): Promise<Reply> {
  const { from, to, tokens } = call.columns
  const filled = (range: number) => new Uint16Array(call.count).fill(range)
  const lowest = from === undefined ? filled(0) : placement.rangesOf(from)
  const highest = to === undefined ? filled(placement.last) : placement.rangesOf(to)
  const [first, ends] = call.reverse === true ? [highest, lowest] : [lowest, highest]
  const starts = tokens === undefined ? first : placement.rangesOfTokens(tokens)
  const hasAny = ({ columns: { offsets, more } }: Reply, i: number) => {
    const groups = aligned(offsets!.bytes, Uint32Array)
    return groups[i + 1]! > groups[i]! || more!.bytes[i] === 1
  }
  const ranges = placement.sets.length
  const { reply, hasMore } = await goOn(call, { ranges, starts, ends }, ask, hasAny)
  const more = reply.columns.more!
  const bytes = more.bytes.map((isSet, i) => (hasMore(i) ? 1 : isSet))
  return { ...reply, columns: { ...reply.columns, more: { ...more, bytes } } }
}

/** Ranges that items begin and end with, in the order in which they are gone through. */
interface Way {
  /** How many ranges there are. */
  readonly ranges: number
  readonly starts: Uint16Array
  readonly ends: Uint16Array
}

/**
 * Asks each item's range, and for those that are not answered there the next one, up to the last of each.
 * @returns also whether there are ranges behind that which has answered an item
 */
async function goOn(
  call: DataCall,
  { ranges, starts, ends }: Way,
  ask: AskRange,
  isAnswered: (reply: Reply, i: number) => boolean,
): Promise<{ reply: Reply; hasMore: (i: number) => boolean }> {
  const step = call.reverse === true ? -1 : 1
  const at = starts.slice()
  const hasMore = (i: number) => (step > 0 ? at[i]! < ends[i]! : at[i]! > ends[i]!)
  const parts: PartialReply[] = []
  let left = new Uint32Array(call.count).map((_, i) => i)
  while (left.length > 0) {
    const rest = left.length === call.count ? call : pickItems(call, { numbers: left })
    const places = Uint16Array.from(left, (number) => at[number]!)
    const asked = await askParts(partsOf(rest, itemsByRange(places, ranges)), ask)
    const unanswered: number[] = []
    for (const { reply, numbers } of asked) {
      const own = numbers.map((number, i) => {
        const item = left[number]!
        if (isAnswered(reply, i) || !hasMore(item)) return item
        at[item]! += step
        unanswered.push(item)
        return ELSEWHERE
      })
      parts.push({ reply, numbers: own })
    }
    left = Uint32Array.from(unanswered).sort()
  }
  const reply = parts.length === 0 ? await ask(0, call) : joinReplies(parts, call.count)
  return { reply, hasMore }
}
