import { existsSync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { damaged } from './record.js'

/** Where the fields of LMDB's meta pages lie; its file begins with two of them, and the one with the later transaction counts. */
const META_BYTES = 160
const MAGIC_AT = 24
const VERSION_AT = 28
const PAGE_BYTES_AT = 48
const ROOTS_AT = [88, 136]
const TRANSACTION_AT = 152

const MAGIC = 0xbeefc0de
const VERSION = 2
const NO_PAGE = 2n ** 64n - 1n

/**
 * Looks whether a file is one that LMDB can open. LMDB itself crashes the process on one that is not, or that lacks its root.
 *
 * @returns false when there is no file or an empty one, which LMDB takes for new
 * @throws WarpdexError `DAMAGED_FILE`
 */
export async function checkDataFile(path: string): Promise<boolean> {
  if (!existsSync(path)) return false
  const file = await open(path, 'r')
  try {
    const { size } = await file.stat()
    if (size === 0) return false
    const first = await readMeta(file, path, 0)
    const pageBytes = first.readUInt32LE(PAGE_BYTES_AT)
    const second = await readMeta(file, path, pageBytes)
    const transaction = (meta: Buffer): bigint => meta.readBigUInt64LE(TRANSACTION_AT)
    const newest = transaction(second) > transaction(first) ? second : first
    for (const at of ROOTS_AT) {
      const root = newest.readBigUInt64LE(at)
      if (root !== NO_PAGE && (root + 1n) * BigInt(pageBytes) > size) throw damaged(`${path} is cut off`)
    }
    return true
  } finally {
    await file.close()
  }
}

async function readMeta(file: FileHandle, path: string, at: number): Promise<Buffer> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(META_BYTES), 0, META_BYTES, at)
  const sound = bytesRead === META_BYTES && buffer.readUInt32LE(MAGIC_AT) === MAGIC
  if (!sound || (buffer.readUInt32LE(VERSION_AT) & 0xffff) !== VERSION) {
    throw damaged(`${path} is damaged or no LMDB file; bring the data directory back from a backup`)
  }
  return buffer
}
