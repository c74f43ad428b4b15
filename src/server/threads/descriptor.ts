import { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import koffi from 'koffi'

type Dup = (descriptor: number) => number

let dup: Dup | undefined

/**
 * Takes the connection out of a stream of this thread, so that another thread can make a stream of it: Node hands sockets over to
 * processes, but not to threads. Nothing must have been read since the stream was paused.
 *
 * @returns a file descriptor that is the caller's; undefined where a stream has none of its own (TLS, Windows), which stays as it is
 */
export function takeDescriptor(stream: Duplex): number | undefined {
  const descriptor = descriptorOf(stream)
  if (descriptor === undefined) return undefined
  dup ??= koffi.load(null).func('int dup(int)') as Dup
  const own = dup(descriptor)
  if (own < 0) return undefined
  // Closes the stream's own descriptor only: the connection lives as long as there is another.
  stream.destroy()
  return own
}

/** Whether a stream has a descriptor of its own, which could be taken. */
export function hasDescriptor(stream: Duplex): boolean {
  return descriptorOf(stream) !== undefined
}

/** Node has no public way to it. */
function descriptorOf(stream: Duplex): number | undefined {
  if (process.platform === 'win32' || !(stream instanceof Socket)) return undefined
  const { _handle: handle } = stream as Socket & { readonly _handle?: { readonly fd?: number } }
  return handle?.fd !== undefined && handle.fd >= 0 ? handle.fd : undefined
}
