import { splitPayloads } from '../../gpu/index/timed-payloads.js'
import type { StoredIndex } from '../../persistence/disk/dictionary.js'
import type { LoggedRange } from '../../persistence/log/log-records.js'
import type { LogEntry } from '../../persistence/log/write-log.js'
import type { Store } from '../../persistence/store.js'
import { rangeOp } from '../../protocol/changes.js'
import {
  aligned,
  blankColumn,
  type Column,
  type CutColumn,
  columnBytes,
  columnFrom,
  columnOf,
  countOf,
  joinColumns,
  pickValues,
  sliceColumn,
} from '../../protocol/columns.js'
import { WarpdexError } from '../../protocol/errors.js'
import { LIMITS } from '../../protocol/limits.js'
import { keyWidth, payloadBytes, WriteOp } from '../../protocol/types.js'
import { hashPayloads } from './content-hash.js'
import type { FeedWaits, Watcher } from './feed-waits.js'
import type { OpenVersion } from './read-versions.js'
import { hasChanged, joinPayloads } from './write-batch.js'

/** What batches that follow each other in the log have changed. */
export interface ChangePage {
  /** The changes of batch i are number offsets[i] to offsets[i + 1]. */
  readonly offsets: Uint32Array
  /** For each batch the kind of all of its changes, or one byte for each; see `protocol/changes.ts`. */
  readonly ops: CutColumn
  readonly keys: Column
  /** One a change; absent where none has one. */
  readonly payloads: Column | undefined
  /** When they expire, one a change, u64, 0 for never; only where entries expire. */
  readonly expireAt: Column | undefined
  /** What the batch deletes, which is the only one then. */
  readonly range?: LoggedRange | undefined
}

/** What one batch has changed, with payloads as the device holds them. */
interface BatchChanges {
  readonly ops: Uint8Array
  readonly keys: Column
  readonly payloads: Column | undefined
  readonly expireAt: Column | undefined
}

interface FeedOptions {
  readonly store: Store
  readonly stored: StoredIndex
  readonly waits: FeedWaits
  /** Position of the last log record that a version sees. */
  readonly positionOf: (version: OpenVersion) => Promise<number>
}

/** Bytes of a payload of kind `bytes` as the log has it: row id and hash of the content. */
const ROW_BYTES = 16
const ROW_WORDS = ROW_BYTES / 4

/**
 * What has changed in an index, batch by batch, as its log tells: nothing is kept for that beside the log, and only what is durable is told. A position
 * is that of a log record; changes that a record asked for and that came to nothing are left out.
 */
export class ChangeFeed {
  readonly #store: Store
  readonly #stored: StoredIndex
  readonly #waits: FeedWaits
  readonly #positionOf: FeedOptions['positionOf']
  readonly #reading = new Set<Promise<unknown>>()

  constructor({ store, stored, waits, positionOf }: FeedOptions) {
    this.#store = store
    this.#stored = stored
    this.#waits = waits
    this.#positionOf = positionOf
  }

  /** The position behind which a version sees nothing; without one the last that is durable. @throws WarpdexError `VERSION_GONE` */
  async position(version?: OpenVersion): Promise<number> {
    return version === undefined ? this.#store.log.last(this.#stored.id) : this.#positionOf(version)
  }

