import { badRequest } from '../../protocol/errors.js'
import { LIMITS } from '../../protocol/limits.js'
import type { LoadCounts } from '../../protocol/load.js'
import type { AppendedRows } from '../../protocol/relation-batch.js'
import { uniformCode } from '../../protocol/uniform-code.js'
import type { Change, Committer, Keyspace } from '../disk/committer.js'
import { damaged, decodeRecord, encodeRecord, RecordKind, type StoredRecord } from '../disk/record.js'

/**
 * What became of the items of a write: a ResultCode for each or, where nobody asked for more, how many of each kind there were; of
 * rows appended to a relation where they are.
 */
export interface Answer {
  readonly codes?: Uint8Array | undefined
  readonly counts?: LoadCounts | undefined
  readonly appended?: AppendedRows | undefined
  /** Entries that went with a range, or rows that were deleted; beside `appended` those that it has in their place. */
  readonly deleted?: number | undefined
  readonly batch?: BatchAnswer | undefined
}

/** What became of a batch over several indexes and relations. */
export interface BatchAnswer {
  /** A ResultCode for each item that was written to an index. */
  readonly codes: Uint8Array
  /** Of each append, in their order. */
  readonly appended: readonly AppendedRows[]
}

/** What became of a client's write. */
export interface WriteOutcome extends Answer {
  /** The client's own id, 1 to 255 bytes of UTF-8; write numbers count within it. */
  readonly client: string
  /** The client's number of the write, a whole number from 0 to 2^53 - 1. */
  readonly write: number
}

/** A remembered outcome. */
export interface StoredOutcome extends Answer {
  /** What was written to; of a batch one of them. */
  readonly index: number
  /** Position of the log record that holds the write. */
  readonly position: number
}

/** Result codes as stored: most batches have one code throughout, and parts of loads have counts only. */
interface OutcomeMeta {
  readonly index: number
  readonly position: number
  readonly uniform?: { readonly code: number; readonly count: number }
  readonly counts?: LoadCounts | undefined
  readonly appended?: AppendedRows | undefined
  readonly deleted?: number | undefined
  /** Of a batch, whose codes are as those of a write. */
  readonly batch?: readonly AppendedRows[] | undefined
}

interface RememberedWrite {
  /** Milliseconds since 1970. */
  readonly at: number
  readonly codeBytes: number
}

interface StoredWrite extends RememberedWrite, Pick<WriteOutcome, 'client' | 'write'> {}

interface Client {
  /** In the order in which they were written. */
  readonly writes: Map<number, RememberedWrite>
  codeBytes: number
  lastAt: number
}

/** The length of a client's id is one byte of a key. */
const MAX_CLIENT_BYTES = 255
const EXPIRY = LIMITS.writeIdHours * 3_600_000
/** Outcomes that go with one write because their clients are silent: more than one, so that they grow fewer, and few enough for it. */
const FORGOTTEN_PER_WRITE = 64
/** Outcomes that go in one transaction at the start. */
const FORGOTTEN_PER_COMMIT = 4096

/**
 * The outcomes of the last writes of each client, so that a write that is sent again is answered and not applied again. Which
 * ones there are is in memory, the result codes are on disk. A key also holds time and size, so that opening reads no values.
 * When there are too many in all, those of the client that has been silent longest go first.
 */
export class WriteOutcomes {
  readonly #keyspace: Keyspace
  /** In the order of their last writes. */
  readonly #clients = new Map<string, Client>()
  /** Outcomes of all clients. */
  #count = 0
  /** Milliseconds since 1970 at which the steady clock began, as they were thought to be at the start. */
  #epoch = Date.now() - performance.now()

  constructor(keyspace: Keyspace) {
    this.#keyspace = keyspace
    // Time goes on from the last outcome, also where the clock has been set back.
    this.#epoch = Math.max(this.#epoch, this.#read() - performance.now())
  }

