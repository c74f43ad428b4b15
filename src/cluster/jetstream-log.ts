import { setTimeout as pause } from 'node:timers/promises'
import type { JsMsg } from '@nats-io/jetstream'
import { toWarpdexError, WarpdexError } from '../../protocol/errors.js'
import type { Nats } from './nats.js'
import type { LogEntry, ReplicatedLog } from './replicated-log.js'

/** Of each message of an entry. */
const HEADERS = {
  /** Names the append, so that an attempt is known again. */
  append: 'Warpdex-Append',
  /** Number of the message within its entry, from 1 on, and how many there are, as 1/3. */
  part: 'Warpdex-Part',
  /** Position of the entry before. */
  after: 'Warpdex-After',
} as const

/** How long the outcome of an append is looked for: an election among the servers takes seconds. */
const SETTLE_MS = 30_000
const ATTEMPT_MS = 3000
const RETRY_MS = 200
/** Bytes of a message that headers and protocol take. */
const OVERHEAD = 1024
/** What a stream says to an append behind another entry than its last. */
const WRONG_LAST: readonly number[] = [10071, 10164]
const NO_MESSAGE = 10037

/**
 * The log of a replica set as a subject of a JetStream stream. An entry is a message, or an atomic batch of some where it is larger than one may
 * be; its position is the sequence of the last. JetStream refuses an entry behind another one than the last of the subject, which is what
 * keeps a former owner from appending.
 */
export class JetStreamLog implements ReplicatedLog {
  readonly #nats: Nats
  readonly #partBytes: number

  constructor(nats: Nats) {
    this.#nats = nats
    this.#partBytes = (nats.connection.info?.max_payload ?? 2 ** 20) - OVERHEAD
  }

  async head(): Promise<number> {
    return (await this.#message({ last_by_subj: this.#nats.subject }))?.seq ?? 0
  }

  async append(entry: Uint8Array, expected: number): Promise<number> {
    const append = crypto.randomUUID()
    const until = performance.now() + SETTLE_MS
    for (;;) {
      try {
        return await this.#attempt(append, entry, expected)
      } catch (thrown) {
        const { code } = Object(thrown)
        // What failed may be in the log, or come to be, unless something else is behind the entry before.
        const found = await this.#find(append, expected).catch(() => undefined)
        if (typeof found === 'number') return found
        if (found === 'other' || (WRONG_LAST.includes(code) && found === 'none'))
          throw new WarpdexError('NOT_OWNER', 'another node has appended to the log of the replica set')
        if (performance.now() > until) {
          const reason = toWarpdexError(thrown).message
          throw new WarpdexError('INTERNAL', `whether the write is in the log is not known: ${reason}`, {
            cause: thrown,
          })
        }
        await pause(RETRY_MS)
      }
    }
  }

  /** The entry that follows another: where ours is, that it is another's, or that there is none yet. */
  async #find(append: string, expected: number): Promise<number | 'other' | 'none'> {
    const next = await this.#message({ seq: expected + 1, next_by_subj: this.#nats.subject })
    if (next === undefined) return 'none'
    if (next.header.get(HEADERS.append) !== append) return 'other'
    return next.seq + Number(next.header.get(HEADERS.part).split('/')[1]) - 1
  }

  async #attempt(append: string, entry: Uint8Array, expected: number): Promise<number> {
    const { client, stream, subject } = this.#nats
    const count = Math.max(1, Math.ceil(entry.byteLength / this.#partBytes))
    const part = (i: number) => entry.subarray(i * this.#partBytes, (i + 1) * this.#partBytes)
    const options = (i: number) => ({
      headers: this.#headers(append, i + 1, count, expected),
      timeout: ATTEMPT_MS,
    })
    const expect = { streamName: stream, lastSubjectSequence: expected }
    const first = { ...options(0), expect, retries: 1 }
    if (count === 1) return (await client.publish(subject, part(0), first)).seq
    const batch = await client.startBatch(subject, part(0), first)
    for (let i = 1; i < count - 1; i++) batch.add(subject, part(i), options(i))
    return (await batch.commit(subject, part(count - 1), options(count - 1))).seq
  }

  #headers(append: string, part: number, count: number, after: number) {
    const headers = this.#nats.newHeaders()
    headers.set(HEADERS.append, append)
    headers.set(HEADERS.part, `${part}/${count}`)
    headers.set(HEADERS.after, String(after))
    return headers
  }

  /** @throws what the server says, but for there being none */
  async #message(query: { last_by_subj: string } | { seq: number; next_by_subj: string }) {
    const { manager, stream } = this.#nats
    try {
      return (await manager.streams.getMessage(stream, query)) ?? undefined
    } catch (error) {
      if (Object(error).code === NO_MESSAGE) return undefined
      throw error
    }
  }

  async *read(after: number, stop: AbortSignal): AsyncGenerator<LogEntry> {
    if (stop.aborted) return
    const { client, stream, subject } = this.#nats
    const consumer = await client.consumers.get(stream, {
      filter_subjects: subject,
      deliver_policy: 'by_start_sequence',
      opt_start_seq: after + 1,
    })
    const messages = await consumer.consume()
    const end = () => void messages.stop()
    stop.addEventListener('abort', end)
    try {
      let last = after
      let parts: JsMsg[] = []
      for await (const message of messages) {
        if (stop.aborted) return
        parts.push(message)
        const [number, count] = (message.headers?.get(HEADERS.part) ?? '').split('/').map(Number)
        const before = Number(message.headers?.get(HEADERS.after))
        // An entry of which only a part is made is read again, by a position before it that is none.
        const follows = last === after ? before <= last : before === last
        if (number !== parts.length || !follows)
          throw new WarpdexError(
            'DAMAGED_FILE',
            `the log of the replica set lacks an entry behind position ${last}; empty the data directory, and the node comes back from a snapshot`,
          )
        if (number !== count) continue
        last = message.seq
        yield { position: last, bytes: joined(parts) }
        parts = []
      }
    } finally {
      stop.removeEventListener('abort', end)
      end()
    }
  }

  async size(): Promise<number> {
    const { manager, stream } = this.#nats
    return (await manager.streams.info(stream)).state.bytes
  }

  async trim(through: number): Promise<void> {
    const { manager, stream, subject } = this.#nats
    await manager.streams.purge(stream, { filter: subject, seq: through + 1 })
  }

  async close(): Promise<void> {
    await this.#nats.connection.close()
  }
}

function joined(parts: readonly JsMsg[]): Uint8Array {
  const [first] = parts
  return parts.length === 1 && first !== undefined ? first.data : Buffer.concat(parts.map(({ data }) => data))
}
