import type { WarpdexError } from '../../protocol/errors.js'
import type { Request } from '../../protocol/messages.js'

/**
 * What happens beside requests and is worth counting; a compaction goes on between writes, a merge in the background, and an expiry is that
 * of a query's kept result.
 */
export const ENGINE_EVENTS = [
  'compaction',
  'merge',
  'snapshot',
  'pageOut',
  'pageIn',
  'deviceLoss',
  'expiry',
] as const
export type EngineEvent = (typeof ENGINE_EVENTS)[number]

/**
 * What the engine tells of its work, in the thread that runs it. All calls come on the serving path, once for a request, a dispatch
 * or a batch and never for a key; whoever listens must be quick. Times are in milliseconds.
 */
export interface EngineMeter {
  /** A request's turn in its index's queue came. */
  waited(milliseconds: number): void
  /** Small gets went to the device together, the first of them after that time; one may be alone. */
  dispatched(gets: number, milliseconds: number): void
  /** The device answered a call. */
  computed(milliseconds: number): void
  /** Writes that went together were synced. */
  logged(writes: number, bytes: number, milliseconds: number): void
  happened(event: EngineEvent): void
}

/** The course of one request; its methods are called in this order, the first two only if it comes to that. */
export interface RequestMeter {
  /** @param milliseconds that the reading took */
  decoded(request: Request, milliseconds: number): void
  /** @param items keys or ranges that were asked for, or rows that were sent */
  ran(items: number): void
  /** @param bytes of the reply */
  answered(error: WarpdexError | undefined, bytes: number): void
}

/** What tells of messages and of clients, where the sockets are. */
export interface ServerMeter {
  /** A client that does not read its replies is sent away. */
  slowConsumer(queuedBytes: number): void
  /** A message came. */
  received(bytes: number): RequestMeter
}
