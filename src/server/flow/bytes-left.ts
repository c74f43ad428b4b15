import type { Duplex } from 'node:stream'

/** What node keeps of a stream of the system. */
interface Handle {
  readonly bytesWritten?: number
  /** Bytes of these that the system has not taken yet. */
  readonly writeQueueSize?: number
  /** Of TLS, the one below it. */
  readonly _parent?: Handle
}

/**
 * Bytes that the system has ever taken of what was written to a stream: a reply of many megabytes leaves bit by bit, of which node tells
 * nothing in public before its end.
 *
 * @returns undefined where it is not known
 */
export function bytesLeft(stream: Duplex): number | undefined {
  const { _handle: handle } = stream as Duplex & { readonly _handle?: Handle | null }
  const { bytesWritten, writeQueueSize } = handle?._parent ?? handle ?? {}
  return bytesWritten === undefined || writeQueueSize === undefined
    ? undefined
    : bytesWritten - writeQueueSize
}
