import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type WebSocket, WebSocketServer } from 'ws'
import {
  aligned,
  asBytes,
  type ColumnConstructor,
  columnOf,
  KEY_ARRAYS,
  type KeyArray,
  valueAt,
} from '../../../protocol/columns.js'
import { encodeDataReply, numberIn } from '../../../protocol/data-frame.js'
import {
  type DataOp,
  type DataRequest,
  type WireColumn,
  type WireColumns,
  wireColumn,
} from '../../../protocol/data-request.js'
import { toWarpdexError, WarpdexError } from '../../../protocol/errors.js'
import { encodeFrame, PROTOCOL_VERSION } from '../../../protocol/frame.js'
import { LIMITS } from '../../../protocol/limits.js'
import { type ControlRequest, type Request, readRequest } from '../../../protocol/messages.js'
import { errorHeader } from '../../../protocol/replies.js'
import {
  getNextColumns,
  type RangeColumns,
  rangeColumns,
  requireKeys,
  scanColumns,
  type WriteColumns,
  writeColumns,
} from '../../../protocol/request-columns.js'
import {
  type IndexDefinition,
  isFixedKeyType,
  keyWidth,
  payloadBytes,
  wireKeyType,
} from '../../../protocol/types.js'
import { countCodes } from '../../../src/engine/index-writer.js'
import { type ModelEntry, ModelIndex, type ModelKey } from './model-index.js'

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
  alter: (columns: WireColumns) => WireColumns = (columns) => columns
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

  of<O extends Request['op']>(op: O): RequestOf<O>[] {
    return this.requests.filter((request): request is RequestOf<O> => request.op === op)
  }

  /** Drops an index, and makes it anew as it was, without entries. */
  remake(name: string): void {
    const { definition } = this.#named(name)
    this.indexes.set(name, new ModelIndex(definition))
  }

  #serve(socket: WebSocket): void {
    this.connections++
    let client = ''
    socket.on('message', (data: Buffer) => {
      // What came in the same packet as a request that broke the connection.
      if (socket.readyState !== socket.OPEN) return
      const request = readRequest(data)
      if (request.op === 'hello') client = request.client
      else this.requests.push(request)
      const intervention = request.op === 'hello' ? 'none' : this.intervene(request)
      if (intervention === 'dropBefore') return socket.terminate()
      if (intervention === 'hold') return
      if (intervention === 'garbage') return socket.send(Uint8Array.of(1, 2, 3))
      let frame: Uint8Array
      try {
        if (intervention instanceof WarpdexError) throw intervention
        frame = this.#answer(request, client)
      } catch (error) {
        frame = encodeFrame(errorHeader(request.id, toWarpdexError(error)))
      }
      if (intervention === 'dropAfter') return socket.terminate()
      socket.send(frame)
    })
  }

  #answer(request: Request, client: string): Uint8Array {
    const { id } = request
    if (isControl(request)) return encodeFrame({ id, ok: true, ...this.#fields(request) })
    const index = this.#index(request)
    if (request.op === 'explain') {
      return encodeFrame({ id, ok: true, explanation: explain(index, request) })
    }
    const columns = this.#columns(index, request, client)
    if ((columns.payloads?.bytes.length ?? 0) > this.replyBytes) {
      throw new WarpdexError('TOO_LARGE', 'the reply is too large')
    }
    return Buffer.concat(encodeDataReply({ id, op: request.op, columns: this.alter(columns) }))
  }

  #fields(request: ControlRequest): object {
    switch (request.op) {
      case 'hello': {
        const adapter = { name: 'list', software: true }
        return { server: 'fake', protocol: PROTOCOL_VERSION, adapter, limits: LIMITS }
      }
      case 'open': {
        const { definition, handle, generation } = this.#named(request.index)
        return { ...definition, handle, generation }
      }
      case 'createIndex':
        return this.#create(request)
      case 'dropIndex':
        return { dropped: this.indexes.delete(request.index) }
      case 'renameIndex':
        this.#rename(request.index, request.to)
        return {}
      case 'swapIndexes':
        this.#rename(request.index, request.with)
        return {}
      case 'listIndexes':
        return { indexes: [...this.indexes.values()].map(({ definition }) => definition) }
      case 'stats':
        return { server: {}, indexes: this.#stats(request.index) }
      case 'snapshot':
        return { snapshots: [{ index: request.index, position: 1, bytes: 2 }] }
      case 'backup':
        return { path: `/backups/${request.name}`, bytes: 3, indexes: this.indexes.size }
      case 'slowRequests':
        return { threshold: 0, requests: [] }
      case 'calibrate':
        return { adapter: { name: 'list', driver: '', software: true } }
      case 'cancel':
        return { cancelled: true }
      default:
        throw new WarpdexError('BAD_REQUEST', 'this server has no relations')
    }
  }

  #columns(index: ModelIndex, request: DataRequest, client: string): WireColumns {
    switch (request.op) {
      case 'get':
        return get(index, request)
      case 'getAll':
        return getAll(index, request)
      case 'count': {
        const counts = keysOf(index, request).map((key) => index.of(key).length)
        return { counts: wireColumn('u32', Uint32Array.from(counts)) }
      }
      case 'scan':
        return scan(index, request)
      case 'countRanges': {
        const columns = rangeColumns(request, index.definition)
        const all = { ...request, limit: Number.POSITIVE_INFINITY }
        const counts = Array.from({ length: columns.ranges }, (_, i) =>
          BigInt(scanRange(index, all, columns, i).page.length),
        )
        return { counts: wireColumn('u64', BigUint64Array.from(counts)) }
      }
      case 'getNext':
        return getNext(index, request)
      default: {
        const known = `${client}/${request.writeId}`
        const { after } = request.columns
        if (after !== undefined && !this.#outcomes.has(`${client}/${numberIn(after, 'after')}`)) {
          throw new WarpdexError('CANCELLED', 'the part before this one is not stored')
        }
        const codes = this.#outcomes.get(known) ?? write(index, writeColumns(request, index.definition))
        this.#outcomes.set(known, codes)
        if (request.op !== 'load') return { codes: wireColumn('u8', codes) }
        const { rows, inserted, replaced, existing, refused } = countCodes(codes)
        return { counts: wireColumn('u32', Uint32Array.of(rows, inserted, replaced, existing, refused)) }
      }
    }
  }

  #create(request: RequestOf<'createIndex'>): object {
    const { id: _id, op: _op, index: name, ifNotExists: _ifNotExists, ...fields } = request
    const created = !this.indexes.has(name)
    if (!created && !request.ifNotExists) throw new WarpdexError('INDEX_EXISTS', `index "${name}" exists`)
    const definition = { name, ...fields }
    if (created) this.indexes.set(name, new ModelIndex(definition))
    return { definition, created }
  }

  /** Gives an index a name, and who has that its own. */
  #rename(name: string, to: string): void {
    const index = this.#named(name)
    const other = this.indexes.get(to)
    this.indexes.delete(name)
    for (const [each, given] of [
      [index, to],
      [other, name],
    ] as const) {
      if (each === undefined) continue
      each.generation++
      this.indexes.set(given, each)
    }
  }

  #index({ handle, generation }: DataRequest): ModelIndex {
    const index = [...this.indexes.values()].find((candidate) => candidate.handle === handle)
    if (index === undefined) throw new WarpdexError('UNKNOWN_INDEX', `there is no index of handle ${handle}`)
    if (generation === index.generation) return index
    throw new WarpdexError('INDEX_CHANGED', `the index has generation ${index.generation}, not ${generation}`)
  }

  #named(name: string): ModelIndex {
    const index = this.indexes.get(name)
    if (index === undefined) throw new WarpdexError('UNKNOWN_INDEX', `there is no index "${name}"`)
    return index
  }

  #stats(name: string | undefined): object[] {
    const indexes = name === undefined ? [...this.indexes.values()] : [this.#named(name)]
    return indexes.map(({ definition, entries }) => ({ ...definition, payloads: entries.length }))
  }
}

