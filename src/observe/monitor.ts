import type { WarpdexError } from '../../protocol/errors.js'
import type { AnsweredRequest, RequestObserver } from './answered-request.js'
import { History } from './history.js'
import type { Log } from './log.js'
import { Meters } from './meters.js'
import { SlowLog } from './slow-log.js'
import { registeredTracer, traceRequest } from './traces.js'

/** Something that went wrong without a request to answer. */
export interface Notice {
  /** Milliseconds since 1970. */
  readonly at: number
  readonly message: string
}

/** Warnings that are remembered for who looks later. */
const NOTICES = 50

/** At most one line of a kind in this time: whoever is refused may try again at once. */
const REFUSAL_PAUSE_MS = 1000

/** What a server sees of itself: counters, their history, what went wrong, and lines in the log where that is worth one. */
export class Monitor implements RequestObserver {
  readonly log: Log
  readonly meters: Meters
  readonly history: History
  readonly slowLog: SlowLog
  /** Decided once: without one nobody describes a request that is not slow. */
  readonly #tracer = registeredTracer()
  /** The name of the index with a handle, where there is one; set by whoever knows. */
  nameOf: (handle: number) => string | undefined = () => undefined
  readonly #notices: Notice[] = []
  #refusedAt = Number.NEGATIVE_INFINITY
  #unsaidRefusals = 0

  /** @param slowMilliseconds from which on requests are kept as slow; 0 keeps none */
  constructor(log: Log, slowMilliseconds = 0) {
    this.log = log
    this.slowLog = new SlowLog(slowMilliseconds)
    this.meters = new Meters((error) => this.failed(error))
    this.history = new History(this.meters)
  }

  /** The latest warnings, the newest last. */
  get notices(): readonly Notice[] {
    return this.#notices
  }

  /** Traces have every request. */
  get threshold(): number {
    return this.#tracer === undefined ? this.slowLog.threshold : -1
  }

  answered({ handles, names, ...described }: AnsweredRequest): void {
    const indexes = handles.map((handle) => this.nameOf(handle) ?? `index with handle ${handle}`)
    const request = { ...described, names: [...names, ...indexes] }
    this.slowLog.add(request)
    if (this.#tracer !== undefined) traceRequest(this.#tracer, request)
  }

  /** @param fields of the line in the log */
  warn(message: string, fields: object = {}): void {
    this.#notices.push({ at: Date.now(), message })
    if (this.#notices.length > NOTICES) this.#notices.shift()
    this.log.warn(fields, message)
  }

  /** A WebSocket was not let in. */
  refused(status: number, address: string | undefined): void {
    this.meters.connectionsRefused++
    const now = performance.now()
    if (now - this.#refusedAt < REFUSAL_PAUSE_MS) {
      this.#unsaidRefusals++
      return
    }
    this.log.warn({ status, address, others: this.#unsaidRefusals }, 'a WebSocket was refused')
    this.#refusedAt = now
    this.#unsaidRefusals = 0
  }

  /** A client that does not read its replies is sent away. */
  slowConsumer(queuedBytes: number): void {
    this.meters.slowConsumers++
    this.log.warn({ queuedBytes }, 'a connection was closed, because its replies were not read')
  }

  stop(): void {
    this.history.stop()
  }

  /** A mistake of the server's own, or of the disk: with the place where it came up. */
  failed({ message, stack, cause }: WarpdexError): void {
    this.log.error({ stack: cause instanceof Error ? cause.stack : stack }, `a request failed: ${message}`)
  }
}
