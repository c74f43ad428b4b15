import { type DataRequest, type IndexHandle, WRITES } from '../../protocol/data-request.js'
import { toWarpdexError, WarpdexError } from '../../protocol/errors.js'
import { decodeFrame } from '../../protocol/frame.js'
import type { ControlOp, Request } from '../../protocol/messages.js'
import type { OpenedIndex } from '../../protocol/replies.js'
import type { Call, ForwardedConnection, Forwarder, Result } from '../../src/server/index.js'
import { type Bounds, UNBOUNDED } from '../sdk/call-options.js'
import { ClusterConnection } from '../sdk/cluster/cluster-connection.js'
import { REOPENING } from '../sdk/index-calls.js'
import { isFinal } from '../sdk/link.js'
import type { Reply } from '../sdk/reply.js'
import { encodePart, encodeParts, writeInTurn } from './batch.js'
import { dataCallOf } from './data-call.js'

const CONTROL_READS: ReadonlySet<ControlOp> = new Set([
  'open',
  'listIndexes',
  'listRelations',
  'stats',
  'readRelation',
])
/** They are sent again after a loss, so that they need a write id. */
const CONTROL_WRITES: ReadonlySet<ControlOp> = new Set(['append', 'changeRows'])

type Send = (bounds: Bounds) => Promise<Result>

const OVER = 'this node forwards requests of the connection no more'

/** Forwards requests as a client of all replica sets does, which has the token and the name of the one who asks. */
export class ClusterForwarder implements Forwarder {
  readonly #connection: ForwardedConnection
  #cluster: Promise<ClusterConnection> | undefined
  /** Requests leave in order: what the next one waits for. */
  #turn: Promise<unknown> = Promise.resolve()
  /** By handle and generation, which replica set 0 gives. */
  readonly #indexes = new Map<string, OpenedIndex>()
  /** Whether all is left to another node, since something was: requests take effect in order. */
  #isOver = false

  constructor(connection: ForwardedConnection) {
    this.#connection = connection
  }

  async run(call: Call): Promise<Result> {
    const { request } = call
    const bounds = isRead(request) ? boundsOf(call) : UNBOUNDED
    const prepared = this.#turn.then(() => this.#prepare(call))
    this.#turn = prepared.catch(() => {})
    try {
      const send = await prepared
      const result = await send(bounds)
      if (request.op === 'open') this.#remember(result.fields as OpenedIndex)
      return result
    } catch (thrown) {
      throw this.#failureOf(request, toWarpdexError(thrown))
    }
  }

  close(): void {
    this.#isOver = true
    void this.#cluster?.then((cluster) => cluster.close(true)).catch(() => {})
  }

