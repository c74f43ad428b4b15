import { aligned, asBytes, type Column, pickValues } from '../../../protocol/columns.js'
import type { ColumnName, WireColumn, WireColumns } from '../../../protocol/data-request.js'
import type { DataCall } from '../data-call.js'
import type { Reply } from '../reply.js'
import { type RangeItems, scattered } from './partition.js'

/** Stands for an item that is answered by another reply. */
export const ELSEWHERE = 0xffff_ffff

/** A reply to some items of a call. */
export interface PartialReply {
  readonly reply: Reply
  /** Which items of the call they are; those that are `ELSEWHERE` are left out. */
  readonly numbers: Uint32Array
}

/** Columns with a bit for each item. */
const BITMAPS: ReadonlySet<ColumnName> = new Set<ColumnName>(['found'])
/** Columns of entries, of which an item has several, where there are `offsets`. */
const ENTRIES: ReadonlySet<ColumnName> = new Set<ColumnName>(['keys', 'payloads', 'expireAt'])

/** A call for some items of another one; what it is behind stays. */
export function pickItems<C extends DataCall>(call: C, { numbers, keys }: RangeItems): C {
  const columns = Object.entries(call.columns).map(([name, column]) => {
    if (name === 'after') return [name, column]
    return [name, name === 'keys' && keys !== undefined ? keys : column && pick(column, numbers)]
  })
  return { ...call, count: numbers.length, columns: Object.fromEntries(columns) }
}

function pick(column: Column, numbers: Uint32Array): Column {
  const { width, bytes } = column
  if (width === undefined || width % 4 !== 0) return pickValues(column, numbers)
  const picked = new Uint32Array((numbers.length * width) / 4)
  const source = aligned(bytes, Uint32Array)
  if (width === 4) for (let i = 0; i < numbers.length; i++) picked[i] = source[numbers[i]!]!
  else {
    const words = width / 4
    for (let i = 0, to = 0; i < numbers.length; i++)
      for (let word = numbers[i]! * words, end = word + words; word < end; ) picked[to++] = source[word++]!
  }
  return { bytes: asBytes(picked), width }
}

/** What a call has for a range of the keys: of its items those with these numbers. */
export interface RangePart {
  readonly range: number
  readonly numbers: Uint32Array
  readonly call: DataCall
}

/** What a call has for each range that has items. */
export function partsOf(call: DataCall, items: readonly RangeItems[]): RangePart[] {
  return items.flatMap((own, range) => (own.numbers.length === 0 ? [] : partOf(call, own, range)))
}

export function partOf(call: DataCall, items: RangeItems, range: number): RangePart {
  const { numbers } = items
  return { range, numbers, call: numbers.length === call.count ? call : pickItems(call, items) }
}

/** One answer to all items of a call. Each of them is in one of the replies; a single reply has all, in order. */
export function joinReplies(parts: readonly PartialReply[], count: number): Reply {
  const [{ reply: first }] = parts as [PartialReply]
  if (parts.length === 1) return first
  const groups = first.columns.offsets === undefined ? undefined : joinGroups(parts, count)
  const columns: { [Name in ColumnName]?: WireColumn } = {}
  for (const name of Object.keys(first.columns) as ColumnName[]) {
    if (name === 'offsets') columns.offsets = { type: 'u32', bytes: asBytes(groups!.offsets) }
    else if (BITMAPS.has(name)) columns[name] = joinBitmaps(parts, name, count)
    else if (groups !== undefined && ENTRIES.has(name))
      columns[name] = scatter(parts, name, groups.numbers, groups.offsets[count]!)
    else {
      const numbers = parts.map((part) => part.numbers)
      columns[name] = scatter(parts, name, numbers, count)
    }
  }
  return { ...first, columns: columns as WireColumns }
}

/** Where the entries of each item begin, and which each entry of a reply is of all. */
function joinGroups(parts: readonly PartialReply[], count: number) {
  const offsets = new Uint32Array(count + 1)
  const own = parts.map(({ reply }) => aligned(reply.columns.offsets!.bytes, Uint32Array))
  parts.forEach(({ numbers }, part) => {
    numbers.forEach((number, i) => {
      if (number !== ELSEWHERE) offsets[number + 1] = own[part]![i + 1]! - own[part]![i]!
    })
  })
  for (let i = 0; i < count; i++) offsets[i + 1]! += offsets[i]!
  const numbers = parts.map(({ numbers }, part) => {
    const ends = own[part]!
    const entries = new Uint32Array(ends[ends.length - 1]!)
    numbers.forEach((number, i) => {
      for (let entry = ends[i]!, j = 0; entry < ends[i + 1]!; entry++, j++)
        entries[entry] = number === ELSEWHERE ? ELSEWHERE : offsets[number]! + j
    })
    return entries
  })
  return { offsets, numbers }
}

