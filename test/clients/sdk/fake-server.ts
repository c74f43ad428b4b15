import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type WebSocket, WebSocketServer } from 'ws'
import {
  aligned,
  asBytes,
  type ColumnConstructor,
  KEY_ARRAYS,
  type KeyArray,
} from '../../../protocol/columns.js'
import { toWarpdexError, WarpdexError } from '../../../protocol/errors.js'
import { decodeFrame, encodeFrame, type Sections } from '../../../protocol/frame.js'
import { keySectionType, requireKeys } from '../../../protocol/key-sections.js'
import { LIMITS } from '../../../protocol/limits.js'
import type {
  ExplainRequest,
  GetNextRequest,
  GetRequest,
  Request,
  ScanRequest,
} from '../../../protocol/messages.js'
import { parseRequest } from '../../../protocol/parse-request.js'
import { errorHeader } from '../../../protocol/replies.js'
import {
  getNextColumns,
  type ScanColumns,
  scanColumns,
  type WriteColumns,
  writeColumns,
} from '../../../protocol/request-columns.js'
import { type IndexDefinition, isFixedKeyType, keyWidth, payloadBytes } from '../../../protocol/types.js'
import { countCodes } from '../../../src/engine/load-counts.js'
import { joinPayloads, type ModelEntry, ModelIndex, type ModelKey } from './model-index.js'

interface Answer {
  readonly fields?: object
  readonly sections?: Sections
}

/**
 * What a test makes of a request: nothing, or an answer that stays out or makes no sense, or a connection that breaks before or
 * after the work.
 */
export type Intervention = 'none' | 'hold' | 'garbage' | 'dropBefore' | 'dropAfter'

/** A server that answers from lists, one request after the other, and does to them what a test wants. */
export class FakeServer {
  /** All requests that came, in order, but hello. */
  readonly requests: Request[] = []
  readonly indexes = new Map<string, ModelIndex>()
  connections = 0
  /** Decides what happens to a request. */
  intervene: (request: Request) => Intervention | WarpdexError = () => 'none'
  /** Makes other columns of a reply's. */
  alter: (sections: Sections) => Sections = (sections) => sections
  token: string | undefined
  /** Bytes of payloads that a reply may have. */
  replyBytes: number = LIMITS.frameBytes
  readonly #outcomes = new Map<string, Uint8Array>()
  #listener: WebSocketServer | undefined
  #port = 0

