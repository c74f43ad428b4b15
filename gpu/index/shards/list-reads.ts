import { WarpdexError } from '../../../protocol/errors.js'
import { pickRows, type Rows, type RowWidth, rowAt, rowsOf, sliceRows } from '../../../protocol/rows.js'
import { keyWidth } from '../../../protocol/types.js'
import type {
  GetAllResult,
  GetNextResult,
  IndexShape,
  ReadColumns,
  ReadRequest,
  ScanOptions,
  ScanResult,
} from '../../index-structure.js'
import { bitmapBytes } from '../read/read-context.js'
import { keysOf } from '../read/read-operation.js'
import type { Divider } from './divider.js'
import { RangeAnswers } from './range-answers.js'
import { SEQUENCE_BYTES, type Shards } from './shards.js'

/**
 * Reads that answer a key or a range by a list, or may go on in the next shard. The device says which shard each belongs to; the
 * shards' answers are joined on the host, list by list.
 */
export class ListReads {
  readonly #shape: IndexShape
  readonly #width: RowWidth
  readonly #divider: Divider

  constructor(shape: IndexShape, divider: Divider) {
    this.#shape = shape
    this.#width = keyWidth(shape.keyType)
    this.#divider = divider
  }

  /** @throws WarpdexError `TOO_LARGE` when there are more than `limit` payloads */
  async getAll(shards: Shards, keys: Rows, limit: number): Promise<GetAllResult> {
    const { payloadBytes } = this.#shape
    const parts = await this.#divider.route(shards.boundaries, keys)
    const lists = new Array<Uint8Array>(parts.length)
    let total = 0
    await forEachGroup(
      Uint32Array.from(parts.keys()),
      (number) => parts[number],
      async (numbers) => {
        const tree = shards.trees[parts[numbers[0]]]
        const result = await tree.read({ op: 'getAll', limit }, { keys: this.#pick(keys, numbers) })
        const { offsets, payloads: bytes } = result
        numbers.forEach((number, i) => {
          lists[number] = sliceRows({ bytes }, payloadBytes, offsets[i], offsets[i + 1]).bytes
        })
        total += offsets[numbers.length]
        if (total <= limit) return
        throw new WarpdexError('TOO_LARGE', `the keys have more than ${limit} payloads; ask for fewer keys`)
      },
    )
    const { bytes: payloads, offsets } = rowsOf(lists)
    return { offsets: offsets.map((offset) => offset / payloadBytes), payloads }
  }

  /** Where nothing follows a position in its shard, the next shard's first entry does. */
  async getNext(
    shards: Shards,
    request: ReadRequest<'getNext'>,
    columns: ReadColumns,
  ): Promise<GetNextResult> {
    const width = this.#width
    const { payloadBytes } = this.#shape
    const { sequences } = columns
    const keys = keysOf(columns)
    let parts = await this.#divider.route(shards.boundaries, keys)
    const nothing = [width ?? 0, payloadBytes, SEQUENCE_BYTES].map((bytes) => new Uint8Array(bytes))
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
            keys: this.#pick(keys, numbers),
            sequences: sequences && pickRows({ bytes: sequences }, SEQUENCE_BYTES, numbers).bytes,
          }
          const next = await shards.trees[parts[numbers[0]]].read(request, own)
          numbers.forEach((number, i) => {
            if (!isSet(next.found, i)) return
            found[number >> 3] |= 1 << (number & 7)
            entries[number] = [
              rowAt({ bytes: next.keys, offsets: next.keyOffsets }, width, i),
              rowAt({ bytes: next.payloads }, payloadBytes, i),
              rowAt({ bytes: next.sequences }, SEQUENCE_BYTES, i),
            ]
          })
        },
      )
      parts = parts.map((part) => part + step)
      open = open.filter((number) => !isSet(found, number) && shards.trees[parts[number]] !== undefined)
    }
    const [nextKeys, payloads, nextSequences] = nothing.map((_, column) =>
      rowsOf(entries.map((entry) => entry[column])),
    )
    return {
      found,
      keys: nextKeys.bytes,
      ...(width === undefined && { keyOffsets: nextKeys.offsets }),
      payloads: payloads.bytes,
      sequences: nextSequences.bytes,
    }
  }

  /** Ranges begin in the shard of their near end, and go on until they are full or at their far end. */
  async scan(shards: Shards, request: ReadRequest<'scan'>, columns: ReadColumns): Promise<ScanResult> {
    const { ranges, limit, reverse = false } = request
    const { near, far } = await this.#ends(shards, request, columns)
    const answers = new RangeAnswers(this.#shape, ranges, limit)
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
        answers.add(numbers, await tree.read(own, this.#pickRanges(columns, numbers)))
      })
      open = open.filter((range) => !answers.isCut(range) && parts[range] !== far[range])
      parts = parts.map((part) => part + step)
    }
    return answers.result()
  }

  /** The shards in which ranges begin, and those in which they end at the latest. */
  async #ends(
    shards: Shards,
    { ranges, reverse = false }: ScanOptions,
    columns: ReadColumns,
  ): Promise<{ near: Uint32Array; far: Uint32Array }> {
    const top = shards.trees.length - 1
    const { from: low, to: high } = columns
    const tokens = this.#tokenKeys(ranges, columns.tokens)
    const route = async (keys: Rows | undefined, open: number): Promise<Uint32Array> => {
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
  #tokenKeys(ranges: number, tokens: Rows | undefined): Rows | undefined {
    if (tokens === undefined) return undefined
    const keys: Uint8Array[] = []
    const width = this.#width
    for (let range = 0; range < ranges; range++) {
      const token = rowAt(tokens, width && width + SEQUENCE_BYTES, range)
      keys.push(token.subarray(0, -SEQUENCE_BYTES))
    }
    const { bytes, offsets } = rowsOf(keys)
    return width === undefined ? { bytes, offsets } : { bytes }
  }

  #pickRanges({ from, to, tokens }: ReadColumns, numbers: Uint32Array): ReadColumns {
    const width = this.#width
    return {
      from: from && pickRows(from, width, numbers),
      to: to && pickRows(to, width, numbers),
      tokens: tokens && pickRows(tokens, width && width + SEQUENCE_BYTES, numbers),
    }
  }

  #pick(keys: Rows, numbers: Uint32Array): Rows {
    return pickRows(keys, this.#width, numbers)
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