type RequestOf<O extends Request['op']> = O extends DataOp
  ? DataRequest & { readonly op: O }
  : Extract<ControlRequest, { readonly op: O }>

function isControl(request: Request): request is ControlRequest {
  return !('handle' in request)
}

function explain({ definition }: ModelIndex, { traversal, columns }: DataRequest): object {
  return { ...traversal, batch: readKeys(requireKeys(columns, definition).bytes, definition).length }
}

function get(index: ModelIndex, request: DataRequest): WireColumns {
  const firsts = keysOf(index, request).map((key) => index.of(key)[0])
  return { found: bitmap(firsts), payloads: payloadColumn(firsts, index) }
}

function getAll(index: ModelIndex, request: DataRequest): WireColumns {
  const lists = keysOf(index, request).map((key) => index.of(key))
  return { offsets: groupColumn(lists), payloads: payloadColumn(lists.flat(), index) }
}

function scan(index: ModelIndex, request: DataRequest): WireColumns {
  const columns = scanColumns(request, index.definition)
  const ranges = Array.from({ length: columns.ranges }, (_, i) => scanRange(index, request, columns, i))
  const entries = ranges.flatMap(({ page }) => page)
  return {
    offsets: groupColumn(ranges.map(({ page }) => page)),
    ...(!request.withoutKeys && {
      keys: keyColumn(
        entries.map(({ key }) => key),
        index,
      ),
    }),
    ...(!request.withoutPayloads && { payloads: payloadColumn(entries, index) }),
    more: wireColumn(
      'u8',
      Uint8Array.from(ranges, ({ more }) => (more ? 1 : 0)),
    ),
    tokens: wireColumn('bytes', Buffer.concat(ranges.map(({ token }) => token))),
  }
}

