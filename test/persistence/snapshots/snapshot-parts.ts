import type { SnapshotPart } from '../../../persistence/snapshots/snapshot-file.js'

/** Bytes in chunks of that size, shared between threads if the bytes are. */
export async function* chunksOf(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  // The same buffer is used for every chunk, as a reader of device memory does.
  const Memory = bytes.buffer instanceof SharedArrayBuffer ? SharedArrayBuffer : ArrayBuffer
  const buffer = new Uint8Array(new Memory(size))
  for (let start = 0; start < bytes.length; start += size) {
    const chunk = bytes.subarray(start, start + size)
    buffer.set(chunk)
    yield buffer.subarray(0, chunk.length)
  }
}

/** Parts with these names. */
export function parts(content: Readonly<Record<string, Uint8Array>>): SnapshotPart[] {
  return Object.entries(content).map(([name, bytes]) => ({ name, chunks: chunksOf(bytes, 100_000) }))
}
