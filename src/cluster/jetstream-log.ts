import { setTimeout as pause } from 'node:timers/promises'
import { toWarpdexError, WarpdexError } from '../../protocol/errors.js'
import { type EntryPart, partsOf, putHeaders, readPart } from './entry-parts.js'
import { type NatsReplicaSet, REQUEST_MS } from './nats.js'
import type { LogEntry, ReplicatedLog } from './replicated-log.js'

/** How long the outcome of an append is looked for: an election among the servers takes seconds. */
const SETTLE_MS = 30_000
const RETRY_MS = 200
/** An attempt waits a millisecond more for its answer for each so many bytes. */
const BYTES_PER_MS = 10_000
/** Bytes of a message that headers and protocol take. */
const OVERHEAD = 1024
/** Messages of an atomic batch at most. */
const MAX_PARTS = 1000
const NO_MESSAGE = 10037

/** What is on its way to a reader at most. */
const READ_AHEAD_BYTES = 32 * 2 ** 20
/** How long a reader waits for a message before it looks whether there is one. */
const SILENCE_MS = 1000

/** An atomic batch of messages, to which an entry is added. */
export interface AtomicPublish {
  readonly id: string
  /** How many messages it has already. */
  readonly before: number
  /** Whether it is done with the entry. */
  readonly isLast: boolean
}

/**
 * The log of a replica set as a subject of the JetStream stream of its cluster. An entry is a message, or an atomic batch of some, which get consecutive
 * sequence numbers, where it is larger than one may be; its position is the sequence of the last. JetStream refuses an entry behind another
 * one than the last of the subject. That keeps a former owner from appending, and an entry that is sent again from being there twice.
 */
export class JetStreamLog implements ReplicatedLog {
  readonly #nats: NatsReplicaSet

  constructor(nats: NatsReplicaSet) {
    this.#nats = nats
  }

