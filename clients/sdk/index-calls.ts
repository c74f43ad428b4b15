import { WarpdexError } from '../../protocol/errors.js'
import type { Sections } from '../../protocol/frame.js'
import type { Op } from '../../protocol/messages.js'
import type { IndexStats } from '../../protocol/replies.js'
import type { IndexDefinition } from '../../protocol/types.js'
import type { Connection, Reply } from './connection.js'
import { type Bounds, toBounds } from './options.js'
import { RememberedAnswer } from './remembered-answer.js'

/** What an index is, and which of those that had its name. */
export type KnownIndex = IndexDefinition & Pick<IndexStats, 'generation'>

/**
 * The requests of a client to one index, and what it knows of it. Each says by which generation of the index its keys were encoded and its
 * reply is going to be read, and the server refuses it for another.
 */
export class IndexCalls {
  readonly name: string
  readonly connection: Connection
  /** Calls wait for it before they are sent, and go on in their order. */
  readonly definition = new RememberedAnswer<KnownIndex>(() => this.#know())
  /** By the errors of requests that were refused: what the index is now. */
  readonly #successors = new WeakMap<object, Promise<KnownIndex>>()

  constructor(connection: Connection, name: string) {
    this.connection = connection
    this.name = name
  }

  /**
   * Sends a request, after those that were made before.
   * @param way `requestAhead` for a piece of a batch, ahead of what waits for the batch
   */
  request<O extends Op>(
    op: O,
    known: KnownIndex,
    fields: object,
    sections: Sections,
    bounds: Bounds,
    way: 'request' | 'requestAhead' = 'request',
  ): Promise<Reply<O>> {
    const named = { index: this.name, generation: known.generation, ...fields }
    return this.connection[way](op, named, sections, bounds, (error) => this.#failed(error, known, bounds))
  }

  /**
   * Makes a call by what the index is known to be and, where that is no more, again by what it is now.
   * @throws WarpdexError also `INDEX_CHANGED` where it has other types now
   */
  async run<T>(known: KnownIndex, call: (known: KnownIndex) => Promise<T>): Promise<T> {
    try {
      return await call(known)
    } catch (error) {
      return this.again(error, known, call)
    }
  }

  /** As `run`, of a call that has failed. */
  async again<T>(error: unknown, known: KnownIndex, call: (known: KnownIndex) => Promise<T>): Promise<T> {
    const now = await this.#successor(error)
    if (!sameTypes(known, now)) throw changed(known, now)
    return this.run(now, call)
  }

  /**
   * Makes what goes on with an earlier request, and has no meaning for another index.
   * @throws WarpdexError also `INDEX_CHANGED` where the index is another one now
   */
  async goOn<T>(known: KnownIndex, part: () => Promise<T>): Promise<T> {
    try {
      return await part()
    } catch (error) {
      throw changed(known, await this.#successor(error), '; what was begun does not go on in it')
    }
  }

  /**
   * What the index is now, for a call of several requests.
   * @throws WarpdexError also `INDEX_CHANGED` where it has other types than it was known to have
   */
  async latest(bounds: Bounds): Promise<KnownIndex> {
    const { known } = this.definition
    this.definition.forget(known)
    const now = await this.definition.get(bounds)
    if (known !== undefined && !sameTypes(known, now)) throw changed(known, now)
    return now
  }

  async stats(bounds: Bounds): Promise<IndexStats> {
    return (await this.connection.request('stats', { index: this.name }, {}, bounds)).fields.indexes[0]
  }

  /** What calls wait for before they are sent, if for anything: who waits for it too comes after them. */
  turn(bounds: Bounds): Promise<unknown> | undefined {
    return this.definition.isAwaited ? this.definition.get(bounds) : undefined
  }

  /** Asked for ahead of what waits for a batch, which may have to wait for it. */
  async #know(): Promise<KnownIndex> {
    const reply = await this.connection.requestAhead('stats', { index: this.name }, {}, toBounds({}))
    return reply.fields.indexes[0]
  }

  /** Called as soon as a request has failed: those that are refused together are made again in their order. */
  #failed(error: unknown, known: KnownIndex, bounds: Bounds): void {
    if (!(error instanceof WarpdexError)) return
    if (error.code !== 'UNKNOWN_INDEX' && error.code !== 'INDEX_CHANGED') return
    this.definition.forget(known)
    if (error.code === 'UNKNOWN_INDEX') return
    const successor = this.definition.get(bounds)
    // Whoever made the request is told.
    successor.catch(() => {})
    this.#successors.set(error, successor)
  }

  /** @throws the error, where it is not for what the index is */
  #successor(error: unknown): Promise<KnownIndex> {
    const successor = error instanceof WarpdexError ? this.#successors.get(error) : undefined
    if (successor === undefined) throw error
    return successor
  }
}

function sameTypes(known: KnownIndex, now: KnownIndex): boolean {
  return now.keyType === known.keyType && now.payloadKind === known.payloadKind
}

function changed(known: KnownIndex, now: KnownIndex, consequence = ''): WarpdexError {
  const name = JSON.stringify(known.name)
  return new WarpdexError(
    'INDEX_CHANGED',
    `index ${name} was dropped and made anew: it had ${typesOf(known)}, and has ${typesOf(now)} now${consequence}`,
  )
}

function typesOf({ keyType, payloadKind }: IndexDefinition): string {
  return `${keyType} keys and ${payloadKind} payloads`
}
