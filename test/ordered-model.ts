import { shownBytes } from '../gpu/index/layout.js'
import type {
  DueResult,
  IndexShape,
  ReadColumns,
  ReadOp,
  ReadOptions,
  ReadRequest,
  ReadResults,
  WriteBatch,
} from '../gpu/index-structure.js'
import { aligned, columnFrom, columnOf, valueAt, valuesOf } from '../protocol/columns.js'
import { WarpdexError } from '../protocol/errors.js'
import { LIMITS } from '../protocol/limits.js'
import type { Explanation, Traversal } from '../protocol/traversal.js'
import { isFixedKeyType, keyWidth, ResultCode, WriteOp } from '../protocol/types.js'
import { keyOf, ranksOf } from './fixed-keys.js'
import { modelExplanation } from './model-explanation.js'
import { concat, offsetsOf, word, wordsOf } from './plain-bytes.js'
import {
  type FlatGet,
  type FlatGetAll,
  type FlatNext,
  type FlatScan,
  type GetNextRequest,
  type ScanRequest,
  unflat,
} from './reads.js'

export interface Entry {
  readonly sequence: number
  readonly payload: Uint8Array
}

/** What a key has. */
export interface Payloads {
  nextSequence: number
  entries: Entry[]
}

/** A key in its order: a number or, for keys of variable length, a text with one character for each byte. */
export type Rank = bigint | string

/** A place in the order of entries: the key's rank and the sequence number. */
interface Place {
  readonly rank: Rank
  readonly sequence: number
}

/** What a batch comes to. */
export interface PlannedWrite {
  readonly codes: Uint8Array
  /** Has it take place. */
  apply(): void
}

const FIRST = -1
const LAST = 2 ** 32

/** The content of an index as plain an ordered map as can be: what each operation has to answer, and to leave, at once. */
export class OrderedModel {
  readonly shape: IndexShape
  protected readonly content = new Map<Rank, Payloads>()
  #sorted: Rank[] | undefined

  constructor(shape: IndexShape) {
    this.shape = shape
  }

  /** What a read has to answer. */
  answer<Op extends ReadOp>(request: ReadRequest<Op>, columns: ReadColumns): ReadResults[Op] {
    const { bytes = new Uint8Array(0), offsets } = columns.keys ?? {}
    const { from, to, tokens, sequences } = columns
    const ends = {
      from: from?.bytes,
      fromOffsets: from?.offsets,
      to: to?.bytes,
      toOffsets: to?.offsets,
    }
    const answers: { [Op in ReadOp]: (options: ReadOptions[Op]) => object } = {
      get: ({ withSequences }) => (withSequences ? this.getFirst(bytes, offsets) : this.get(bytes, offsets)),
      getAll: ({ limit }) => this.getAll(bytes, limit, offsets),
      count: () => this.count(bytes, offsets),
      explain: ({ traversal }) => this.explain(bytes, offsets, traversal),
      getNext: (options) =>
        this.getNext({ ...options, keys: bytes, keyOffsets: offsets, sequences: sequences?.bytes }),
      scan: (options) =>
        this.scan({ ...options, ...ends, tokens: tokens?.bytes, tokenOffsets: tokens?.offsets }),
      countRanges: (options) => this.countRanges({ ...options, ...ends, limit: Number.POSITIVE_INFINITY }),
      due: (options) => this.due(options),
    }
    const answer = answers[request.op](request)
    const isPlain = ['count', 'countRanges', 'explain', 'due'].includes(request.op)
    return isPlain ? (answer as ReadResults[Op]) : unflat(this.shape, answer)
  }

