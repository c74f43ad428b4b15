import { WarpdexError } from '../../protocol/errors.js'
import type { Sections } from '../../protocol/frame.js'
import type { Op } from '../../protocol/messages.js'
import type { IndexStats } from '../../protocol/replies.js'
import type { IndexDefinition } from '../../protocol/types.js'
import type { Connection, Reply } from './connection.js'
import { type Bounds, toBounds } from './options.js'
import { RememberedAnswer } from './remembered-answer.js'

/** What a server may answer to keys of another type: those of variable length differ only in their bytes. */
const DEFINITION_ERRORS: readonly string[] = ['UNKNOWN_INDEX', 'WRONG_KEY_TYPE', 'BAD_REQUEST']

/** The requests of a client to one index, and what it knows of it. */
export class IndexCalls {
  readonly name: string
  readonly connection: Connection
  /** Calls wait for it before they are sent, and go on in their order. */
  readonly definition = new RememberedAnswer<IndexDefinition>(() => this.stats(toBounds({})))

  /** The index may have been dropped, and made anew as another. */
  readonly #onError = (error: unknown): void => {
    if (error instanceof WarpdexError && DEFINITION_ERRORS.includes(error.code)) this.definition.forget()
  }

  constructor(connection: Connection, name: string) {
    this.connection = connection
    this.name = name
  }

  /** Sends a request after those that were made before. */
  request<O extends Op>(op: O, fields: object, sections: Sections, bounds: Bounds): Promise<Reply<O>> {
    return this.connection.request(op, { index: this.name, ...fields }, sections, bounds, this.#onError)
  }

  /** Sends a piece of a batch, ahead of what waits for the batch. */
  requestAhead<O extends Op>(op: O, fields: object, sections: Sections, bounds: Bounds): Promise<Reply<O>> {
    return this.connection.requestAhead(op, { index: this.name, ...fields }, sections, bounds, this.#onError)
  }

  async stats(bounds: Bounds): Promise<IndexStats> {
    const { fields } = await this.request('stats', {}, {}, bounds)
    return fields.indexes[0]
  }

  /** What calls wait for before they are sent, if for anything: who waits for it too comes after them. */
  turn(bounds: Bounds): Promise<unknown> | undefined {
    return this.definition.isAwaited ? this.definition.get(bounds) : undefined
  }
}