function joinBitmaps(parts: readonly PartialReply[], name: ColumnName, count: number): WireColumn {
  // Most often all keys are there.
  if (parts.every(({ reply, numbers }) => hasAllSet(reply.columns[name]!.bytes, numbers.length)))
    return { type: 'bytes', bytes: allSet(count) }
  const bytes = new Uint8Array(Math.ceil(count / 8))
  for (const { reply, numbers } of parts) {
    const own = reply.columns[name]!.bytes
    for (let i = 0; i < numbers.length; i++) {
      const number = numbers[i]!
      const isSet = (own[i >> 3]! >> (i & 7)) & 1
      if (number !== ELSEWHERE) bytes[number >> 3]! |= isSet << (number & 7)
    }
  }
  return { type: 'bytes', bytes }
}

/** A bitmap of so many bits. */
function allSet(count: number): Uint8Array {
  const bytes = new Uint8Array(Math.ceil(count / 8)).fill(0xff)
  if (count % 8 > 0) bytes[bytes.length - 1] = 2 ** (count % 8) - 1
  return bytes
}

function hasAllSet(bytes: Uint8Array, count: number): boolean {
  const whole = count >> 3
  for (let i = 0; i < whole; i++) if (bytes[i] !== 0xff) return false
  return count % 8 === 0 || bytes[whole] === 2 ** (count % 8) - 1
}

/**
 * Values of replies, each in its place among all.
 * @param numbers the place of each value of each reply
 */
function scatter(
  parts: readonly PartialReply[],
  name: ColumnName,
  numbers: readonly Uint32Array[],
  count: number,
): WireColumn {
  const columns = parts.map(({ reply }) => reply.columns[name]!)
  const { type } = columns[0]!
  if (columns[0]!.offsets !== undefined) return scatterCut(columns, numbers, count)
  const filled = columns.findIndex((_, part) => numbers[part]!.length > 0)
  const width = filled < 0 ? 0 : columns[filled]!.bytes.length / numbers[filled]!.length
  const sources = columns.map(({ bytes }, part) => ({ bytes, numbers: numbers[part]! }))
  const fast = scattered(sources, width, count)
  if (fast !== undefined) return { type, bytes: fast }
  const bytes = new Uint8Array(count * width)
  for (const source of sources) {
    if (width % 4 === 0) scatterWords(source.bytes, source.numbers, new Uint32Array(bytes.buffer), width / 4)
    else
      source.numbers.forEach((place, i) => {
        if (place !== ELSEWHERE) bytes.set(source.bytes.subarray(i * width, (i + 1) * width), place * width)
      })
  }
  return { type, bytes }
}

/** @param words of each value */
function scatterWords(bytes: Uint8Array, places: Uint32Array, all: Uint32Array, words: number): void {
  const source = aligned(bytes, Uint32Array)
  for (let i = 0; i < places.length; i++) {
    const place = places[i]!
    if (place === ELSEWHERE) continue
    if (words === 1) all[place] = source[i]!
    else for (let word = 0; word < words; word++) all[place * words + word] = source[i * words + word]!
  }
}

/** As `scatter`, of values that offsets cut. */
function scatterCut(
  columns: readonly WireColumn[],
  numbers: readonly Uint32Array[],
  count: number,
): WireColumn {
  const offsets = new Uint32Array(count + 1)
  const cuts = columns.map((column) => aligned(column.offsets!, Uint32Array))
  numbers.forEach((places, part) => {
    places.forEach((place, i) => {
      if (place !== ELSEWHERE) offsets[place + 1] = cuts[part]![i + 1]! - cuts[part]![i]!
    })
  })
  for (let i = 0; i < count; i++) offsets[i + 1]! += offsets[i]!
  const bytes = new Uint8Array(offsets[count]!)
  numbers.forEach((places, part) => {
    const source = columns[part]!.bytes
    const cut = cuts[part]!
    places.forEach((place, i) => {
      if (place !== ELSEWHERE) bytes.set(source.subarray(cut[i], cut[i + 1]), offsets[place])
    })
  })
  return { type: columns[0]!.type, bytes, offsets: asBytes(offsets) }
}

/** The items in each range, ascending. @param ranges the range of each item @param count how many ranges there are */
export function itemsByRange(ranges: Uint16Array, count: number): RangeItems[] {
  const ends = new Uint32Array(count + 1)
  for (let i = 0; i < ranges.length; i++) ends[ranges[i]! + 1]!++
  for (let range = 0; range < count; range++) ends[range + 1]! += ends[range]!
  const next = ends.slice()
  const numbers = new Uint32Array(ranges.length)
  for (let i = 0; i < ranges.length; i++) numbers[next[ranges[i]!]!++] = i
  return Array.from({ length: count }, (_, range) => ({
    numbers: numbers.subarray(ends[range], ends[range + 1]),
  }))
}