  get(keys: Uint8Array, keyOffsets?: Uint32Array): FlatGet {
    const ranks = this.ranks(keys, keyOffsets)
    const found = new Uint8Array(Math.ceil(ranks.length / 8))
    const width = shownBytes(this.shape)
    const payloads = new Uint8Array(ranks.length * width)
    ranks.forEach((rank, i) => {
      const first = this.listOf(rank)[0]
      if (first === undefined) return
      found[i >> 3] |= 1 << (i & 7)
      payloads.set(this.#shown(first), i * width)
    })
    return { found, payloads }
  }

  /** With the sequence number of each payload. */
  getFirst(keys: Uint8Array, keyOffsets?: Uint32Array): FlatGet {
    const firsts = this.ranks(keys, keyOffsets).map((rank) => this.listOf(rank)[0])
    return {
      ...this.get(keys, keyOffsets),
      sequences: concat(firsts.map((first) => word(first?.sequence ?? 0))),
    }
  }

  getAll(keys: Uint8Array, limit: number, keyOffsets?: Uint32Array): FlatGetAll {
    const lists = this.ranks(keys, keyOffsets).map((rank) => this.listOf(rank))
    const offsets = offsetsOf(lists)
    if (offsets[lists.length] > limit) throw new WarpdexError('TOO_LARGE', `more than ${limit} payloads`)
    return { offsets, payloads: concat(lists.flat().map((entry) => this.#shown(entry))) }
  }

  count(keys: Uint8Array, keyOffsets?: Uint32Array): Uint8Array {
    const counts = this.ranks(keys, keyOffsets).map((rank) => this.listOf(rank).length)
    return new Uint8Array(Uint32Array.from(counts).buffer)
  }

  explain(keys: Uint8Array, keyOffsets?: Uint32Array, traversal?: Traversal): Explanation {
    const ranks = this.ranks(keys, keyOffsets)
    const width = keyWidth(this.shape.keyType)
    const rows = columnFrom(keys, width, keyOffsets)
    const digits = Math.max(...valuesOf(rows).map((key) => key.length * 2))
    const hasFirst = this.listOf(ranks[0]).length > 0
    return modelExplanation(this.shape, { keys: ranks.length, digits, hasFirst }, traversal)
  }

  scan(request: ScanRequest): FlatScan {
    const cut = Array.from({ length: request.ranges }, (_, range) => this.#scanRange(request, range))
    const entries = cut.flatMap(({ entries }) => entries)
    const { withoutKeys, withoutPayloads, withExpireAt } = request
    const keys = this.column(withoutKeys ? [] : entries.map(({ rank }) => this.keyOf(rank)))
    const tokens = this.column(cut.map(({ entries }) => this.#token(entries.at(-1))))
    return {
      offsets: offsetsOf(cut.map(({ entries }) => entries)),
      keys: keys.bytes,
      ...(keys.offsets && { keyOffsets: keys.offsets }),
      payloads: concat(withoutPayloads ? [] : entries.map(({ entry }) => this.#shown(entry))),
      ...(withExpireAt && { expireAt: concat(entries.map(({ entry }) => entry.payload.subarray(0, 8))) }),
      more: Uint8Array.from(cut, ({ more }) => Number(more)),
      tokens: tokens.bytes,
      ...(tokens.offsets && { tokenOffsets: tokens.offsets }),
    }
  }

  countRanges(request: ScanRequest): BigUint64Array {
    return BigUint64Array.from({ length: request.ranges }, (_, range) =>
      BigInt(this.#scanRange(request, range).entries.length),
    )
  }

  getNext({ keys, keyOffsets, sequences, reverse = false }: GetNextRequest): FlatNext {
    const ranks = this.ranks(keys, keyOffsets)
    const past = reverse ? FIRST : LAST
    const given = sequences === undefined ? undefined : wordsOf(sequences)
    const next = ranks.map((rank, i) => {
      const place = rank === undefined ? undefined : { rank, sequence: given?.[i] ?? past }
      return place === undefined ? undefined : this.#walk(place, reverse).next().value
    })
    const found = new Uint8Array(Math.ceil(ranks.length / 8))
    next.forEach((entry, i) => {
      if (entry !== undefined) found[i >> 3] |= 1 << (i & 7)
    })
    const payload = new Uint8Array(shownBytes(this.shape))
    const none = { key: new Uint8Array(keyWidth(this.shape.keyType) ?? 0), payload }
    const nextKeys = this.column(next.map((at) => (at === undefined ? none.key : this.keyOf(at.rank))))
    return {
      found,
      keys: nextKeys.bytes,
      ...(nextKeys.offsets && { keyOffsets: nextKeys.offsets }),
      payloads: concat(next.map((at) => (at === undefined ? none.payload : this.#shown(at.entry)))),
      sequences: concat(next.map((at) => word(at?.entry.sequence ?? 0))),
    }
  }

  due({ until, limit }: ReadOptions['due']): DueResult {
    const all = [...this.content].flatMap(([rank, { entries }]) =>
      entries.map((entry) => ({ rank, payload: entry.payload, at: expiryIn(entry) })),
    )
    const due = all.filter(({ at }) => at > 0 && at <= until)
    const later = all.filter(({ at }) => at > until).map(({ at }) => at - until)
    const taken = due.slice(0, limit)
    const { bytes, offsets } = this.column(taken.map(({ rank }) => this.keyOf(rank)))
    const payloads = concat(taken.map(({ payload }) => payload))
    return {
      keys: columnFrom(bytes, keyWidth(this.shape.keyType), offsets),
      payloads: { bytes: payloads, width: this.shape.payloadBytes },
      due: due.length,
      next: Math.min(0xffffffff, ...later),
      later: later.length,
    }
  }

  /** Settles the outcome of each item of a batch, and changes nothing. */
  plan(batch: WriteBatch): PlannedWrite {
    const ranks = this.ranks(batch.keys.bytes, batch.keys.offsets)
    const changed = new Map<Rank, Payloads>()
    const size = this.shape.payloadBytes
    const codes = Uint8Array.from(ranks, (rank, i) => {
      if (rank === undefined) return ResultCode.notANumber
      let payloads = changed.get(rank)
      if (payloads === undefined) {
        const { nextSequence, entries } = this.content.get(rank) ?? { nextSequence: 0, entries: [] }
        payloads = { nextSequence, entries: [...entries] }
        changed.set(rank, payloads)
      }
      const op = typeof batch.ops === 'number' ? batch.ops : batch.ops[i]
      const from = batch.matchesWhole ? 0 : this.shape.matchFrom * 4
      return this.#writeItem(payloads, op, batch.payloads?.bytes.slice(i * size, (i + 1) * size), from)
    })
    return {
      codes,
      apply: () => {
        for (const [rank, payloads] of changed) {
          if (payloads.entries.length === 0) this.content.delete(rank)
          else this.content.set(rank, payloads)
        }
        this.#sorted = undefined
      },
    }
  }

  /** Deletes the keys of a range. @returns how many entries went */
  deleteRange(request: Omit<ScanRequest, 'ranges' | 'limit'>): number {
    const { entries } = this.#scanRange({ ...request, ranges: 1, limit: Number.POSITIVE_INFINITY }, 0)
    for (const { rank } of entries) this.content.delete(rank)
    this.#sorted = undefined
    return entries.length
  }

  /** Has all leave that expires until now, in milliseconds since 1970. */
  expire(now: number): void {
    for (const [rank, list] of this.content) {
      list.entries = list.entries.filter((entry) => {
        const at = expiryIn(entry)
        return at === 0 || at > now
      })
      if (list.entries.length === 0) this.content.delete(rank)
    }
    this.#sorted = undefined
  }

  /** Another one that holds the same. */
  copied(): OrderedModel {
    const copy = new OrderedModel(this.shape)
    copy.copyFrom(this)
    return copy
  }

  /** Takes over what another holds. */
  protected copyFrom({ content }: OrderedModel): void {
    for (const [rank, { nextSequence, entries }] of content)
      this.content.set(rank, { nextSequence, entries: [...entries] })
  }

  protected ranks(keys: Uint8Array, keyOffsets: Uint32Array | undefined): (Rank | undefined)[] {
    const { keyType } = this.shape
    if (isFixedKeyType(keyType)) return ranksOf(keyType, keys)
    return valuesOf(columnFrom(keys, undefined, keyOffsets)).map(textRank)
  }

  #rank(key: Uint8Array): Rank | undefined {
    const { keyType } = this.shape
    return isFixedKeyType(keyType) ? ranksOf(keyType, key)[0] : textRank(key)
  }

  protected keyOf(rank: Rank): Uint8Array {
    return typeof rank === 'bigint'
      ? keyOf(this.shape.keyType, rank)
      : Uint8Array.from(Buffer.from(rank, 'latin1'))
  }

  /** Keys or tokens as a column. */
  protected column(rows: readonly Uint8Array[]): {
    readonly bytes: Uint8Array
    readonly offsets?: Uint32Array
  } {
    const column = isFixedKeyType(this.shape.keyType) ? { bytes: concat(rows) } : columnOf(rows)
    if (column.bytes.byteLength <= LIMITS.frameBytes) return column
    throw new WarpdexError('TOO_LARGE', `more than ${LIMITS.frameBytes} bytes of keys`)
  }

  #token(last: { rank: Rank; entry: Entry } | undefined): Uint8Array {
    if (last !== undefined) return concat([this.keyOf(last.rank), word(last.entry.sequence)])
    const width = keyWidth(this.shape.keyType)
    return new Uint8Array(width === undefined ? 0 : width + 4)
  }

  /** What reads return of an entry. */
  #shown({ payload }: Entry): Uint8Array {
    return payload.subarray(this.shape.payloadBytes - shownBytes(this.shape))
  }

  protected listOf(rank: Rank | undefined): readonly Entry[] {
    return (rank === undefined ? undefined : this.content.get(rank)?.entries) ?? []
  }

  protected order(): readonly Rank[] {
    this.#sorted ??= [...this.content.keys()].sort((a, b) => (a < b ? -1 : 1))
    return this.#sorted
  }

  /** @param from the first byte that payloads of pairs are compared by */
  #writeItem(payloads: Payloads, op: number, payload: Uint8Array | undefined, from: number): ResultCode {
    const existed = payloads.entries.length > 0
    if (op === WriteOp.deleteKey || op === WriteOp.deletePair) {
      const kept = payloads.entries.filter(
        (entry) =>
          op === WriteOp.deletePair &&
          Buffer.compare(entry.payload.subarray(from), payload!.subarray(from)) !== 0,
      )
      const deleted = kept.length < payloads.entries.length
      payloads.entries = kept
      return deleted ? ResultCode.deleted : ResultCode.notFound
    }
    if (existed && (op === WriteOp.insertIfAbsent || (op === WriteOp.insert && this.shape.unique))) {
      return ResultCode.exists
    }
    if (op === WriteOp.replace) payloads.entries = []
    payloads.entries.push({ sequence: this.shape.unique ? 0 : payloads.nextSequence++, payload: payload! })
    return existed && op === WriteOp.replace ? ResultCode.replaced : ResultCode.inserted
  }

  #scanRange(
    request: ScanRequest,
    range: number,
  ): { entries: { rank: Rank; entry: Entry }[]; more: boolean } {
    const { reverse = false, limit } = request
    const width = keyWidth(this.shape.keyType)
    const token =
      request.tokens && valueAt(columnFrom(request.tokens, width && width + 4, request.tokenOffsets), range)
    const finished = width === undefined ? token?.length === 4 : true
    if (finished && token?.every((byte) => byte === 0xff)) return { entries: [], more: false }
    const bound = (bytes: Uint8Array | undefined, offsets: Uint32Array | undefined) =>
      bytes && this.#rank(valueAt(columnFrom(bytes, width, offsets), range))
    const low = bound(request.from, request.fromOffsets)
    const high = bound(request.to, request.toOffsets)
    const before = ({ rank }: Place) =>
      low !== undefined && (rank < low || (request.fromExclusive === true && rank === low))
    const after = ({ rank }: Place) =>
      high !== undefined && (rank > high || (request.toExclusive === true && rank === high))
    const start: Place | undefined =
      token === undefined
        ? undefined
        : { rank: this.#rank(token.subarray(0, -4))!, sequence: wordsOf(token.slice(-4))[0] }
    const entries: { rank: Rank; entry: Entry }[] = []
    for (const at of this.#walk(start, reverse)) {
      const place = { rank: at.rank, sequence: at.entry.sequence }
      if (reverse ? after(place) : before(place)) continue
      if (reverse ? before(place) : after(place)) break
      if (entries.length === limit) return { entries, more: true }
      entries.push(at)
    }
    return { entries, more: false }
  }

  /** The entries strictly after a place, or all of them, in ascending or descending order. */
  *#walk(start: Place | undefined, reverse: boolean): Generator<{ rank: Rank; entry: Entry }, undefined> {
    const ranks = reverse ? this.order().toReversed() : this.order()
    for (const rank of ranks) {
      const entries = reverse ? this.listOf(rank).toReversed() : this.listOf(rank)
      for (const entry of entries) {
        if (start !== undefined) {
          const order =
            rank === start.rank ? Math.sign(entry.sequence - start.sequence) : rank < start.rank ? -1 : 1
          if (reverse ? order >= 0 : order <= 0) continue
        }
        yield { rank, entry }
      }
    }
    return undefined
  }
}

/** When an entry of an index whose entries expire does; 0: never. */
function expiryIn({ payload }: Entry): number {
  return Number(aligned(payload.slice(0, 8), BigUint64Array)[0])
}

/** Texts are compared by their characters as bytes are by their values. */
function textRank(key: Uint8Array): string {
  return Buffer.from(key.buffer, key.byteOffset, key.byteLength).toString('latin1')
}
