import { aligned, asBytes } from '../../../protocol/columns.js'
import type { WireColumn } from '../../../protocol/data-request.js'
import { badRequest } from '../../../protocol/errors.js'
import type { DataCall } from '../data-call.js'
import type { Reply } from '../reply.js'
import { ELSEWHERE, joinReplies, numbersOf, type PartialReply, pickItems } from './items.js'
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
      return addUp(call, all(placement), ask)
    case 'watch':
      throw badRequest('a feed is of one replica set of the cluster, which the address names, as in ?set=0')
    default:
      return byKeys(call, placement, ask)
  }
}

function all({ sets }: Placement): number[] {
  return [...sets.keys()]
}

/** Each key is in one range. */
async function byKeys(call: DataCall, placement: Placement, ask: AskRange): Promise<Reply> {
  const { keys } = call.columns
  const ranges = keys === undefined ? new Uint16Array(0) : placement.rangesOf(keys)
  const [first = 0] = ranges
  if (call.op === 'explain' || ranges.every((range) => range === first)) return ask(first, call)
  if (call.isUnit === true)
    throw badRequest(
      'a batch has keys of one replica set of the cluster only, since it is one entry of its log',
    )
  const used = all(placement).filter((range) => ranges.includes(range))
  if (call.op === 'load') return addUp(call, used, ask, ranges)
  return joinReplies(await askItems(call, used, ranges, ask), call.count)
}

/** Asks each of these ranges for the items that are in it, at once. */
function askItems(
  call: DataCall,
  used: readonly number[],
  ranges: Uint16Array,
  ask: AskRange,
): Promise<PartialReply[]> {
  return Promise.all(
    used.map(async (range) => {
      const numbers = numbersOf(call.count, (i) => ranges[i] === range)
      const own = numbers.length === call.count ? call : pickItems(call, numbers)
      return { numbers, reply: await ask(range, own) }
    }),
  )
}

/** Sums counts. @param ranges where items go that each range gets a part of; by default each gets the whole call */
async function addUp(
  call: DataCall,
  used: readonly number[],
  ask: AskRange,
  ranges?: Uint16Array,
): Promise<Reply> {
  const asked = used.map((range) =>
    ask(
      range,
      ranges === undefined
        ? call
        : pickItems(
            call,
            numbersOf(call.count, (i) => ranges[i] === range),
          ),
    ),
  )
  const replies = await Promise.all(asked)
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
  return (await goOn(call, { starts, ends }, ask, isFound)).reply
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
  const { reply, hasMore } = await goOn(call, { starts, ends }, ask, hasAny)
  const more = reply.columns.more!
  const bytes = more.bytes.map((isSet, i) => (hasMore(i) ? 1 : isSet))
  return { ...reply, columns: { ...reply.columns, more: { ...more, bytes } } }
}

/** Ranges that items begin and end with, in the order in which they are gone through. */
interface Way {
  readonly starts: Uint16Array
  readonly ends: Uint16Array
}

/**
 * Asks each item's range, and for those that are not answered there the next one, up to the last of each.
 * @returns also whether there are ranges behind that which has answered an item
 */
async function goOn(
  call: DataCall,
  { starts, ends }: Way,
  ask: AskRange,
  isAnswered: (reply: Reply, i: number) => boolean,
): Promise<{ reply: Reply; hasMore: (i: number) => boolean }> {
  const step = call.reverse === true ? -1 : 1
  const at = starts.slice()
  const hasMore = (i: number) => (step > 0 ? at[i]! < ends[i]! : at[i]! > ends[i]!)
  const parts: PartialReply[] = []
  let left = numbersOf(call.count, () => true)
  while (left.length > 0) {
    const ranges = Uint16Array.from(left, (number) => at[number]!)
    const rest = left.length === call.count ? call : pickItems(call, left)
    const asked = await askItems(rest, [...new Set(ranges)], ranges, ask)
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