  /**
   * Resolves when there is something behind a position, the index is no more what it was, or for some other reason nothing has come: whoever waits
   * looks again.
   * @throws WarpdexError `POSITION_GONE`
   */
  async changed(after: number, watcher: Watcher): Promise<void> {
    this.#requireKept(after)
    const { id } = this.#stored
    if (this.#store.log.last(id) === after && !watcher.cancelled) await this.#waits.wait(id, watcher)
  }

  /**
   * What the next batches behind a position have changed: none where there are none yet.
   * @param limit of batches; there are fewer where they have much
   * @throws WarpdexError `POSITION_GONE`
   */
  read(after: number, limit: number): Promise<ChangePage> {
    const page = this.#read(after, limit)
    this.#reading.add(page)
    return page.finally(() => this.#reading.delete(page))
  }

  /** Resolves when nothing is being read of the log, which may then go. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#reading)
  }

  async #read(after: number, limit: number): Promise<ChangePage> {
    const { log } = this.#store
    const { id } = this.#stored
    this.#requireKept(after)
    await log.prefetch(id, after)
    const width = payloadBytes(this.#stored.definition.payloadKind) ?? ROW_BYTES
    const batches: BatchChanges[] = []
    let bytes = 0
    this.#requireKept(after)
    for await (const entry of log.read(id, after)) {
      if (entry.range !== undefined) {
        if (batches.length === 0) return rangePage(entry.range, this.#keyWidth)
        break
      }
      const changes = changesIn(entry, this.#keyWidth, this.#columnsOf(entry.payloads, width))
      bytes += changes.ops.length + columnBytes(changes.keys) + countOf(changes.keys) * width
      if (batches.length > 0 && bytes > LIMITS.watchBytes) break
      batches.push(changes)
      if (batches.length === limit) break
    }
    const page = joinChanges(batches, this.#keyWidth)
    const hasRows = payloadBytes(this.#stored.definition.payloadKind) === undefined
    return hasRows && page.payloads !== undefined ? this.#withPayloads(page, page.payloads, after) : page
  }

  /** The payloads of a record, and where entries expire when these do. */
  #columnsOf(payloads: Uint8Array | undefined, width: number): Pick<BatchChanges, 'payloads' | 'expireAt'> {
    if (payloads === undefined) return { payloads, expireAt: undefined }
    if (this.#stored.definition.ttl === undefined)
      return { payloads: { bytes: payloads, width }, expireAt: undefined }
    return splitPayloads(payloads, width)
  }

  get #keyWidth(): number | undefined {
    return keyWidth(this.#stored.definition.keyType)
  }

  #requireKept(after: number): void {
    const { log } = this.#store
    const { id } = this.#stored
    const [first, last] = [log.first(id), log.last(id)]
    if (after + 1 < first) throw this.#gone(after, `the log goes back to position ${first - 1}`)
    if (after > last) throw this.#gone(after, `the log ends at position ${last}, as it does after a restore`)
  }

  #gone(position: number, why: string): WarpdexError {
    const name = JSON.stringify(this.#stored.definition.name)
    return new WarpdexError(
      'POSITION_GONE',
      `changes of index ${name} cannot be told from position ${position} on: ${why}; read what it holds at a read version, and watch it from that`,
    )
  }

  /** The page with payloads of kind `bytes` in the place of their rows, or as many of its batches as those fit for. */
  async #withPayloads(page: ChangePage, rows: Column, after: number): Promise<ChangePage> {
    const { id, seed } = this.#stored
    const words = aligned(rows.bytes, Uint32Array)
    const present = withPayload(page)
    const isPresent = (i: number) => hasChanged(present, i)
    const lost = () => this.#gone(after, 'payloads that were written then are not kept')
    for (let i = 0; i < words.length / ROW_WORDS; i++) {
      const row = words[i * ROW_WORDS] + words[i * ROW_WORDS + 1] * 2 ** 32
      if (isPresent(i) && !this.#store.payloads.holds(id, row)) throw lost()
    }
    const first = page.offsets[1]
    const gather = (count: number, maxBytes?: number) => {
      const request = { rows: words.subarray(0, count * ROW_WORDS), stride: ROW_WORDS, present }
      return this.#store.payloads.gather(id, { ...request, ...(maxBytes && { maxBytes }) })
    }
    let payloads = await gather(words.length / ROW_WORDS, LIMITS.watchBytes)
    if (countOf(payloads) < first) payloads = await gather(first)
    const hashed = new Uint32Array(countOf(payloads) * ROW_WORDS)
    hashPayloads(payloads, seed, hashed)
    // Room of payloads that no entry refers to is given back, unless the log is kept for feeds.
    for (let at = 2; at < hashed.length; at += ROW_WORDS) {
      const isEqual = hashed[at] === words[at] && hashed[at + 1] === words[at + 1]
      if (!isEqual && isPresent(at >> 2)) throw lost()
    }
    return leading(page, payloads)
  }
}

/** What a record has changed: the items that came to something. */
function changesIn(
  entry: LogEntry,
  keyWidth: number | undefined,
  { payloads, expireAt }: Pick<BatchChanges, 'payloads' | 'expireAt'>,
): BatchChanges {
  const { ops, changed, due } = entry
  // Entries have told when they expire.
  if (due !== undefined) return { ops: new Uint8Array(0), keys: blankColumn(0, keyWidth), payloads, expireAt }
  const keys = columnFrom(entry.keys.bytes, keyWidth, entry.keys.offsets)
  if (changed === undefined) {
    const kinds = typeof ops === 'number' ? Uint8Array.of(ops) : Uint8Array.from(ops)
    return { ops: asChanges(countOf(keys) === 0 ? new Uint8Array(0) : kinds), keys, payloads, expireAt }
  }
  const numbers = Uint32Array.from({ length: countOf(keys) }, (_, i) => i).filter((i) =>
    hasChanged(changed, i),
  )
  const kinds = typeof ops === 'number' ? [ops].slice(0, numbers.length) : Array.from(numbers, (i) => ops[i])
  return {
    ops: asChanges(Uint8Array.from(kinds)),
    keys: pickValues(keys, numbers),
    payloads: payloads && pickValues(payloads, numbers),
    expireAt: expireAt && pickValues(expireAt, numbers),
  }
}

/** What is inserted only where there is nothing, and was, is inserted. */
function asChanges(ops: Uint8Array): Uint8Array {
  for (let i = 0; i < ops.length; i++) if (ops[i] === WriteOp.insertIfAbsent) ops[i] = WriteOp.insert
  return ops
}

function joinChanges(batches: readonly BatchChanges[], keyWidth: number | undefined): ChangePage {
  const counts = batches.map(({ keys }) => countOf(keys))
  const offsets = new Uint32Array(batches.length + 1)
  counts.forEach((count, i) => {
    offsets[i + 1] = offsets[i] + count
  })
  return {
    offsets,
    ops: columnOf(batches.map(({ ops }) => ops)),
    keys: batches.length === 0 ? blankColumn(0, keyWidth) : joinColumns(batches.map(({ keys }) => keys)),
    payloads: joinPayloads(
      batches.map(({ payloads }) => payloads),
      counts,
    ),
    expireAt: joinPayloads(
      batches.map(({ expireAt }) => expireAt),
      counts,
    ),
  }
}

function rangePage(range: LoggedRange, keyWidth: number | undefined): ChangePage {
  return {
    offsets: new Uint32Array(2),
    ops: columnOf([Uint8Array.of(rangeOp(range))]),
    keys: blankColumn(0, keyWidth),
    payloads: undefined,
    expireAt: undefined,
    range,
  }
}

/** A bit for each change that has a payload: all but deletions of keys. */
function withPayload({ offsets, ops }: ChangePage): Uint8Array {
  const present = new Uint8Array(Math.ceil(offsets[offsets.length - 1] / 8))
  for (let batch = 0; batch + 1 < offsets.length; batch++) {
    const kinds = ops.bytes.subarray(ops.offsets[batch], ops.offsets[batch + 1])
    for (let i = offsets[batch]; i < offsets[batch + 1]; i++) {
      const kind = kinds.length === 1 ? kinds[0] : kinds[i - offsets[batch]]
      if (kind !== WriteOp.deleteKey) present[i >> 3] |= 1 << (i & 7)
    }
  }
  return present
}

/** The leading batches of a page all of whose payloads are there. */
function leading({ offsets, ops, keys, expireAt }: ChangePage, payloads: CutColumn): ChangePage {
  let batches = offsets.length - 1
  while (offsets[batches] > countOf(payloads)) batches--
  const changes = offsets[batches]
  return {
    offsets: offsets.subarray(0, batches + 1),
    ops: sliceColumn(ops, 0, batches),
    keys: sliceColumn(keys, 0, changes),
    payloads: sliceColumn(payloads, 0, changes),
    expireAt: expireAt && sliceColumn(expireAt, 0, changes),
  }
}