function getNext(index: ModelIndex, request: DataRequest): WireColumns {
  const { definition } = index
  const { reverse = false } = request
  const { keys: asked, sequences } = getNextColumns(request, definition)
  const places = sequences && aligned(sequences.bytes, Uint32Array)
  const keys = readKeys(asked.bytes, definition)
  const next = keys.map((key, i) => {
    const whole = reverse ? -1 : Number.POSITIVE_INFINITY
    const after = { key, sequence: places?.[i] ?? whole }
    const open = { from: undefined, to: undefined, fromExclusive: false, toExclusive: false }
    return index.scan({ ...open, reverse, after })[0]
  })
  return {
    found: bitmap(next),
    keys: keyColumn(
      next.map((entry, i) => entry?.key ?? keys[i]),
      index,
    ),
    payloads: payloadColumn(next, index),
    sequences: wireColumn(
      'u32',
      Uint32Array.from(next, (entry) => entry?.sequence ?? 0),
    ),
  }
}

/** One range of a scan: its entries, whether there are more, and the token of the last. */
function scanRange(
  index: ModelIndex,
  { reverse = false, fromExclusive = false, toExclusive = false, limit = 0 }: DataRequest,
  { from, to, tokens }: RangeColumns,
  i: number,
): { readonly page: ModelEntry[]; readonly more: boolean; readonly token: Uint8Array } {
  const { definition } = index
  const width = keyWidth(definition.keyType) ?? 0
  const tokenAt = tokens?.bytes.slice(i * (width + 4), (i + 1) * (width + 4))
  const after = tokenAt && {
    key: readKeys(tokenAt.subarray(0, width), definition)[0],
    sequence: aligned(tokenAt.slice(width), Uint32Array)[0],
  }
  const ends = [from, to].map((end) => end && readKeys(end.bytes, definition)[i])
  const range = { from: ends[0], to: ends[1] }
  const all = index.scan({ ...range, fromExclusive, toExclusive, reverse, after })
  const page = all.slice(0, limit)
  const last = page.at(-1)
  const token = new Uint8Array(width + 4)
  if (last !== undefined) {
    token.set(keyColumn([last.key], index).bytes)
    token.set(asBytes(Uint32Array.of(last.sequence)), width)
  }
  return { page, more: all.length > limit, token }
}

function readKeys(bytes: Uint8Array, { keyType }: IndexDefinition): ModelKey[] {
  if (!isFixedKeyType(keyType)) throw new Error(`the fake server has no ${keyType} keys`)
  const Column: ColumnConstructor<KeyArray> = KEY_ARRAYS[keyType]
  return [...aligned(bytes, Column)]
}

function keysOf({ definition }: ModelIndex, { columns }: DataRequest): ModelKey[] {
  return readKeys(requireKeys(columns, definition).bytes, definition)
}

function keyColumn(keys: readonly ModelKey[], { definition: { keyType } }: ModelIndex): WireColumn {
  const type = wireKeyType(keyType)
  if (keyType === 'u64') return wireColumn(type, BigUint64Array.from(keys, BigInt))
  if (keyType === 'u32') return wireColumn(type, Uint32Array.from(keys, Number))
  if (keyType === 'f64') return wireColumn(type, Float64Array.from(keys, Number))
  throw new Error(`the fake server has no ${keyType} keys`)
}

function payloadColumn(entries: readonly (ModelEntry | undefined)[], { definition }: ModelIndex): WireColumn {
  const width = payloadBytes(definition.payloadKind)
  const { bytes, offsets } = columnOf(entries.map((entry) => entry?.payload ?? new Uint8Array(width ?? 0)))
  return wireColumn('bytes', bytes, width === undefined ? offsets : undefined)
}

/** Where each list begins in all of them together. */
function groupColumn(lists: readonly (readonly ModelEntry[])[]): WireColumn {
  return wireColumn('u32', columnOf(lists.map(({ length }) => new Uint8Array(length))).offsets)
}

function bitmap(entries: readonly (ModelEntry | undefined)[]): WireColumn {
  const bytes = new Uint8Array(Math.ceil(entries.length / 8))
  entries.forEach((entry, i) => {
    if (entry !== undefined) bytes[i >> 3] |= 1 << (i & 7)
  })
  return wireColumn('u8', bytes)
}

function write(index: ModelIndex, { ops, keys, payloads }: WriteColumns): Uint8Array {
  const { definition } = index
  const payloadAt = (i: number) => (payloads ? valueAt(payloads, i) : new Uint8Array())
  const opAt = (i: number) => (typeof ops === 'number' ? ops : ops[i])
  const codes = readKeys(keys.bytes, definition).map((key, i) => {
    const op = opAt(i) as Parameters<ModelIndex['write']>[0]
    return index.write(op, key, payloadAt(i))
  })
  return Uint8Array.from(codes)
}
