import { createHash } from 'node:crypto'
import { type FileHandle, open } from 'node:fs/promises'

/** Bytes that are read, hashed and written at a time: a few milliseconds, for which other work has to wait. */
const CHUNK_BYTES = 1024 * 1024

export interface CopyOptions {
  /** Told of the bytes of each chunk. */
  readonly onBytes?: ((bytes: number) => void) | undefined
  readonly stop?: AbortSignal | undefined
}

export interface Copied {
  readonly bytes: number
  /** In hex. */
  readonly sha256: string
}

/** Copies a file to a new one and syncs it; without a new one it is only read. */
export async function copyChecked(
  from: string,
  to: string | undefined,
  options: CopyOptions = {},
): Promise<Copied> {
  const source = await open(from, 'r')
  try {
    const target = to === undefined ? undefined : await open(to, 'wx')
    try {
      const copied = await copyChunks(source, target, options)
      await target?.sync()
      return copied
    } finally {
      await target?.close()
    }
  } finally {
    await source.close()
  }
}

async function copyChunks(
  source: FileHandle,
  target: FileHandle | undefined,
  { onBytes, stop }: CopyOptions,
): Promise<Copied> {
  const hash = createHash('sha256')
  const chunk = Buffer.allocUnsafe(CHUNK_BYTES)
  let bytes = 0
  for (;;) {
    stop?.throwIfAborted()
    const { bytesRead } = await source.read(chunk, 0, chunk.length, bytes)
    if (bytesRead === 0) return { bytes, sha256: hash.digest('hex') }
    const read = chunk.subarray(0, bytesRead)
    hash.update(read)
    await target?.writeFile(read)
    bytes += bytesRead
    onBytes?.(bytesRead)
  }
}

/** Makes what another program has written durable. */
export async function syncFile(path: string): Promise<void> {
  const file = await open(path, 'r+')
  try {
    await file.sync()
  } finally {
    await file.close()
  }
}
