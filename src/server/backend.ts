import type { WireColumns } from '../../protocol/data-request.js'
import type { Sections } from '../../protocol/frame.js'
import type { Request } from '../../protocol/messages.js'
import type { AdapterInfo } from '../../protocol/replies.js'
import type { Reader } from '../engine/index-requests.js'
import type { Answer, SiteRequest } from '../http/answer.js'

/** An HTTP request, be it for a WebSocket or not: plain data, which can go to another thread. */
export interface Visit extends SiteRequest {
  /** Of whoever asks; undefined for one that is gone, or that came by a Unix socket. */
  readonly address: string | undefined
}

/** What a server says of itself to whoever is let in. */
export interface Introduction {
  readonly adapter: AdapterInfo
  /** Replica sets of its cluster, where there are several. */
  readonly sets?: number | undefined
}

/** HTTP status for a WebSocket that is not let in. */
export type Refusal = 401 | 403 | 503

/** The number of a connection that may be opened, whose it is (all of that name may do the same), and what it is told. */
export interface Admitted {
  readonly connection: number
  readonly who: string
  /** Name of its token; absent where the server has none. */
  readonly token?: string | undefined
  /** Whether its requests are carried out elsewhere, so that handles are not those of this server. */
  readonly isForwarded?: boolean | undefined
  readonly introduction: Introduction
}

/** That a connection may be opened, or why it may not, or where to go instead. */
export type Admission =
  | (Admitted & { readonly status?: undefined })
  | { readonly status: Refusal; readonly connection?: undefined }
  | { readonly status: 307; readonly location: string; readonly connection?: undefined }

/** A request, whose it is, and whether somebody still waits for the reply: if not, it is dropped if its turn has not come. */
export class Call implements Reader {
  readonly request: Request
  /** The frame that the request was read from; the request's columns are views of it. */
  readonly frame: Uint8Array
  /** Number of the connection that it came by. */
  readonly owner: number
  /** The client's name, known after hello: write ids are its own. */
  readonly client: string | undefined
  /** Called once, when whoever asked gives up. */
  onCancel: (() => void) | undefined
  /** When nobody waits any more, as `performance.now()` counts. */
  readonly #until: number
  #givenUp = false
  /** When its turn came, likewise. */
  #turn: number | undefined

  constructor(request: Request, frame: Uint8Array, owner: number, client: string | undefined) {
    this.request = request
    this.frame = frame
    this.owner = owner
    this.client = client
    const deadline = 'handle' in request ? (request.deadline ?? 0) : 0
    this.#until = deadline === 0 ? Number.POSITIVE_INFINITY : performance.now() + deadline
  }

  get cancelled(): boolean {
    return this.#givenUp || performance.now() > this.#until
  }

  /** Whether whoever asked gave up, which a deadline that passes does not mean. */
  get givenUp(): boolean {
    return this.#givenUp
  }

  get expired(): boolean {
    return performance.now() > this.#until
  }

  turnCame(): void {
    this.#turn = performance.now()
  }

  /** Milliseconds since its turn came, if it has. */
  get running(): number | undefined {
    return this.#turn === undefined ? undefined : performance.now() - this.#turn
  }

  cancel(): void {
    if (this.#givenUp) return
    this.#givenUp = true
    this.onCancel?.()
  }
}

/** What a request is answered with: the columns of a data frame, or the fields and sections of a control frame. */
export type Result = { readonly columns: WireColumns; readonly fields?: undefined } | FieldsResult

export interface FieldsResult {
  readonly fields: object
  readonly sections?: Sections | undefined
  readonly columns?: undefined
}

/** The answer to a call. */
export interface Reply {
  readonly result: Result
  /** Memory of columns, which is used again: to be released once the reply has left, or never will. */
  readonly memory?: { release(): void } | undefined
  /** Milliseconds from the call's turn to its result, if it had a turn. */
  readonly running?: number | undefined
}

/** What a listener hands everything to: the engine and all that surrounds it, in this thread or in another. */
export interface Backend {
  /** Known once a connection is admitted. */
  readonly introduction: Introduction
  /** Decides about a WebSocket, before anything that it sends is read. Never fails. */
  admit(visit: Visit): Promise<Admission>
  /** A connection that was admitted is over. */
  left(connection: number): void
  /** Carries a request out. Those of one connection take effect in the order of the calls. @throws WarpdexError */
  call(call: Call): Promise<Reply>
  /** Answers what is no WebSocket. Never fails. */
  visit(visit: Visit): Promise<Answer>
}
