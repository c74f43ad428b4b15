import type { ErrorCode } from '../../../protocol/errors.js'
import type { Answer } from '../../http/answer.js'
import type { AnsweredRequest } from '../../observe/answered-request.js'
import type { ClientFacts } from '../../observe/client-facts.js'
import type { MeterCounts } from '../../observe/meters.js'
import type { Admission, Result, Visit } from '../backend.js'
import type { Load } from '../backpressure/backpressure.js'
import type { BackpressureLimits } from '../backpressure/backpressure-limits.js'
import type { ListenerOptions } from '../listener.js'

/** What a thread that listens is told at its start. */
export interface ListenerThreadData {
  readonly listener: ListenerOptions
  /** What bounds the connections of this thread. */
  readonly limits: BackpressureLimits
  /** Requests that take longer are described to the engine's thread, in milliseconds. */
  readonly threshold: number
}

/** What threads that listen say to the engine's. Calls, visits and the like are numbered by the thread that asks. */
export type ToEngine =
  /** It listens, on this port. */
  | { readonly kind: 'listening'; readonly port: number }
  | { readonly kind: 'refused'; readonly code: ErrorCode; readonly message: string }
  | { readonly kind: 'admit'; readonly number: number; readonly visit: Visit }
  | { readonly kind: 'visit'; readonly number: number; readonly visit: Visit }
  | {
      readonly kind: 'call'
      readonly number: number
      readonly connection: number
      readonly client: string | undefined
      /** Of a request that the thread has read already, so that it is right. */
      readonly frame: Uint8Array
      /** CRC-32 of the columns of a write. */
      readonly checksums?:
        | { readonly keys?: number | undefined; readonly payloads?: number | undefined }
        | undefined
    }
  | { readonly kind: 'cancel'; readonly number: number }
  /** The reply to a call has left: its memory may be used again. */
  | { readonly kind: 'release'; readonly number: number }
  | { readonly kind: 'left'; readonly connection: number }
  /** What its connections take, and what was counted of requests since the last time. */
  | { readonly kind: 'load'; readonly load: Load; readonly counts: MeterCounts | undefined }
  /** A client that does not read its replies is sent away. */
  | { readonly kind: 'slowConsumer'; readonly queuedBytes: number }
  | { readonly kind: 'clients'; readonly clients: readonly ClientFacts[] }
  | { readonly kind: 'answered'; readonly request: AnsweredRequest }
  /** It ends by a fault of its own, after it has closed its connections. */
  | { readonly kind: 'failed'; readonly message: string; readonly stack: string | undefined }

/** What the engine's thread says to those that listen. */
export type ToListener =
  /** To what was to be admitted, or to a visit. */
  | { readonly kind: 'answer'; readonly number: number; readonly answer: Admission | Answer }
  | {
      readonly kind: 'reply'
      readonly number: number
      readonly result: Result
      /** Whether columns lie in memory that is lent until the reply has left. */
      readonly lent: boolean
      readonly running?: number | undefined
    }
  | {
      readonly kind: 'refusal'
      readonly number: number
      readonly code: ErrorCode
      readonly message: string
      readonly item: number | undefined
      readonly owner: string | undefined
    }
  /** It is to tell who its clients are. */
  | { readonly kind: 'clients' }
  /** Another certificate for connections from now on. */
  | { readonly kind: 'renew'; readonly cert: Uint8Array; readonly key: Uint8Array }
  /** It is to see its clients out once their requests are answered, and to end. */
  | { readonly kind: 'close' }
  /** Something that it has said is lost, so that nobody knows any more what holds: it is to fail. */
  | { readonly kind: 'fail'; readonly message: string }