  /** Learns what it takes to send a request. */
  async #prepare({ request, frame, client }: Call): Promise<Send> {
    const cluster = await this.#opened(client)
    if ('handle' in request) return this.#prepareData(request, cluster)
    const { header, sections } = decodeFrame(frame)
    const { id: _id, op: _op, ...fields } = header
    if (request.op === 'batch') {
      const indexOf = (part: IndexHandle) => this.#indexOf(part, cluster)
      const parts = await encodeParts(request, sections, cluster, indexOf)
      return async (bounds) => {
        const { codes, appended } = await writeInTurn(parts, request.writeId, cluster, bounds)
        return { fields: { appended }, sections: { codes: { type: 'u8', bytes: codes } } }
      }
    }
    const { op } = request
    const id = CONTROL_WRITES.has(op) ? { writeId: fields.writeId ?? cluster.newWriteId() } : {}
    const send = (bounds: Bounds) =>
      cluster.request(op, { ...fields, ...id }, Object.fromEntries(sections), bounds)
    return async (bounds) => resultOf(await send(bounds))
  }

  async #prepareData(request: DataRequest, cluster: ClusterConnection): Promise<Send> {
    const index = await this.#indexOf(request, cluster)
    const call = dataCallOf(request, index)
    const writeId = WRITES.has(call.op) ? (call.writeId ?? cluster.newWriteId()) : undefined
    // Its client wants all items, or none, be they on several replica sets.
    const part = { ...call, writeId: undefined }
    const located = call.op === 'write' ? await cluster.locate([part], index, UNBOUNDED) : []
    if (located.length > 1) {
      const parts = [encodePart(part, index, located)]
      return async (bounds) => {
        const { codes } = await writeInTurn(parts, writeId, cluster, bounds)
        return { columns: { codes: { type: 'u8', bytes: codes } } }
      }
    }
    const onError = (error: unknown) => this.#forget(index, error)
    const send = (bounds: Bounds) => cluster.requestData({ ...call, writeId }, index, bounds, onError, false)
    return async (bounds) => resultOf(await send(bounds))
  }

  /** @throws WarpdexError `NOT_OWNER` where nodes cannot be reached from here */
  async #opened(client: string | undefined): Promise<ClusterConnection> {
    if (this.#isOver) throw leftToOthers(OVER)
    this.#cluster ??= this.#open(client)
    try {
      return await this.#cluster
    } catch (thrown) {
      this.#cluster = undefined
      const error = toWarpdexError(thrown)
      if (isFinal(error)) throw error
      this.#isOver = true
      throw leftToOthers(error.message)
    }
  }

  async #open(client: string | undefined): Promise<ClusterConnection> {
    const { token, readsAny, sets, nodes } = this.#connection
    const reads = readsAny ? 'any' : 'latest'
    const cluster = await ClusterConnection.open({ token, client, reads, sets, nodes: async () => nodes() })
    // The next request may find it open again, as with a token that is good again.
    void cluster.closed.then(() => {
      this.#cluster = undefined
    })
    return cluster
  }

  async #indexOf(handle: IndexHandle, cluster: ClusterConnection): Promise<OpenedIndex> {
    const key = keyOf(handle)
    if (!this.#indexes.has(key)) await this.#learn(cluster)
    const index = this.#indexes.get(key)
    if (index !== undefined) return index
    throw new WarpdexError(
      'INDEX_CHANGED',
      `no index that the client may see has handle ${handle.handle} and generation ${handle.generation}; open it again`,
    )
  }

  /** Handles are good for longer than the connection on which an index was opened. */
  async #learn({ home }: ClusterConnection): Promise<void> {
    const { indexes } = (await home.request('listIndexes', {}, {}, UNBOUNDED)).fields
    const opened = await Promise.allSettled(
      indexes.map(({ name }) => home.request('open', { index: name }, {}, UNBOUNDED, true)),
    )
    for (const each of opened) if (each.status === 'fulfilled') this.#remember(each.value.fields)
  }

  #remember(index: OpenedIndex): void {
    this.#indexes.set(keyOf(index), index)
  }

  #forget(index: OpenedIndex, error: unknown): void {
    if (REOPENING.includes(Object(error).code)) this.#indexes.delete(keyOf(index))
  }

  /** What a client is told: to ask another node, where it may make the request again, which are reads and writes with an id of its own. */
  #failureOf(request: Request, error: WarpdexError): WarpdexError {
    const isEnded = this.#isOver && error.code === 'CANCELLED'
    if (!isEnded && (error.code !== 'CONNECTION_LOST' || isRead(request))) return error
    const isRepeatable = isRead(request) || ('writeId' in request && request.writeId !== undefined)
    if (isEnded && isRepeatable) return leftToOthers(OVER)
    const reason = isEnded ? OVER : error.message
    return new WarpdexError('INTERNAL', `${reason}; whether ${request.op} was carried out is not known`)
  }
}

/** Whether a request changes nothing, so that it may be given up, or made again. */
function isRead(request: Request): boolean {
  if ('handle' in request) return !WRITES.has(request.op)
  return request.op === 'query' ? request.keep === undefined : CONTROL_READS.has(request.op)
}

function boundsOf(call: Call): Bounds {
  const { request } = call
  const deadline = 'handle' in request ? (request.deadline ?? 0) : 0
  const end = new AbortController()
  call.onCancel = () => end.abort()
  if (call.givenUp) end.abort()
  const until = deadline === 0 ? Number.POSITIVE_INFINITY : performance.now() + deadline
  return { until, signal: end.signal }
}

function resultOf({ op, columns, fields, sections }: Reply): Result {
  return op === undefined ? { fields, sections: Object.fromEntries(sections) } : { columns }
}

function keyOf({ handle, generation }: IndexHandle): string {
  return `${handle} ${generation}`
}

function leftToOthers(reason: string): WarpdexError {
  return new WarpdexError('NOT_OWNER', `${reason}; connect to another node, or again`)
}
