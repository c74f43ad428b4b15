import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdtempSync,
  openSync,
  rmdirSync,
  rmSync,
  statfsSync,
  writeSync,
} from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { holdsStore } from '../../persistence/disk/data-directory.js'
import { DirectoryLock } from '../../persistence/disk/directory-lock.js'
import { directoryError } from '../../persistence/disk/errors.js'
import { toWarpdexError } from '../../protocol/errors.js'
import { fail, type Line, ok, warn } from './finding.js'

const MIB = 2 ** 20
const GIB = 2 ** 30
const PROBE = 'warpdex-doctor.tmp'
const PROBE_BYTES = 64 * MIB
const CHUNK_BYTES = 4 * MIB
const SYNCS = 20
/** Free bytes below which a server soon has none, and below which it stops to take writes. */
const LITTLE_FREE = 4 * GIB
const HARDLY_FREE = 256 * MIB
/** A write waits for a sync: past this it is a slow disk's, or a network's. */
const SLOW_SYNC_MS = 20
const SLOW_RATE = 50 * MIB

/** File systems by the number that Linux has for them. */
const KINDS: Readonly<Record<number, string>> = {
  61267: 'ext4',
  1481003842: 'xfs',
  2435016766: 'btrfs',
  801189825: 'zfs',
  16914836: 'tmpfs',
  2035054128: 'overlay',
  26985: 'nfs',
  4283649346: 'cifs',
  4266872130: 'smb',
  1702057286: 'fuse',
  16964: 'hfs',
  4076150800: 'f2fs',
}
const LOSES = ['all data is gone after a restart of the machine', 'put the data directory on a disk'] as const
const REMOTE = [
  'LMDB maps its file, which is not safe over a network',
  'put the data directory on a local disk',
] as const
/** What is wrong with some of them, and what to do about it. */
const UNFIT: Readonly<Record<string, readonly [wrong: string, remedy: string]>> = {
  tmpfs: LOSES,
  nfs: REMOTE,
  cifs: REMOTE,
  smb: REMOTE,
  fuse: REMOTE,
}

/** Looks at the data directory and the disk that it is on; what is written for that is removed. */
export async function diskLines(directory: string): Promise<Line[]> {
  const path = resolve(directory)
  const there = existing(path)
  return [await directoryLine(path), ...kindLines(there), freeLine(there), speedLine(there)]
}

/** The directory, or the nearest folder above it that exists. */
function existing(path: string): string {
  return existsSync(path) || dirname(path) === path ? path : existing(dirname(path))
}

async function directoryLine(path: string): Promise<Line> {
  const subject = 'data directory'
  try {
    if (!existsSync(path)) {
      rmdirSync(mkdtempSync(join(existing(path), 'warpdex-doctor-')))
      return ok(subject, `${path} is made at the first start`)
    }
    const holds = await holdsStore(path)
    DirectoryLock.acquire(path).release()
    return ok(subject, `${path} ${holds ? 'holds data' : 'is empty'}; nobody has it open`)
  } catch (error) {
    const mendable = directoryError(path, error)
    const { code, message } = toWarpdexError(mendable)
    if (code === 'DAMAGED_FILE') return fail(subject, message, 'see "warpdex verify --help"')
    if (mendable !== error) return fail(subject, message, 'name a folder that this user may read and write')
    if (code === 'BAD_REQUEST')
      return warn(subject, message, 'that is right if it is the server that you mean')
    return fail(subject, message, 'give this user the right to read and write it')
  }
}

function kindLines(path: string): Line[] {
  const kind = KINDS[statfsSync(path).type]
  if (kind === undefined) return []
  const [wrong, remedy = ''] = UNFIT[kind] ?? []
  return [wrong === undefined ? ok('file system', kind) : warn('file system', `${kind}: ${wrong}`, remedy)]
}

function freeLine(path: string): Line {
  const { bavail, bsize } = statfsSync(path)
  const free = bavail * bsize
  const found = `${(free / GIB).toFixed(1)} GiB free`
  if (free < HARDLY_FREE) return fail('disk space', found, 'make room: writes are refused when there is none')
  if (free < LITTLE_FREE)
    return warn('disk space', found, 'make room for the log and two snapshots of each index')
  return ok('disk space', found)
}

/** Writes a file, once in a row and once in small pieces with a sync after each. */
function speedLine(path: string): Line {
  const subject = 'disk speed'
  const probe = join(path, PROBE)
  try {
    const file = openSync(probe, 'w')
    try {
      const rate = writeRate(file)
      const latencies = syncLatencies(file)
      const median = latencies[SYNCS >> 1]
      const worst = latencies[SYNCS - 1]
      const found = `${(rate / MIB).toFixed(0)} MiB/s in sequence; a sync takes ${median.toFixed(2)} ms, ${worst.toFixed(2)} ms at worst`
      const isSlow = median > SLOW_SYNC_MS || rate < SLOW_RATE
      if (isSlow) return warn(subject, found, 'every write waits for a sync: use a local solid-state disk')
      return ok(subject, found)
    } finally {
      closeSync(file)
      rmSync(probe)
    }
  } catch (error) {
    return fail(
      subject,
      `${path} cannot be written: ${toWarpdexError(error).message}`,
      'give this user the right, or make room',
    )
  }
}

/** Bytes a second. */
function writeRate(file: number): number {
  const chunk = Buffer.alloc(CHUNK_BYTES, 0x5a)
  const start = performance.now()
  for (let done = 0; done < PROBE_BYTES; done += CHUNK_BYTES) writeSync(file, chunk, 0, chunk.length, done)
  fsyncSync(file)
  return (PROBE_BYTES / (performance.now() - start)) * 1000
}

/** Milliseconds, the shortest first. */
function syncLatencies(file: number): number[] {
  const piece = Buffer.alloc(4096, 0xa5)
  const taken = Array.from({ length: SYNCS }, (_, i) => {
    const start = performance.now()
    writeSync(file, piece, 0, piece.length, i * piece.length)
    fsyncSync(file)
    return performance.now() - start
  })
  return taken.sort((a, b) => a - b)
}
