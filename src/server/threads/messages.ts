import type { ErrorCode } from '../../../protocol/errors.js'
import type { Sections } from '../../../protocol/frame.js'
import type { MeterCounts } from '../../observe/meters.js'
import type { Rule } from '../access/rights.js'
import type { FlowLimits } from '../flow/flow-limits.js'
import type { EngineGate } from '../gate/engine-gate.js'
import type { EngineRequest } from '../operations.js'

/** What a thread for sockets is told at its start. */
export interface SocketThreadData {
  /** What bounds the connections of this thread. */
  readonly limits: FlowLimits
  /** Where it says what its connections take; see `ThreadLoad`. */
  readonly load: SharedArrayBuffer
  readonly adapter: EngineGate['adapter']
}

/** What is asked of the engine; see `Question`. */
export interface Asked {
  readonly request: EngineRequest
  readonly client?: string | undefined
  readonly connection?: number | undefined
}

/** What threads for sockets say to the engine's. Questions are numbered by the thread that asks. */
export type ToEngine =
  /** It takes connections now. */
  | { readonly kind: 'ready' }
  | ({ readonly kind: 'ask'; readonly question: number } & Asked)
  | { readonly kind: 'cancel'; readonly question: number }
  /** The reply to a question has left: its memory may be used again. */
  | { readonly kind: 'left'; readonly question: number }
  | { readonly kind: 'closed'; readonly connection: number }
  /** All that was said before the question of that number is done. */
  | { readonly kind: 'caughtUp'; readonly number: number }
  /** It ends by a fault of its own, after it has closed its connections. */
  | { readonly kind: 'failed'; readonly message: string; readonly stack: string | undefined }
  /** What was counted of requests since the last time. */
  | { readonly kind: 'counted'; readonly counts: MeterCounts }
  /** A client that does not read its replies is sent away. */
  | { readonly kind: 'slowConsumer'; readonly queuedBytes: number }

/** What the engine's thread says to those for sockets. */
export type ToSockets =
  | {
      readonly kind: 'answer'
      readonly question: number
      readonly fields: object
      readonly sections: Sections | undefined
      /** Whether the columns lie in memory that is lent until the reply has left. */
      readonly lent: boolean
    }
  | {
      readonly kind: 'refusal'
      readonly question: number
      readonly code: ErrorCode
      readonly message: string
    }
  | {
      readonly kind: 'adopt'
      readonly connection: number
      /** How messages name who it is, and what it may do. */
      readonly who: string
      readonly rules: readonly Rule[]
      /** File descriptor of a socket that is a WebSocket already, between two messages. */
      readonly descriptor: number
      /** The client's name, if it has said one. */
      readonly client: string | undefined
      /** What was read of the messages that come next. */
      readonly head: Uint8Array
    }
  /** What a connection may do from now on. */
  | { readonly kind: 'rights'; readonly connection: number; readonly rules: readonly Rule[] }
  | { readonly kind: 'close'; readonly connection: number }
  /** Something that it has said is lost, so that nobody knows any more what holds: it is to fail. */
  | { readonly kind: 'fail'; readonly message: string }
  /** Asks to be told when all that was said before is done. */
  | { readonly kind: 'catchUp'; readonly number: number }
