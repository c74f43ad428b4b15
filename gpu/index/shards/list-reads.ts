import {
  type Column,
  columnOf,
  countOf,
  joinColumns,
  pickValues,
  sliceColumn,
  valueAt,
  valuesOf,
} from '../../../protocol/columns.js'
import { WarpdexError } from '../../../protocol/errors.js'
import { keyWidth, SEQUENCE_BYTES } from '../../../protocol/types.js'
import type {
  DueResult,
  GetAllResult,
  GetNextResult,
  IndexShape,
  ReadColumns,
  ReadRequest,
  ScanOptions,
  ScanResult,
} from '../../index-structure.js'
import { shownBytes } from '../layout.js'
import { bitmapBytes } from '../read/read-context.js'
import type { Asked } from '../read/read-operation.js'
import type { Divider } from './divider.js'
import { RangeAnswers } from './range-answers.js'
import type { Shards } from './shards.js'

/**
 * Reads that answer a key or a range by a list, or may go on in the next shard. The device says which shard each belongs to; the
 * shards' answers are joined on the host, list by list.
 */
export class ListReads {
  readonly #shape: IndexShape
  readonly #divider: Divider

  constructor(shape: IndexShape, divider: Divider) {
    this.#shape = shape
    this.#divider = divider
  }

  /** @throws WarpdexError `TOO_LARGE` when there are more than `limit` payloads */
  async getAll(shards: Shards, keys: Column, limit: number): Promise<GetAllResult> {
    const width = shownBytes(this.#shape)
    const parts = await this.#divider.route(shards.boundaries, keys)
    const lists = new Array<Uint8Array>(parts.length)
    let total = 0
    await forEachGroup(
      Uint32Array.from(parts.keys()),
      (number) => parts[number],
      async (numbers) => {
        const tree = shards.trees[parts[numbers[0]]]
        const result = await tree.read({ op: 'getAll', limit }, { keys: pickValues(keys, numbers) })
        const { offsets, payloads } = result
        numbers.forEach((number, i) => {
          lists[number] = sliceColumn(payloads, offsets[i], offsets[i + 1]).bytes
        })
        total += offsets[numbers.length]
        if (total <= limit) return
        throw new WarpdexError('TOO_LARGE', `the keys have more than ${limit} payloads; ask for fewer keys`)
      },
    )
    const { bytes, offsets } = columnOf(lists)
    return { offsets: offsets.map((offset) => offset / width), payloads: { bytes, width } }
  }

  /** Where nothing follows a position in its shard, the next shard's first entry does. */
  async getNext(
    shards: Shards,
    request: ReadRequest<'getNext'>,
    { keys, sequences }: Asked<'getNext'>,
  ): Promise<GetNextResult> {
    const { keyType } = this.#shape
    let parts = await this.#divider.route(shards.boundaries, keys)
    const widths = [keyWidth(keyType), shownBytes(this.#shape), SEQUENCE_BYTES]
    const nothing = widths.map((width) => new Uint8Array(width ?? 0))
    const entries = new Array(parts.length).fill(nothing)
    const found = new Uint8Array(bitmapBytes(parts.length))
    const step = request.reverse ? -1 : 1
    let open = Uint32Array.from(parts.keys())
    while (open.length > 0) {
      await forEachGroup(
        open,
        (number) => parts[number],
        async (numbers) => {
          const own = {
            keys: pickValues(keys, numbers),
            sequences: sequences && pickValues(sequences, numbers),
          }
          const next = await shards.trees[parts[numbers[0]]].read(request, own)
          numbers.forEach((number, i) => {
            if (!isSet(next.found, i)) return
            found[number >> 3] |= 1 << (number & 7)
            entries[number] = [next.keys, next.payloads, next.sequences].map((column) => valueAt(column, i))
          })
        },
      )
      parts = parts.map((part) => part + step)
      open = open.filter((number) => !isSet(found, number) && shards.trees[parts[number]] !== undefined)
    }
    const [nextKeys, payloads, nextSequences] = widths.map((width, column) =>
      columnOf(
        entries.map((entry) => entry[column]),
        width,
      ),
    )
    return { found, keys: nextKeys, payloads, sequences: nextSequences }
  }

  /** Ranges begin in the shard of their near end, and go on until they are full or at their far end. */
  async scan(shards: Shards, request: ReadRequest<'scan'>, columns: ReadColumns): Promise<ScanResult> {
    const { limit, reverse = false } = request
    const { near, far } = await this.#ends(shards, request, columns)
    const answers = new RangeAnswers(this.#shape, request)
    const step = reverse ? -1 : 1
    let parts = near
    let open = Uint32Array.from(near.keys())
    // One entry more than there is room for tells whether there are more.
    const wanted = (range: number) => Math.max(1, limit - answers.entries(range))
    while (open.length > 0) {
      const groupOf = (range: number) => parts[range] * (limit + 1) + wanted(range)
      await forEachGroup(open, groupOf, async (numbers) => {
        const tree = shards.trees[parts[numbers[0]]]
        const own = { ...request, ranges: numbers.length, limit: wanted(numbers[0]) }
        answers.add(numbers, await tree.read(own, pickRanges(columns, numbers)))
      })
      open = open.filter((range) => !answers.isCut(range) && parts[range] !== far[range])
      parts = parts.map((part) => part + step)
    }
    return answers.result()
  }

  /** What all shards have of each range. */
  async countRanges(
    { trees }: Shards,
    request: ReadRequest<'countRanges'>,
    columns: ReadColumns,
  ): Promise<BigUint64Array> {
    const counts = await Promise.all(trees.map((tree) => tree.read(request, columns)))
    return counts[0].map((_, range) => counts.reduce((sum, own) => sum + own[range], 0n))
  }

  /** What is due in any shard, as much as there is room for. */
  async due({ trees }: Shards, request: ReadRequest<'due'>): Promise<DueResult> {
    const parts = await Promise.all(trees.map((tree) => tree.read(request, {})))
    let room = request.limit
    const taken = parts.map(({ keys, payloads }) => {
      const count = Math.min(room, countOf(keys))
      room -= count
      return { keys: sliceColumn(keys, 0, count), payloads: sliceColumn(payloads, 0, count) }
    })
    return {
      keys: joinColumns(taken.map(({ keys }) => keys)),
      payloads: joinColumns(taken.map(({ payloads }) => payloads)),
      due: parts.reduce((sum, { due }) => sum + due, 0),
      next: Math.min(...parts.map(({ next }) => next)),
      later: parts.reduce((sum, { later }) => sum + later, 0),
    }
  }

  /** The shards in which ranges begin, and those in which they end at the latest. */
  async #ends(
    shards: Shards,
    { ranges, reverse = false }: ScanOptions,
    columns: ReadColumns,
  ): Promise<{ near: Uint32Array; far: Uint32Array }> {
    const top = shards.trees.length - 1
    const { from: low, to: high } = columns
    const tokens = columns.tokens && this.#tokenKeys(columns.tokens)
    const route = async (keys: Column | undefined, open: number): Promise<Uint32Array> => {
      if (keys === undefined) return new Uint32Array(ranges).fill(open)
      return this.#divider.route(shards.boundaries, keys)
    }
    const [from, to] = await Promise.all([
      route(reverse ? low : (tokens ?? low), 0),
      route(reverse ? (tokens ?? high) : high, top),
    ])
    // A range whose ends are the wrong way round has nothing, wherever it is looked for.
    return reverse
      ? { near: to, far: from.map((part, range) => Math.min(part, to[range])) }
      : { near: from, far: to.map((part, range) => Math.max(part, from[range])) }
  }

  /** The keys of a request's tokens, without the sequence numbers behind them. */
  #tokenKeys(tokens: Column): Column {
    const keys = valuesOf(tokens).map((token) => token.subarray(0, -SEQUENCE_BYTES))
    return columnOf(keys, keyWidth(this.#shape.keyType))
  }
}

function pickRanges({ from, to, tokens }: ReadColumns, numbers: Uint32Array): ReadColumns {
  return {
    from: from && pickValues(from, numbers),
    to: to && pickValues(to, numbers),
    tokens: tokens && pickValues(tokens, numbers),
  }
}

/** Does a task for each group of numbers of the same label, all at once. */
async function forEachGroup(
  numbers: Uint32Array,
  label: (number: number) => number,
  task: (group: Uint32Array) => Promise<void>,
): Promise<void> {
  const groups = new Map<number, number[]>()
  for (const number of numbers) {
    const group = groups.get(label(number)) ?? []
    groups.set(label(number), group)
    group.push(number)
  }
  await Promise.all(Array.from(groups.values(), (group) => task(Uint32Array.from(group))))
}

function isSet(bits: Uint8Array, i: number): boolean {
  return (bits[i >> 3] & (1 << (i & 7))) !== 0
}