  /** Forgets the clients that have not written for long. */
  async forgetOld(committer: Committer): Promise<void> {
    const now = this.#now()
    for (;;) {
      const changes = this.#forgetSilent(now, FORGOTTEN_PER_COMMIT)
      if (changes.length === 0) return
      await committer.commit(changes)
    }
  }

  /** Takes back what was remembered or forgotten and did not become durable. */
  rollBack(): void {
    this.#clients.clear()
    this.#count = 0
    this.#read()
  }

  /** Remembers what is on disk. @returns when the last of it was written */
  #read(): number {
    const stored = Array.from(this.#keyspace.getKeys({}), parseOutcomeKey).sort((a, b) => a.at - b.at)
    for (const { client, write, at, codeBytes } of stored) this.#remember(client, write, { at, codeBytes })
    return stored.at(-1)?.at ?? 0
  }

  /** The outcome of a write that is durable, while it is remembered. */
  find(client: string, write: number): StoredOutcome | undefined {
    const remembered = this.#clients.get(client)?.writes.get(write)
    if (remembered === undefined) return undefined
    const key = outcomeKey(client, write, remembered)
    const value = this.#keyspace.getBinary(key)
    if (value === undefined) return undefined
    const { meta, sections } = decodeOutcome(key, value)
    const { index, position, uniform, counts, appended, deleted, batch } = meta
    if (deleted !== undefined) return { index, position, deleted, appended }
    if (appended !== undefined) return { index, position, appended }
    if (counts !== undefined) return { index, position, counts }
    const codes = uniform === undefined ? sections[0] : new Uint8Array(uniform.count).fill(uniform.code)
    if (batch !== undefined) return { index, position, batch: { codes, appended: batch } }
    return { index, position, codes }
  }

  /** Whether the outcome of a write is remembered, even if the write is not durable yet. */
  has(client: string, write: number): boolean {
    return this.#clients.get(client)?.writes.has(write) === true
  }