  /** Listens, after `stop` on the same port again. */
  async start(): Promise<void> {
    this.#listener = new WebSocketServer({
      host: '127.0.0.1',
      port: this.#port,
      maxPayload: LIMITS.frameBytes,
      verifyClient: ({ req }: { readonly req: IncomingMessage }) =>
        this.token === undefined || req.headers.authorization === `Bearer ${this.token}`,
    })
    this.#listener.on('connection', (socket) => this.#serve(socket))
    await once(this.#listener, 'listening')
    this.#port = (this.#listener.address() as AddressInfo).port
  }

  async stop(): Promise<void> {
    this.drop()
    await new Promise<void>((resolve) => this.#listener?.close(() => resolve()))
  }

  /** Breaks all connections. */
  drop(): void {
    for (const socket of this.#listener?.clients ?? []) socket.terminate()
  }

  get url(): string {
    return `ws://127.0.0.1:${this.#port}`
  }

  of<O extends Request['op']>(op: O): Extract<Request, { op: O }>[] {
    return this.requests.filter((request): request is Extract<Request, { op: O }> => request.op === op)
  }

  #serve(socket: WebSocket): void {
    this.connections++
    let client = ''
    socket.on('message', (data: Buffer) => {
      // What came in the same packet as a request that broke the connection.
      if (socket.readyState !== socket.OPEN) return
      const request = parseRequest(decodeFrame(data))
      if (request.op === 'hello') client = request.client
      else this.requests.push(request)
      const intervention = request.op === 'hello' ? 'none' : this.intervene(request)
      if (intervention === 'dropBefore') return socket.terminate()
      if (intervention === 'hold') return
      if (intervention === 'garbage') return socket.send(Uint8Array.of(1, 2, 3))
      let frame: Uint8Array
      try {
        if (intervention instanceof WarpdexError) throw intervention
        const { fields, sections = {} } = this.#answer(request, client)
        if ((sections.payloads?.bytes.length ?? 0) > this.replyBytes) {
          throw new WarpdexError('TOO_LARGE', 'the reply is too large')
        }
        frame = encodeFrame({ id: request.id, ok: true, ...fields }, this.alter(sections))
      } catch (error) {
        frame = encodeFrame(errorHeader(request.id, toWarpdexError(error)))
      }
      if (intervention === 'dropAfter') return socket.terminate()
      socket.send(frame)
    })
  }

  #answer(request: Request, client: string): Answer {
    switch (request.op) {
      case 'hello':
        return {
          fields: { server: 'fake', protocol: 1, adapter: { name: 'list', software: true }, limits: LIMITS },
        }
      case 'createIndex':
        return this.#create(request)
      case 'dropIndex':
        return { fields: { dropped: this.indexes.delete(request.index) } }
      case 'listIndexes':
        return { fields: { indexes: [...this.indexes.values()].map(({ definition }) => definition) } }
      case 'stats':
        return { fields: { server: {}, indexes: this.#stats(request.index) } }
      case 'snapshot':
        return { fields: { snapshots: [{ index: request.index, position: 1, bytes: 2 }] } }
      case 'backup':
        return { fields: { path: `/backups/${request.name}`, bytes: 3, indexes: this.indexes.size } }
      case 'calibrate':
        return { fields: { adapter: { name: 'list', driver: '', software: true } } }
      case 'cancel':
        return { fields: { cancelled: true } }
      case 'query':
      case 'queryNext':
      case 'queryEnd':
        throw new WarpdexError('BAD_REQUEST', 'this server has no relations')
      case 'get':
        return { sections: this.#get(request) }
      case 'explain':
        return { fields: { explanation: this.#explain(request) } }
      case 'count': {
        const index = this.#index(request.index)
        const keys = readKeys(requireKeys(request, index.definition).bytes, index.definition)
        const counts = Uint32Array.from(keys, (key) => index.of(key).length)
        return { sections: { counts: { type: 'u32', bytes: asBytes(counts) } } }
      }
      case 'scan':
        return { sections: this.#scan(request) }
      case 'getNext':
        return { sections: this.#getNext(request) }
      case 'createRelation':
      case 'dropRelation':
      case 'createRelationIndex':
      case 'listRelations':
      case 'append':
      case 'readRelation':
        throw new WarpdexError('BAD_REQUEST', 'this server has no relations')
      default: {
        const index = this.#index(request.index)
        const known = `${client}/${request.writeId}`
        const before = request.op === 'load' ? request.after : undefined
        if (before !== undefined && !this.#outcomes.has(`${client}/${before}`)) {
          throw new WarpdexError('CANCELLED', 'the part before this one is not stored')
        }
        const codes = this.#outcomes.get(known) ?? write(index, writeColumns(request, index.definition))
        this.#outcomes.set(known, codes)
        if (request.op === 'load') return { fields: countCodes(codes) }
        return { sections: { codes: { type: 'u8', bytes: codes } } }
      }
    }
  }

  #create(request: Extract<Request, { op: 'createIndex' }>): Answer {
    const { id: _id, op: _op, index: name, ifNotExists: _ifNotExists, ...fields } = request
    const created = !this.indexes.has(name)
    if (!created && !request.ifNotExists) throw new WarpdexError('INDEX_EXISTS', `index "${name}" exists`)
    const definition = { name, ...fields }
    if (created) this.indexes.set(name, new ModelIndex(definition))
    return { fields: { definition, created } }
  }

  #index(name: string): ModelIndex {
    const index = this.indexes.get(name)
    if (index === undefined) throw new WarpdexError('UNKNOWN_INDEX', `there is no index "${name}"`)
    return index
  }

  #stats(name: string | undefined): object[] {
    const indexes = name === undefined ? [...this.indexes.values()] : [this.#index(name)]
    return indexes.map(({ definition, entries }) => ({ ...definition, payloads: entries.length }))
  }

  #explain(request: ExplainRequest): object {
    const { definition } = this.#index(request.index)
    const { bytes } = requireKeys(request, definition)
    return { ...request.traversal, batch: readKeys(bytes, definition).length }
  }

  #get(request: GetRequest): Sections {
    const index = this.#index(request.index)
    const { definition } = index
    const keys = readKeys(requireKeys(request, definition).bytes, definition)
    const lists = keys.map((key) => index.of(key))
    if (request.all) {
      const { offsets } = joinPayloads(lists.map((list) => new Uint8Array(list.length)))
      return { offsets: { type: 'u32', bytes: offsets }, ...payloadSections(lists.flat(), definition) }
    }
    const firsts = lists.map(([first]) => first)
    return { found: bitmap(firsts), ...payloadSections(firsts, definition) }
  }

  #scan(request: ScanRequest): Sections {
    const index = this.#index(request.index)
    const { definition } = index
    const columns = scanColumns(request, definition)
    const ranges = Array.from({ length: columns.ranges }, (_, i) => scanRange(index, request, columns, i))
    const entries = ranges.flatMap(({ page }) => page)
    const keys = keyColumn(
      entries.map(({ key }) => key),
      definition,
    )
    const { offsets } = joinPayloads(ranges.map(({ page }) => new Uint8Array(page.length)))
    return {
      offsets: { type: 'u32', bytes: offsets },
      keys: { type: keySectionType(definition.keyType), bytes: keys },
      ...payloadSections(entries, definition),
      more: { type: 'u8', bytes: Uint8Array.from(ranges, ({ more }) => (more ? 1 : 0)) },
      tokens: { type: 'bytes', bytes: new Uint8Array(Buffer.concat(ranges.map(({ token }) => token))) },
    }
  }

  #getNext(request: GetNextRequest): Sections {
    const index = this.#index(request.index)
    const { definition } = index
    const { keys, sequences } = getNextColumns(request, definition)
    const places = sequences && aligned(sequences, Uint32Array)
    const next = readKeys(keys, definition).map((key, i) => {
      const whole = request.reverse ? -1 : Number.POSITIVE_INFINITY
      const after = { key, sequence: places?.[i] ?? whole }
      const open = { from: undefined, to: undefined, fromExclusive: false, toExclusive: false }
      return index.scan({ ...open, reverse: request.reverse, after })[0]
    })
    const nextKeys = keyColumn(
      next.map((entry, i) => entry?.key ?? readKeys(keys, definition)[i]),
      definition,
    )
    return {
      found: bitmap(next),
      keys: { type: keySectionType(definition.keyType), bytes: nextKeys },
      ...payloadSections(next, definition),
      sequences: { type: 'u32', bytes: asBytes(Uint32Array.from(next, (entry) => entry?.sequence ?? 0)) },
    }
  }
}

