import { crc32 } from 'node:zlib'
import { toWarpdexError, WarpdexError } from '../../../protocol/errors.js'
import type { Section } from '../../../protocol/frame.js'
import { IdMap } from '../../../protocol/id-map.js'
import type { Answered, EngineGate, Question } from '../gate/engine-gate.js'
import type { EngineRequest } from '../operations.js'
import { GetGroups } from './get-groups.js'
import type { Mailbox } from './mailbox.js'
import type { Asked, ToEngine, ToSockets } from './messages.js'

/** Columns of which a checksum is worth its way to the engine's thread. */
const CHECKED_BYTES = 64 * 1024

interface Pending {
  readonly resolve: (answer: Answered) => void
  readonly reject: (error: WarpdexError) => void
}

/** Operations after which a get may be answered otherwise. */
const CHANGES: ReadonlySet<EngineRequest['op']> = new Set([
  'insert',
  'delete',
  'write',
  'load',
  'createIndex',
  'createRelationIndex',
  'dropIndex',
])

const RELATION_CHANGES: ReadonlySet<EngineRequest['op']> = new Set(['append', 'dropRelation'])

/** The engine in another thread. */
export class RemoteGate implements EngineGate {
  readonly adapter: EngineGate['adapter']
  readonly #outbox: Mailbox<ToEngine>
  readonly #pending = new IdMap<Pending>()
  readonly #groups = new GetGroups((request, connection) => this.#send({ request, connection }))
  #next = 0

  constructor(outbox: Mailbox<ToEngine>, adapter: EngineGate['adapter']) {
    this.#outbox = outbox
    this.adapter = adapter
  }

  ask(question: Question): Promise<Answered> {
    const { request, client, sign, connection, ownsMemory } = question
    const shared = this.#groups.offer(question)
    if (shared !== undefined) return shared
    // What is written to a relation changes its indexes, of which this thread does not know.
    if (RELATION_CHANGES.has(request.op)) this.#groups.flush()
    else if ('index' in request && request.index !== undefined && CHANGES.has(request.op)) {
      this.#groups.flush(request.index)
    }
    const number = this.#next
    sign.onCancel = () => this.#outbox.send({ kind: 'cancel', question: number })
    if (!ownsMemory) return this.#send({ request: withOwnMemory(request), client, connection })
    return this.#send({ request: withChecksums(request), client, connection }, memoryOf(request))
  }

  /** The engine's thread is told by the connection's stream. */
  left(): void {}

  /** Takes the engine's answer to a question. */
  settle(message: Extract<ToSockets, { kind: 'answer' | 'refusal' }>): void {
    const { question } = message
    const pending = this.#pending.delete(question)
    if (pending === undefined) return
    if (message.kind === 'refusal') {
      pending.reject(new WarpdexError(message.code, message.message))
      return
    }
    const { fields, sections, lent } = message
    const release = lent ? () => this.#outbox.send({ kind: 'left', question }) : undefined
    pending.resolve({ fields, ...(sections && { sections }), release })
  }

  /** A question could not be sent, which is its own misfortune only. */
  unsent(message: ToEngine, thrown: unknown): void {
    if (message.kind !== 'ask') throw thrown
    this.#pending.delete(message.question)?.reject(toWarpdexError(thrown))
  }

  #send(asked: Asked, memory?: ArrayBuffer): Promise<Answered> {
    const question = this.#next++
    return new Promise((resolve, reject) => {
      this.#pending.set(question, { resolve, reject })
      this.#outbox.send({ kind: 'ask', question, ...asked }, memory)
    })
  }
}

/** The memory that a request's columns lie in. */
function memoryOf(request: EngineRequest): ArrayBuffer | undefined {
  for (const value of Object.values(request)) {
    if (isSection(value) && value.bytes.buffer instanceof ArrayBuffer) return value.bytes.buffer
  }
  const [column] = request.op === 'append' ? request.columns : []
  const [list] = request.op === 'query' ? request.lists : []
  const buffer = (column?.values ?? list?.values ?? list?.offsets)?.bytes.buffer
  return buffer instanceof ArrayBuffer ? buffer : undefined
}

/** A write with the checksums of its columns, which are logged with it: this thread has more time than the engine's. */
function withChecksums(request: EngineRequest): EngineRequest {
  switch (request.op) {
    case 'insert':
    case 'delete':
    case 'write':
    case 'load':
      return {
        ...request,
        keys: checked(request.keys),
        ...(request.payloads && { payloads: checked(request.payloads) }),
      }
    default:
      return request
  }
}

function checked(section: Section): Section {
  return section.bytes.byteLength < CHECKED_BYTES ? section : { ...section, checksum: crc32(section.bytes) }
}

/** The request with its columns copied: with a view all of the memory that it is part of would be sent. */
function withOwnMemory(request: EngineRequest): EngineRequest {
  if (request.op === 'append') return { ...request, columns: request.columns.map(ownSections) }
  if (request.op === 'query') return { ...request, lists: request.lists.map(ownSections) }
  return ownSections(request)
}

/** A request, or its part, with its columns copied. */
function ownSections<T extends object>(holder: T): T {
  const own: Record<string, unknown> = Object.fromEntries(Object.entries(holder))
  for (const [name, value] of Object.entries(holder)) {
    if (isSection(value)) own[name] = { type: value.type, bytes: value.bytes.slice() }
  }
  return own as unknown as T
}

function isSection(value: unknown): value is Section {
  return typeof value === 'object' && value !== null && 'bytes' in value && value.bytes instanceof Uint8Array
}
