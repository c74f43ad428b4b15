import type { Rights } from '../access/rights.js'
import type { Reply } from '../asker.js'
import type { EngineRequest } from '../operations.js'

/** A request's sign that nobody waits for its answer any more. */
export class CancelSign {
  #cancelled = false
  /** Called once when it is given. */
  onCancel: (() => void) | undefined

  get cancelled(): boolean {
    return this.#cancelled
  }

  cancel(): void {
    if (this.#cancelled) return
    this.#cancelled = true
    this.onCancel?.()
  }
}

/** A request, who asks, and what may be done with its memory. */
export interface Question {
  readonly request: EngineRequest
  /** The client's name, known after hello: write ids are its own. */
  readonly client: string | undefined
  /** What whoever asks may see. */
  readonly rights: Rights
  readonly sign: CancelSign
  /** Number of the connection that it came from; undefined for what came from several. */
  readonly connection: number | undefined
  /** Whether the memory that the request's columns lie in holds nothing else, so that another thread may take it over. */
  readonly ownsMemory: boolean
}

/** An answer. */
export interface Answered extends Reply {
  /** To be called once the reply has left, or never will: its columns' memory is used again. */
  readonly release?: (() => void) | undefined
}

/** The way to the engine: in the same thread, or from a thread for sockets to the engine's. */
export interface EngineGate {
  /** What the engine computes on. */
  readonly adapter: { readonly name: string; readonly software: boolean }
  /** Hands a request over. Those of one connection take effect in the order of the calls. */
  ask(question: Question): Promise<Answered>
  /** A connection is over: nobody goes on with what it began. */
  left(connection: number): void
}
