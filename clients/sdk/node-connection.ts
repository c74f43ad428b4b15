import { type DataOp, isWait } from '../../protocol/data-request.js'
import { toWarpdexError, WarpdexError } from '../../protocol/errors.js'
import { encodeFrame, type Sections } from '../../protocol/frame.js'
import type { ControlOp, Op } from '../../protocol/messages.js'
import type { OpenedIndex, ReplyFields } from '../../protocol/replies.js'
import type { IndexDefinition } from '../../protocol/types.js'
import { type EncodedPart, writeByOne } from './atomic-write.js'
import {
  afterThis,
  type Bounds,
  type CallOptions,
  millisecondsLeft,
  UNBOUNDED,
  withinBounds,
} from './call-options.js'
import { type Connection, closedByUser, type Located, type RowPlace, takeVersion } from './connection.js'
import { type DataCall, encodeCall } from './data-call.js'
import { IndexOrder } from './index-order.js'
import { FIRST_ID, isFinal, type Link, openLink } from './link.js'
import { type ConnectOptions, DEFAULT_RECONNECT, type ReconnectOptions } from './options.js'
import type { Reply } from './reply.js'
import { type Call, SentCalls } from './sent-calls.js'

/** A request that is to be sent. */
interface Outgoing<O extends Op> {
  readonly op: O
  readonly encode: (id: number) => Uint8Array<ArrayBuffer>
  readonly isWait: boolean
}

const CONNECT_TIMEOUT_MS = 10_000
/** Another node of a replica set is soon there in the place of one that does not answer. */
const NODE_TIMEOUT_MS = 3000
/** How long it waits at most before it asks a replica set again that has no owner. */
const MOST_OWNERLESS_MS = 500
/** A read does no harm however often it is sent, but one that ends every connection must not go on for ever. */
const READ_SENDS = 4
/** How often other requests are sent. */
const SENDS: { readonly [O in Op]?: number } = {
  // Whether an index or a relation was there before cannot be known after a loss, so these are for the caller to repeat.
  createIndex: 1,
  dropIndex: 1,
  renameIndex: 1,
  swapIndexes: 1,
  createRelation: 1,
  dropRelation: 1,
  createRelationIndex: 1,
  backup: 1,
  // A result ends with the connection that it was asked for on.
  queryNext: 1,
  queryEnd: 1,
  // A write is sent again once, under the same write id, so that the server applies it once.
  insert: 2,
  delete: 2,
  deleteRange: 2,
  write: 2,
  load: 2,
  append: 2,
  changeRows: 2,
  // A feed goes on however often the connection is lost while it waits.
  watch: Number.POSITIVE_INFINITY,
  batch: 2,
}

/** Options of a connection to a replica set of a cluster. */
export interface NodeOptions extends ConnectOptions {
  /** Where its nodes are by now. */
  readonly find?: (() => Promise<readonly string[]>) | undefined
  /** Scopes the write ids and read versions; one of its own by default. */
  readonly client?: string | undefined
}

/** A connection to one server, or to a replica set: links one after the other, and the calls that outlive them. */
export class NodeConnection implements Connection {
  readonly closed: Promise<WarpdexError | undefined>
  /** One, or those of the nodes of a replica set. */
  #urls: readonly string[]
  #nextUrl = 0
  /** That of the last attempt. */
  #url = ''
  /** To be tried first: that of the owner. */
  #owner: string | undefined
  readonly #options: NodeOptions
  readonly #reconnect: ReconnectOptions
  readonly #client: string
  /** Over which calls are sent, while there is a connection. */
  #link: Link | undefined
  /** Calls that are sent, and those that wait behind them, in their order. */
  readonly #sent = new SentCalls()
  #waiting = new Map<number, Call>()
  /** Whether the server leaves calls to the owner of its replica set, so that nothing more is sent to it. */
  #isMoving = false
  /** Changes of the server in a row, none of which has answered any call. */
  #moves = 0
  readonly order = new IndexOrder()
  readonly onClosing = new Set<() => void>()
  /** Aborted when the client is to be closed: new calls are refused from then on. */
  readonly #closing = new AbortController()
  /** Calls that are under way, whether they have sent anything yet or not. */
  #tasks = 0
  /** Aborted when the client is closed for good: an attempt to connect that is under way ends. */
  readonly #finished = new AbortController()
  /** Resolves when nothing is under way, for whoever closes the client. */
  #idling: Promise<void> | undefined
  /** Called when there is less to wait for. */
  #onLess: (() => void) | undefined
  #onClosed: (reason: WarpdexError | undefined) => void = () => {}
  #end: WarpdexError | undefined
  /** The end of the last link. */
  #lost: Promise<unknown> | undefined
  #server: ReplyFields['hello'] | undefined
  #nextId = FIRST_ID
  #nextWriteId = 1