  /** Remembers an outcome, and forgets what has become too old or too much; the changes go with the write itself. */
  add(index: number, position: number, outcome: WriteOutcome): Change[] {
    const { client, write } = outcome
    const at = this.#now()
    const { answer, codes } = packed(outcome)
    const remembered: RememberedWrite = { at, codeBytes: codes?.length ?? 0 }
    const key = outcomeKey(client, write, remembered)
    const meta: OutcomeMeta = { index, position, ...answer }
    const value = encodeRecord(RecordKind.outcome, key, meta, codes === undefined ? [] : [codes])
    const changes = this.#forget(client, write)
    const state = this.#remember(client, write, remembered)
    changes.push(...this.#forgetExcess(client, state), ...this.#forgetSilent(at, FORGOTTEN_PER_WRITE))
    changes.push({ keyspace: this.#keyspace, key, value })
    return changes
  }

  /** Takes up an outcome, or that one is forgotten, as it was stored by another replica. */
  took(key: Buffer, value: Buffer | undefined): void {
    const { client, write, ...remembered } = parseOutcomeKey(key)
    if (value === undefined) this.#forget(client, write)
    else this.#remember(client, write, remembered)
  }

  /** The time of day as it was at the start, and what went by since: outcomes must not age because somebody sets the clock. */
  #now(): number {
    return Math.floor(this.#epoch + performance.now())
  }

  #remember(name: string, write: number, remembered: RememberedWrite): Client {
    const client = this.#clients.get(name) ?? { writes: new Map(), codeBytes: 0, lastAt: 0 }
    client.writes.set(write, remembered)
    client.codeBytes += remembered.codeBytes
    client.lastAt = remembered.at
    this.#count++
    this.#clients.delete(name)
    this.#clients.set(name, client)
    return client
  }

  #forget(name: string, write: number): Change[] {
    const client = this.#clients.get(name)
    const remembered = client?.writes.get(write)
    if (client === undefined || remembered === undefined) return []
    client.writes.delete(write)
    client.codeBytes -= remembered.codeBytes
    this.#count--
    return [{ keyspace: this.#keyspace, key: outcomeKey(name, write, remembered) }]
  }

  #forgetExcess(name: string, client: Client): Change[] {
    const changes: Change[] = []
    for (const write of client.writes.keys()) {
      const { size } = client.writes
      if (size <= LIMITS.writeIdsPerClient && client.codeBytes <= LIMITS.writeIdBytesPerClient) break
      changes.push(...this.#forget(name, write))
    }
    return changes
  }

  /** Forgets of the clients that have been silent longest, while they are too old or there are too many outcomes in all. */
  #forgetSilent(now: number, most: number): Change[] {
    const changes: Change[] = []
    for (const [name, { lastAt, writes }] of this.#clients) {
      for (const write of writes.keys()) {
        const enough = now - lastAt < EXPIRY && this.#count <= LIMITS.writeIdsInAll
        if (enough || changes.length >= most) return changes
        changes.push(...this.#forget(name, write))
      }
      this.#clients.delete(name)
    }
    return changes
  }
}

/** An answer in the form that takes the fewest bytes. */
function packed({ codes, counts, appended, deleted, batch }: Answer): {
  readonly answer: Omit<OutcomeMeta, 'index' | 'position'>
  readonly codes?: Uint8Array
} {
  if (batch !== undefined) {
    const { answer, codes } = packed({ codes: batch.codes })
    return { answer: { ...answer, batch: batch.appended }, ...(codes && { codes }) }
  }
  if (appended !== undefined || deleted !== undefined) {
    return { answer: { ...(appended && { appended }), ...(deleted !== undefined && { deleted }) } }
  }
  if (codes === undefined) return { answer: { counts } }
  const code = uniformCode(codes)
  return code === undefined ? { answer: {}, codes } : { answer: { uniform: { code, count: codes.length } } }
}

/** @throws WarpdexError `BAD_REQUEST` when an outcome cannot be remembered under its names */
export function checkOutcome({ client, write }: WriteOutcome): void {
  const bytes = Buffer.byteLength(client)
  if (bytes === 0 || bytes > MAX_CLIENT_BYTES) {
    throw badRequest(`a client id has 1 to ${MAX_CLIENT_BYTES} bytes of UTF-8, not ${bytes}`)
  }
  if (!Number.isSafeInteger(write) || write < 0) {
    throw badRequest(`a write id is a whole number from 0 to 2^53 - 1, not ${write}`)
  }
}

/** Length of the client's name (u8), name, number of the write (u64), time (u64), bytes of its result codes (u32). */
function outcomeKey(client: string, write: number, { at, codeBytes }: RememberedWrite): Buffer {
  const name = Buffer.from(client)
  const key = Buffer.allocUnsafe(1 + name.length + 20)
  let end = key.writeUInt8(name.length, 0)
  end += name.copy(key, end)
  end = key.writeBigUInt64BE(BigInt(write), end)
  end = key.writeBigUInt64BE(BigInt(at), end)
  key.writeUInt32BE(codeBytes, end)
  return key
}

/** @throws WarpdexError `DAMAGED_FILE` */
export function parseOutcomeKey(key: Buffer): StoredWrite {
  const end = 1 + key[0]
  if (key.length === 0 || key.length !== end + 20) throw damaged('the key of a write outcome is damaged')
  return {
    client: key.toString('utf8', 1, end),
    write: Number(key.readBigUInt64BE(end)),
    at: Number(key.readBigUInt64BE(end + 8)),
    codeBytes: key.readUInt32BE(end + 16),
  }
}

/** @throws WarpdexError `DAMAGED_FILE` */
export function decodeOutcome(key: Buffer, value: Buffer): StoredRecord<OutcomeMeta> {
  const { client, write } = parseOutcomeKey(key)
  return decodeRecord(RecordKind.outcome, key, value, `the outcome of write ${write} of client ${client}`)
}