  async head(): Promise<number> {
    return (await this.#last())?.seq ?? 0
  }

  async append(entry: Uint8Array, expected: number): Promise<number> {
    const append = crypto.randomUUID()
    const parts = this.#partsOf(entry, append, expected, MAX_PARTS)
    for (const until = performance.now() + SETTLE_MS; ; await pause(RETRY_MS)) {
      const outcome = await this.#publish(parts).catch(toWarpdexError)
      if (typeof outcome === 'number') return outcome
      // What was refused or not answered is in the log, or may come to be, unless something else is behind the entry before.
      const next = await this.#next(expected).catch(() => undefined)
      if (next?.part?.append === append) return next.seq + parts.length - 1
      if (next !== undefined)
        throw new WarpdexError('NOT_OWNER', 'another node has appended to the log of the replica set')
      if (performance.now() > until) {
        const reason = `whether the write is in the log is not known: ${outcome.message}`
        throw new WarpdexError('INTERNAL', reason, { cause: outcome })
      }
    }
  }

  /**
   * Adds an entry to an atomic batch, which nodes of other replica sets add theirs to: by the last of them all come to be in their logs, or none.
   * @returns how many messages the batch has then and, of the last entry, the sequence number of the last message
   * @throws unknown after which the entry may be in the log
   */
  async addTo(batch: AtomicPublish, entry: Uint8Array, expected: number) {
    const parts = this.#partsOf(entry, crypto.randomUUID(), expected, MAX_PARTS - batch.before)
    const sequence = await this.#publish(parts, batch)
    return { count: batch.before + parts.length, sequence }
  }

  async *read(after: number, stop: AbortSignal): AsyncGenerator<LogEntry> {
    const rest = () => pause(RETRY_MS, undefined, { signal: stop }).catch(() => {})
    for (let last = after; !stop.aborted; await rest()) {
      try {
        for await (const entry of this.#entries(last, stop)) {
          yield entry
          last = entry.position
        }
      } catch (thrown) {
        if (thrown instanceof WarpdexError || this.#nats.connection.isClosed()) throw thrown
        // Servers have no leader, or start: they are asked again.
      }
    }
  }

  async size(): Promise<number> {
    const { manager, stream, subject } = this.#nats
    const { state } = await manager.streams.info(stream, { subjects_filter: subject })
    return (state.bytes * (state.subjects?.[subject] ?? 0)) / Math.max(1, state.messages)
  }

  async trim(through: number): Promise<void> {
    const { manager, stream, subject } = this.#nats
    // The last entry stays, since by it the next one is known to follow, and no entry is cut.
    const kept = (await this.#next(through)) ?? (await this.#last())
    if (kept?.part === undefined) return
    await manager.streams.purge(stream, { filter: subject, seq: kept.seq - kept.part.number + 1 })
  }

  /** @param most that there may be */
  #partsOf(entry: Uint8Array, append: string, expected: number, most: number): EntryPart[] {
    const size = (this.#nats.connection.info?.max_payload ?? 2 ** 20) - OVERHEAD
    const parts = partsOf(entry, append, expected, size)
    if (parts.length <= most) return parts
    const bytes = `${most * size} bytes with the max_payload of the NATS servers`
    throw new WarpdexError('TOO_LARGE', `an entry of the log has at most ${bytes}, not ${entry.length}`)
  }

  /** @returns the sequence number of the last message; 0 where others follow in the batch */
  async #publish(parts: readonly EntryPart[], joint?: AtomicPublish): Promise<number> {
    const { client, connection, newHeaders, subject } = this.#nats
    const { id, before, isLast } = joint ?? { id: crypto.randomUUID(), before: 0, isLast: true }
    let bytesInAll = 0
    for (const part of parts) {
      const { number, count, after, bytes } = part
      bytesInAll += bytes.length
      const headers = newHeaders()
      putHeaders(headers, part)
      if (number === 1) headers.set('Nats-Expected-Last-Subject-Sequence', String(after))
      if (count > 1 || joint !== undefined) {
        headers.set('Nats-Batch-Id', id)
        headers.set('Nats-Batch-Sequence', String(before + number))
        if (number === count && isLast) headers.set('Nats-Batch-Commit', '1')
      }
      if (number < count) {
        connection.publish(subject, bytes, { headers })
        continue
      }
      const timeout = REQUEST_MS + bytesInAll / BYTES_PER_MS
      if (isLast) return (await client.publish(subject, bytes, { headers, timeout, retries: 1 })).seq
      // What is taken, and not done yet, is answered by nothing.
      const answer = await connection.request(subject, bytes, { headers, timeout })
      if (answer.data.length > 0) throw new Error(answer.string())
    }
    return 0
  }

  /** The entries behind a position, until the servers send no more of them. */
  async *#entries(after: number, stop: AbortSignal): AsyncGenerator<LogEntry> {
    const next = await this.#next(after)
    let last = after
    let from = after + 1
    if (next?.part !== undefined) {
      // A position within an entry, or just before the parts of one: all of them are read.
      last = Math.min(after, next.part.after)
      from = next.seq - next.part.number + 1
    }
    let parts: EntryPart[] = []
    for await (const { seq, part } of this.#messages(from, stop)) {
      if (part === undefined) throw damaged(`has a message ${seq} that is damaged, or none of its entries`)
      parts.push(part)
      if (part.after !== last || part.number !== parts.length || part.append !== parts[0]?.append)
        throw damaged(`lacks an entry behind position ${last}`)
      if (part.number < part.count) continue
      last = seq
      const bytes = parts.length === 1 ? part.bytes : Buffer.concat(parts.map((one) => one.bytes))
      parts = []
      yield { position: seq, bytes }
    }
  }

  /** Messages from a sequence number on, those still to come too, until the servers send no more of them. */
  async *#messages(from: number, stop: AbortSignal) {
    const { client, stream, subject } = this.#nats
    const consumer = await client.consumers.get(stream, {
      filter_subjects: subject,
      deliver_policy: 'by_start_sequence',
      opt_start_seq: from,
    })
    const messages = await consumer.consume({ max_bytes: READ_AHEAD_BYTES })
    let last = from - 1
    let waitsSince = performance.now()
    // A consumer whose server is gone may stay silent for good.
    const look = async () => {
      const since = waitsSince
      if (performance.now() - since < SILENCE_MS) return
      const next = await this.#next(last).catch(() => undefined)
      if (next !== undefined && waitsSince === since) messages.stop()
    }
    const watch = setInterval(() => void look(), SILENCE_MS)
    const end = () => messages.stop()
    stop.addEventListener('abort', end)
    try {
      // It may have been stopped while the consumer was made.
      if (stop.aborted) return
      for await (const { seq, headers, data } of messages) {
        if (stop.aborted) return
        last = seq
        waitsSince = Number.POSITIVE_INFINITY
        yield { seq, part: readPart(headers, data) }
        waitsSince = performance.now()
      }
    } finally {
      clearInterval(watch)
      stop.removeEventListener('abort', end)
      end()
      // Where this fails the server forgets it by itself.
      void consumer.delete().catch(() => {})
    }
  }

  /** The last message. */
  #last() {
    return this.#message({ last_by_subj: this.#nats.subject })
  }

  /** The first message behind a position. */
  #next(position: number) {
    return this.#message({ seq: position + 1, next_by_subj: this.#nats.subject })
  }

  /** @returns undefined where there is none */
  async #message(query: { last_by_subj: string } | { seq: number; next_by_subj: string }) {
    const { manager, stream } = this.#nats
    try {
      const message = await manager.streams.getMessage(stream, query)
      return message ? { seq: message.seq, part: readPart(message.header, message.data) } : undefined
    } catch (error) {
      if (Object(error).code === NO_MESSAGE) return undefined
      throw error
    }
  }
}

function damaged(what: string): WarpdexError {
  return new WarpdexError(
    'DAMAGED_FILE',
    `the log of the replica set ${what}; the node comes back by a newer snapshot in its --replica-snapshots`,
  )
}