  /** @throws WarpdexError when the first attempt fails */
  static async open(urls: string | readonly string[], options: NodeOptions): Promise<NodeConnection> {
    const connection = new NodeConnection([urls].flat(), options)
    void connection.#stayConnected(await connection.#openLink(connection.#urls.length - 1))
    return connection
  }

  private constructor(urls: readonly string[], options: NodeOptions) {
    this.#urls = urls
    this.#options = options
    this.#client = options.client ?? randomName()
    this.#reconnect = { ...DEFAULT_RECONNECT, ...options.reconnect }
    this.closed = new Promise((resolve) => {
      this.#onClosed = resolve
    })
  }

  get server(): ReplyFields['hello'] {
    if (this.#server === undefined) throw new WarpdexError('CONNECTION_LOST', 'the server has not said hello')
    return this.#server
  }

  newWriteId(): number {
    return this.#nextWriteId++
  }

  newVersion(): number {
    return takeVersion()
  }

  async closeVersion(version: number): Promise<void> {
    await this.request('closeVersion', { version }, {}, UNBOUNDED).catch(() => {})
  }

  bounds(options: CallOptions, isUnderWay = false): Bounds {
    if (!isUnderWay && this.#closing.signal.aborted) throw this.#end ?? closedByUser()
    const { deadline = this.#options.deadline ?? Number.POSITIVE_INFINITY, signal } = options
    if (deadline === Number.POSITIVE_INFINITY && signal === undefined) return UNBOUNDED
    return { until: performance.now() + deadline, signal }
  }

  async during<T>(call: () => Promise<T>): Promise<T> {
    this.#tasks++
    try {
      return await call()
    } finally {
      this.#tasks--
      this.#onLess?.()
    }
  }

  request<O extends ControlOp>(
    op: O,
    fields: object,
    sections: Sections,
    bounds: Bounds,
    isAhead = false,
  ): Promise<Reply<O>> {
    const encode = (id: number) => encodeFrame({ id, op, ...fields }, sections)
    const index = !isAhead && 'index' in fields ? fields.index : undefined
    const outgoing = { op, encode, isWait: isWait({ op, ...fields }) }
    return this.#call(outgoing, bounds, typeof index === 'string' ? index : undefined)
  }

  /** Where it may connect to from now on, unless none are known. */
  learnAddresses(urls: readonly string[]): void {
    if (urls.length > 0) this.#urls = urls
  }

  /** A server alone has all keys. */
  placementFor(): Pick<IndexDefinition, 'placement'> {
    return {}
  }

  get home(): this {
    return this
  }

  get replicaSets(): readonly this[] {
    return [this]
  }

  async locate(calls: readonly DataCall[], index: OpenedIndex): Promise<readonly Located[]> {
    return [{ connection: this, index, calls: calls.map((call) => ({ call })) }]
  }

  async placeRows(): Promise<RowPlace> {
    return { connections: [this] }
  }

  writeBatch(parts: readonly EncodedPart[], bounds: Bounds, sent: () => void) {
    return writeByOne(this, parts, this.newWriteId(), bounds, sent)
  }

  requestData<O extends DataOp>(
    call: DataCall<O>,
    index: OpenedIndex,
    bounds: Bounds,
    onError: (error: unknown) => void,
    isAhead: boolean,
  ): Promise<Reply<O>> {
    const encode = (id: number) => encodeCall(call, id, index, millisecondsLeft(bounds))
    const outgoing = { op: call.op, encode, isWait: isWait(call) }
    return this.#call(outgoing, bounds, isAhead ? undefined : index.name, onError)
  }

  /** @param index whose turn it waits for */
  #call<O extends Op>(
    outgoing: Outgoing<O>,
    bounds: Bounds,
    index?: string,
    onError?: (error: unknown) => void,
  ): Promise<Reply<O>> {
    const turn = index === undefined ? undefined : this.order.turn(index)
    if (turn !== undefined) {
      const send = () => this.#call(outgoing, bounds, undefined, onError)
      return withinBounds<Reply<O>>(bounds, (resolve, reject) => void turn.then(send).then(resolve, reject))
    }
    const id = this.#nextId++
    const { op, encode, isWait } = outgoing
    return withinBounds<Reply<O>>(
      bounds,
      (resolve, reject) => {
        const fail = (error: unknown) => {
          onError?.(error)
          reject(error)
        }
        if (this.#end !== undefined) return fail(this.#end)
        // The server answers what it was asked.
        const answer = resolve as (reply: Reply) => void
        const sends = SENDS[op] ?? READ_SENDS
        const call = { id, frame: encode(id), isWait, sends, resolve: answer, reject: fail }
        if (this.#waiting.size > 0 || !this.#send(call)) this.#waiting.set(id, call)
      },
      () => this.#abandon(id),
    )
  }

  /** @returns false where a call has to wait: for a connection, or because the server has enough to do */
  #send(call: Call): boolean {
    if (this.#link === undefined || this.#isMoving || !this.#sent.hasRoomFor(call)) return false
    this.#sent.add(call)
    call.sends--
    this.#link.send(call.frame)
    return true
  }

  #sendWaiting(): void {
    if (this.#waiting.size === 0) return
    for (const call of this.#waiting.values()) {
      if (!this.#send(call)) return
      this.#waiting.delete(call.id)
    }
  }

  /** The connection is lost: all that were sent. */
  #takeAllSent(): Call[] {
    this.#link = undefined
    return this.#sent.takeAll()
  }

  /** A call is for another server, to which this goes over once the one that it has has answered the others. */
  #move(call: Call, error: WarpdexError): void {
    if (!this.#isMoving && this.#moves >= this.#reconnect.attempts) {
      call.reject(error)
      return
    }
    // It has done nothing.
    call.sends++
    this.#waiting.set(call.id, call)
    if (!this.#isMoving) this.#moves++
    this.#isMoving = true
    this.#owner = error.owner
  }

  async close(now: boolean): Promise<void> {
    this.#closing.abort()
    for (const end of this.onClosing) end()
    if (!now) {
      this.#idling ??= this.#idle()
      await this.#idling
    }
    this.#finish(closedByUser(), undefined)
    await this.#lost
  }

  /** Resolves when nothing is under way. */
  async #idle(): Promise<void> {
    for (;;) {
      // What follows from an answer is on its way by then.
      await new Promise<void>(afterThis)
      const isBusy = this.#sent.size > 0 || this.#waiting.size > 0 || this.order.gathers || this.#tasks > 0
      if (this.#end !== undefined || !isBusy) return
      await new Promise<void>((resolve) => {
        this.#onLess = resolve
      })
    }
  }

  #finish(reason: WarpdexError, cause: WarpdexError | undefined): void {
    if (this.#end !== undefined) return
    this.#end = reason
    this.#closing.abort()
    this.#finished.abort()
    this.#lost = this.#link?.lost
    this.#link?.close()
    const calls = [...this.#takeAllSent(), ...this.#waiting.values()]
    this.#waiting.clear()
    for (const call of calls) call.reject(reason)
    this.#onClosed(cause)
    this.#onLess?.()
  }

  #address(): string {
    const { length } = this.#urls
    // That of the last attempt is left out where there are others: it may be silent.
    if (this.#urls[this.#nextUrl % length] === this.#url) this.#nextUrl++
    const url = this.#owner ?? this.#urls[this.#nextUrl++ % length]!
    this.#url = url
    this.#owner = undefined
    const { reads, set } = this.#options
    const aims = [reads === 'any' && 'reads=any', set !== undefined && `set=${set}`].filter(Boolean).join('&')
    return aims === '' ? url : `${url}${url.includes('?') ? '&' : '?'}${aims}`
  }

  /** Whether another node may be the owner by now. */
  get #isOfReplicaSet(): boolean {
    return this.#urls.length > 1 || this.#options.set !== undefined || this.#moves > 0
  }

  /** @param others how many further addresses are tried, one after the other */
  async #openLink(others = 0): Promise<Link> {
    try {
      const link = await openLink({
        url: this.#address(),
        client: this.#client,
        token: this.#options.token,
        ca: this.#options.ca,
        timeout:
          this.#options.connectTimeout ?? (this.#isOfReplicaSet ? NODE_TIMEOUT_MS : CONNECT_TIMEOUT_MS),
        isDue: () => this.#sent.size > 0,
        signal: this.#finished.signal,
        onReply: this.#receive,
      })
      this.#server = link.server
      this.#link = link
      this.#isMoving = false
      return link
    } catch (error) {
      if (others === 0) throw error
      return this.#openLink(others - 1)
    }
  }

  async #stayConnected(first: Link): Promise<void> {
    let link = first
    for (;;) {
      const reason = await link.lost
      if (this.#end !== undefined) return
      this.#leaveWaiting(reason)
      this.#onLess?.()
      try {
        this.#options.onDisconnect?.(reason)
        link = await this.#comeBack(reason)
        this.#options.onReconnect?.()
      } catch (thrown) {
        const error = toWarpdexError(thrown)
        this.#finish(error, error)
        return
      }
      this.#sendWaiting()
    }
  }

  /** After the loss of the connection: calls that were sent wait again before all others, or fail if they may not. */
  #leaveWaiting(reason: WarpdexError): void {
    const sent = this.#takeAllSent()
    const again = sent.filter(({ sends }) => sends > 0).map((call) => [call.id, call] as const)
    this.#waiting = new Map([...again, ...this.#waiting].sort(([one], [other]) => one - other))
    for (const call of sent) if (call.sends === 0) call.reject(reason)
  }

  async #comeBack(reason: WarpdexError): Promise<Link> {
    const { attempts, firstDelay, maxDelay } = this.#reconnect
    const most = this.#isOfReplicaSet ? Math.min(maxDelay, MOST_OWNERLESS_MS) : maxDelay
    // Whoever closes the client waits for an owner.
    const { signal } = this.#moves > 0 ? this.#finished : this.#closing
    let failure = reason
    for (let attempt = 0; attempt < attempts; attempt++) {
      const delay = Math.min(most, firstDelay * 2 ** (attempt + this.#moves))
      // Half of the delay is left to chance, so that the clients of a restarted server do not all come at once.
      const deadline = delay * (0.5 + Math.random() / 2)
      const pause = this.bounds({ deadline, signal }, true)
      await withinBounds(pause, () => {}).catch(() => {})
      if (this.#end !== undefined) throw this.#end
      if (this.#owner === undefined) this.learnAddresses((await this.#options.find?.()) ?? [])
      try {
        const link = await this.#openLink()
        if (this.#end === undefined) return link
        link.close()
        throw this.#end
      } catch (thrown) {
        failure = toWarpdexError(thrown)
        // Whoever closes the client does not wait for a server that is gone.
        if (isFinal(failure) || this.#closing.signal.aborted) break
      }
    }
    throw failure
  }

  #receive = (reply: Reply): void => {
    const call = reply.id === null ? undefined : this.#sent.take(reply.id)
    // Replies to abandoned calls, and to the cancel requests that followed them, have no call.
    if (call === undefined) return
    if (reply.error?.code === 'NOT_OWNER') this.#move(call, reply.error)
    else {
      this.#moves = 0
      if (reply.error === undefined) call.resolve(reply)
      else call.reject(reply.error)
    }
    this.#goOn()
  }

  #abandon(id: number): void {
    if (this.#sent.take(id) === undefined) this.#waiting.delete(id)
    else this.#link?.send(encodeFrame({ id: this.#nextId++, op: 'cancel', target: id }))
    this.#goOn()
  }

  /** A call is answered, or nobody waits for it any more. */
  #goOn(): void {
    if (this.#isMoving && this.#sent.isIdle) this.#link?.close()
    this.#sendWaiting()
    this.#onLess?.()
  }
}

/** 128 random bits. Not `crypto.randomUUID`, which pages that came over plain HTTP do not have. */
export function randomName(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}
