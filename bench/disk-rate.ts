import { closeSync, fsyncSync, openSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'

/** Bytes a second that the disk of a directory takes, in a file that is synced after each piece. */
export function measureDisk(directory: string, columns: readonly Uint8Array[], pieceBytes: number): number {
  const path = join(directory, 'sequential')
  const file = openSync(path, 'w')
  const start = performance.now()
  let written = 0
  let unsynced = 0
  for (const column of columns) {
    for (let at = 0; at < column.byteLength; ) {
      const bytes = writeSync(file, column, at, Math.min(pieceBytes - unsynced, column.byteLength - at))
      at += bytes
      written += bytes
      unsynced += bytes
      if (unsynced < pieceBytes) continue
      fsyncSync(file)
      unsynced = 0
    }
  }
  fsyncSync(file)
  closeSync(file)
  const seconds = (performance.now() - start) / 1000
  rmSync(path)
  return written / seconds
}
