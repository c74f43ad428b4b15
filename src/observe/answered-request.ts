import type { IndexHandle } from '../../protocol/data-request.js'
import type { SlowRequest } from '../../protocol/slow-request.js'

/** Who made a request. */
export interface Asker {
  /** Name of its token; absent where the server has none. */
  readonly token?: string | undefined
  /** Absent for a Unix socket. */
  readonly address?: string | undefined
}

/** A request that was answered, for the slow log and for traces: plain data, which can go to another thread. */
export interface AnsweredRequest extends Omit<SlowRequest, 'number'>, Asker {
  /** Of indexes that it means, of which only the engine knows the names. */
  readonly handles: readonly IndexHandle['handle'][]
}

/** Where requests are described to, and which. */
export interface RequestObserver {
  /** Those that take longer are, in milliseconds; none where it is infinite. */
  readonly threshold: number
  answered(request: AnsweredRequest): void
}
