import type { DataOp, IndexHandle } from '../../protocol/data-request.js'
import { type ErrorCode, WarpdexError } from '../../protocol/errors.js'
import type { OpenedIndex } from '../../protocol/replies.js'
import type { IndexDefinition } from '../../protocol/types.js'
import { type Bounds, type CallOptions, checkOptions, type Kinds, UNBOUNDED } from './call-options.js'
import type { Connection } from './connection.js'
import { askInParts, type DataCall } from './data-call.js'
import { RememberedAnswer } from './remembered-answer.js'
import type { Part, Reply } from './reply.js'
import { SharedCalls } from './shared-calls.js'

/** What an index is, and which of those that have had its name. */
export type KnownIndex = OpenedIndex

/**
 * The requests of a client to one index, and what it knows of it. Each names the index by the handle and generation by which its keys were
 * encoded and its reply is going to be read, and the server refuses it where the name has come to mean another.
 */
export class IndexCalls {
  readonly name: string
  readonly connection: Connection
  /** Single calls of a turn. */
  readonly shared: SharedCalls
  /** Calls wait for it before they are sent, and go on in their order. */
  readonly definition = new RememberedAnswer<KnownIndex>(() => this.#open())
  /** By the errors of requests that were refused: what the index is now. */
  readonly #successors = new WeakMap<object, Promise<KnownIndex>>()

  constructor(connection: Connection, name: string) {
    this.connection = connection
    this.name = name
    this.shared = new SharedCalls(connection, name)
  }

  /**
   * Begins a call, at once where it is known what the index is.
   * @param what the method's name
   */
  begin<O extends CallOptions, T>(
    what: string,
    options: O,
    kinds: Kinds<O>,
    call: (known: KnownIndex, bounds: Bounds) => Promise<T>,
  ): Promise<T> {
    try {
      checkOptions(options, kinds, what)
      const bounds = this.connection.bounds(options)
      const { known } = this.definition
      if (known !== undefined) return call(known, bounds)
      return this.definition.get(bounds).then((known) => call(known, bounds))
    } catch (error) {
      return Promise.reject(error)
    }
  }

  /**
   * Asks for what a call reads, in as many requests as it takes.
   * @param join makes one answer of the replies, which are of the index that it is given
   */
  ask<T>(
    known: KnownIndex,
    call: DataCall,
    bounds: Bounds,
    join: (parts: readonly Part[], of: KnownIndex) => T,
  ): Promise<T> {
    const ask = (of: KnownIndex) =>
      askInParts(
        call,
        (part) => this.request(of, part, bounds),
        (parts) => join(parts, of),
      )
    const { sequences, tokens } = call.columns
    // Places within a key, or between entries, are those of one index.
    const goesOn = sequences !== undefined || tokens !== undefined
    return goesOn ? this.goOn(known, () => ask(known)) : this.run(known, ask)
  }

  /**
   * Sends a request, after those that were made before.
   * @param isAhead for a piece of a batch, which goes ahead of what waits for the batch
   */
  request<O extends DataOp>(
    known: KnownIndex,
    call: DataCall<O>,
    bounds: Bounds,
    isAhead = false,
  ): Promise<Reply<O>> {
    const onError = (error: unknown) => this.#failed(error, known, bounds)
    return this.connection.requestData(call, known, bounds, onError, isAhead)
  }

  /**
   * Makes a call by what the index is known to be and, where that is no more, again by what it is now.
   * @throws WarpdexError also `INDEX_CHANGED` where it has other types now
   */
  run<T>(known: KnownIndex, call: (known: KnownIndex) => Promise<T>): Promise<T> {
    return call(known).catch(async (error) => {
      const now = await this.#successor(error, known)
      if (!sameTypes(known, now)) throw changed(known, now)
      return this.run(now, call)
    })
  }

  /**
   * Makes what goes on with an earlier request, and has no meaning for another index.
   * @throws WarpdexError also `INDEX_CHANGED` where the index is another one now
   */
  goOn<T>(known: KnownIndex, part: () => Promise<T>): Promise<T> {
    return part().catch(async (error) => {
      throw changed(known, await this.#successor(error, known), '; what was begun does not go on in it')
    })
  }

  /**
   * What the index is now, for a call of several requests.
   * @throws WarpdexError also `INDEX_CHANGED` where it has other types than it was known to have
   */
  async latest(bounds: Bounds): Promise<KnownIndex> {
    const { known } = this.definition
    this.definition.forget()
    const now = await this.definition.get(bounds)
    if (known !== undefined && !sameTypes(known, now)) throw changed(known, now)
    return now
  }

  /** What calls wait for before they are sent, if for anything: who waits for it too comes after them. */
  turn(bounds: Bounds): Promise<unknown> | undefined {
    return this.definition.isAwaited ? this.definition.get(bounds) : undefined
  }

  /** Asked for ahead of what waits for a batch, which may have to wait for it. */
  async #open(): Promise<KnownIndex> {
    return (await this.connection.request('open', { index: this.name }, {}, UNBOUNDED, true)).fields
  }

  /** Called as soon as a request has failed: those that are refused together are made again in their order. */
  #failed(error: unknown, known: KnownIndex, bounds: Bounds): void {
    if (!(error instanceof WarpdexError) || !REOPENING.includes(error.code)) return
    this.definition.forget((answer) => isSame(answer, known))
    const successor = this.definition.get(bounds)
    // Whoever made the request is told.
    successor.catch(() => {})
    this.#successors.set(error, successor)
  }

  /** @throws the error, where it is not for what the index is */
  async #successor(error: unknown, known: KnownIndex): Promise<KnownIndex> {
    const successor = error instanceof WarpdexError ? await this.#successors.get(error) : undefined
    if (successor === undefined || isSame(successor, known)) throw error
    return successor
  }
}

/**
 * After these the index is opened anew: a handle means nothing once its index is dropped, and who may not see all names is not told whether
 * it does.
 */
export const REOPENING: readonly ErrorCode[] = ['INDEX_CHANGED', 'UNKNOWN_INDEX', 'UNAUTHORISED']

/** Whether one index is meant, under one name. */
export function isSame(one: IndexHandle, other: IndexHandle): boolean {
  return one.handle === other.handle && one.generation === other.generation
}

function sameTypes(known: KnownIndex, now: KnownIndex): boolean {
  return now.keyType === known.keyType && now.payloadKind === known.payloadKind
}

function changed(known: KnownIndex, now: KnownIndex, consequence = ''): WarpdexError {
  const name = JSON.stringify(known.name)
  return new WarpdexError(
    'INDEX_CHANGED',
    `index ${name} is another one than before: it had ${typesOf(known)}, and has ${typesOf(now)} now${consequence}`,
  )
}

function typesOf({ keyType, payloadKind }: IndexDefinition): string {
  return `${keyType} keys and ${payloadKind} payloads`
}
