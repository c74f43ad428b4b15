import { WarpdexError } from '../../../protocol/errors.js'
import { pickRows, type Rows, type RowWidth, rowsOf } from '../../../protocol/rows.js'
import { keyWidth } from '../../../protocol/types.js'
import type {
  GetAllResult,
  GetNextRequest,
  GetNextResult,
  IndexShape,
  ScanRequest,
  ScanResult,
} from '../../index-structure.js'
import type { Divider } from './divider.js'
import { NextAnswers } from './next-answers.js'
import { RangeAnswers } from './range-answers.js'
import { SEQUENCE_BYTES, type Shards } from './shards.js'

type Optional<T> = { readonly [Field in keyof T]: T[Field] | undefined }

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
    const parts = await this.#divider.route(shards.boundaries, keys)
    const groups = groupBy(parts.length, (i) => parts[i])
    const answers = await Promise.all(
      groups.map(async (numbers) => {
        const own = this.#pick(keys, numbers)
        const tree = shards.trees[parts[numbers[0]]]
        return { numbers, result: await tree.getAll(own.bytes, limit, own.offsets) }
      }),
    )
    const offsets = new Uint32Array(parts.length + 1)
    for (const { numbers, result } of answers) {
      for (let i = 0; i < numbers.length; i++)
        offsets[numbers[i] + 1] = result.offsets[i + 1] - result.offsets[i]
    }
    let total = 0
    for (let i = 1; i < offsets.length; i++) {
      total += offsets[i]
      if (total > limit) {
        throw new WarpdexError('TOO_LARGE', `the keys have more than ${limit} payloads; ask for fewer keys`)
      }
      offsets[i] = total
    }
    const { payloadBytes } = this.#shape
    const payloads = new Uint8Array(total * payloadBytes)
    for (const { numbers, result } of answers) {
      for (let i = 0; i < numbers.length; i++) {
        const list = result.payloads.subarray(
          result.offsets[i] * payloadBytes,
          result.offsets[i + 1] * payloadBytes,
        )
        payloads.set(list, offsets[numbers[i]] * payloadBytes)
      }
    }
    return { offsets, payloads }
  }

  /** Where nothing follows a position in its shard, the next shard's first entry does. */
  async getNext(shards: Shards, request: GetNextRequest): Promise<GetNextResult> {
    const { keys, keyOffsets, sequences, reverse } = request
    const column = { bytes: keys, offsets: keyOffsets }
    let parts = await this.#divider.route(shards.boundaries, column)
    const answers = new NextAnswers(this.#shape, parts.length)
    const step = reverse ? -1 : 1
    let open = Uint32Array.from(parts, (_, i) => i)
    while (open.length > 0) {
      const groups = groupBy(open.length, (i) => parts[open[i]])
      await Promise.all(
        groups.map(async (places) => {
          const numbers = places.map((i) => open[i])
          const own = this.#pick(column, numbers)
          const next = { ...request, keys: own.bytes, keyOffsets: own.offsets }
          const picked = sequences && pickRows({ bytes: sequences }, SEQUENCE_BYTES, numbers).bytes
          answers.add(numbers, await shards.trees[parts[numbers[0]]].getNext({ ...next, sequences: picked }))
        }),
      )
      parts = parts.map((part) => part + step)
      open = open.filter((i) => !answers.isFound(i) && shards.trees[parts[i]] !== undefined)
    }
    return answers.result()
  }

  /** Ranges begin in the shard of their near end, and go on until they are full or at their far end. */
  async scan(shards: Shards, request: ScanRequest): Promise<ScanResult> {
    const { ranges, limit, reverse = false } = request
    const { near, far } = await this.#ends(shards, request)
    const answers = new RangeAnswers(this.#shape, ranges, limit)
    const step = reverse ? -1 : 1
    let parts = near
    let open = Uint32Array.from({ length: ranges }, (_, range) => range)
    while (open.length > 0) {
      // One entry more than there is room for tells whether there are more.
      const wanted = Array.from(open, (range) => Math.max(1, limit - answers.entries(range)))
      const groups = groupBy(open.length, (i) => parts[open[i]] * (limit + 1) + wanted[i])
      await Promise.all(
        groups.map(async (places) => {
          const numbers = places.map((i) => open[i])
          const tree = shards.trees[parts[numbers[0]]]
          const result = await tree.scan({ ...this.#pickRanges(request, numbers), limit: wanted[places[0]] })
          answers.add(numbers, result)
        }),
      )
      open = open.filter((range) => !answers.isCut(range) && parts[range] !== far[range])
      parts = parts.map((part) => part + step)
    }
    return answers.result()
  }

  /** The shards in which ranges begin, and those in which they end at the latest. */
  async #ends(shards: Shards, request: ScanRequest): Promise<{ near: Uint32Array; far: Uint32Array }> {
    const { ranges, reverse = false } = request
    const top = shards.trees.length - 1
    const low = { bytes: request.from, offsets: request.fromOffsets }
    const high = { bytes: request.to, offsets: request.toOffsets }
    const tokens = this.#tokenKeys(request)
    const route = async ({ bytes, offsets }: Optional<Rows>, open: number): Promise<Uint32Array> => {
      if (bytes === undefined) return new Uint32Array(ranges).fill(open)
      return this.#divider.route(shards.boundaries, { bytes, offsets })
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
  #tokenKeys({ ranges, tokens, tokenOffsets }: ScanRequest): Rows | undefined {
    if (tokens === undefined) return undefined
    const keys: Uint8Array[] = []
    const width = this.#width
    for (let range = 0; range < ranges; range++) {
      const begin = tokenOffsets?.[range] ?? range * ((width ?? 0) + SEQUENCE_BYTES)
      const end = tokenOffsets?.[range + 1] ?? begin + (width ?? 0) + SEQUENCE_BYTES
      keys.push(tokens.subarray(begin, end - SEQUENCE_BYTES))
    }
    const { bytes, offsets } = rowsOf(keys)
    return width === undefined ? { bytes, offsets } : { bytes }
  }

  #pickRanges(request: ScanRequest, numbers: Uint32Array): ScanRequest {
    const { from, fromOffsets, to, toOffsets, tokens, tokenOffsets } = request
    const width = this.#width
    const pick = (bytes: Uint8Array | undefined, offsets: Uint32Array | undefined, rowWidth: RowWidth) =>
      bytes && pickRows({ bytes, offsets }, rowWidth, numbers)
    const low = pick(from, fromOffsets, width)
    const high = pick(to, toOffsets, width)
    const positions = pick(tokens, tokenOffsets, width === undefined ? undefined : width + SEQUENCE_BYTES)
    return {
      ...request,
      ranges: numbers.length,
      from: low?.bytes,
      fromOffsets: low?.offsets,
      to: high?.bytes,
      toOffsets: high?.offsets,
      tokens: positions?.bytes,
      tokenOffsets: positions?.offsets,
    }
  }

  #pick(keys: Rows, numbers: Uint32Array): Rows {
    return pickRows(keys, this.#width, numbers)
  }
}

/** The numbers up to `count`, ascending, in groups of the same label. */
function groupBy(count: number, label: (i: number) => number): Uint32Array[] {
  const groups = new Map<number, number[]>()
  for (let i = 0; i < count; i++) {
    const group = groups.get(label(i))
    if (group === undefined) groups.set(label(i), [i])
    else group.push(i)
  }
  return Array.from(groups.values(), (group) => Uint32Array.from(group))
}