/** One range of a scan: its entries, whether there are more, and the token of the last. */
function scanRange(
  index: ModelIndex,
  { reverse, fromExclusive, toExclusive, limit }: ScanRequest,
  { from, to, tokens }: ScanColumns,
  i: number,
): { readonly page: ModelEntry[]; readonly more: boolean; readonly token: Uint8Array } {
  const { definition } = index
  const width = keyWidth(definition.keyType) ?? 0
  const tokenAt = tokens?.slice(i * (width + 4), (i + 1) * (width + 4))
  const after = tokenAt && {
    key: readKeys(tokenAt.subarray(0, width), definition)[0],
    sequence: aligned(tokenAt.slice(width), Uint32Array)[0],
  }
  const range = { from: from && readKeys(from, definition)[i], to: to && readKeys(to, definition)[i] }
  const all = index.scan({ ...range, fromExclusive, toExclusive, reverse, after })
  const page = all.slice(0, limit)
  const last = page.at(-1)
  const token = new Uint8Array(width + 4)
  if (last !== undefined) {
    token.set(keyColumn([last.key], definition))
    token.set(asBytes(Uint32Array.of(last.sequence)), width)
  }
  return { page, more: all.length > limit, token }
}

function readKeys(bytes: Uint8Array, { keyType }: IndexDefinition): ModelKey[] {
  if (!isFixedKeyType(keyType)) throw new Error(`the fake server has no ${keyType} keys`)
  const Column: ColumnConstructor<KeyArray> = KEY_ARRAYS[keyType]
  return [...aligned(bytes, Column)]
}

function keyColumn(keys: readonly ModelKey[], { keyType }: IndexDefinition): Uint8Array {
  if (keyType === 'u64') return asBytes(BigUint64Array.from(keys, BigInt))
  if (keyType === 'u32') return asBytes(Uint32Array.from(keys, Number))
  if (keyType === 'f64') return asBytes(Float64Array.from(keys, Number))
  throw new Error(`the fake server has no ${keyType} keys`)
}

function payloadSections(
  entries: readonly (ModelEntry | undefined)[],
  definition: IndexDefinition,
): Sections {
  const width = payloadBytes(definition.payloadKind)
  const { bytes, offsets } = joinPayloads(
    entries.map((entry) => entry?.payload ?? new Uint8Array(width ?? 0)),
  )
  const payloads = { type: 'bytes', bytes } as const
  return width === undefined ? { payloads, payloadOffsets: { type: 'u32', bytes: offsets } } : { payloads }
}

function bitmap(entries: readonly (ModelEntry | undefined)[]): { type: 'u8'; bytes: Uint8Array } {
  const bytes = new Uint8Array(Math.ceil(entries.length / 8))
  entries.forEach((entry, i) => {
    if (entry !== undefined) bytes[i >> 3] |= 1 << (i & 7)
  })
  return { type: 'u8', bytes }
}

function write(index: ModelIndex, { ops, keys, payloads }: WriteColumns): Uint8Array {
  const { definition } = index
  const width = payloadBytes(definition.payloadKind) ?? 0
  const payloadAt = (i: number) => {
    if (payloads === undefined) return new Uint8Array()
    const { bytes, offsets } = payloads
    return offsets ? bytes.subarray(offsets[i], offsets[i + 1]) : bytes.subarray(i * width, (i + 1) * width)
  }
  const opAt = (i: number) => (typeof ops === 'number' ? ops : ops[i])
  const codes = readKeys(keys, definition).map((key, i) => {
    const op = opAt(i) as Parameters<ModelIndex['write']>[0]
    return index.write(op, key, payloadAt(i))
  })
  return Uint8Array.from(codes)
}
