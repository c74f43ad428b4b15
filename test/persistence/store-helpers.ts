import { createHash } from 'node:crypto'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { open } from 'lmdb'
import type { Test } from 'tap'
import type { LogRecord, PayloadSegment } from '../../persistence/log/log-records.js'
import type { LogEntry } from '../../persistence/log/write-log.js'
import type { Column } from '../../protocol/columns.js'
import type { IndexDefinition } from '../../protocol/types.js'

/** A new directory that is removed after the test. The dot in its name is there on purpose. */
export function temporaryDirectory(t: Test): string {
  const directory = mkdtempSync(join(tmpdir(), 'warpdex-store.'))
  t.teardown(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}

export function definition(name: string): IndexDefinition {
  return { name, keyType: 'u64', payloadKind: 'bytes', unique: false }
}

/** Whole numbers below a bound, the same ones for the same seed. */
export function randomNumbers(seed: number): (below: number) => number {
  let state = seed >>> 0
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below
  }
}

export function segmentOf(firstRow: number, payloads: readonly Uint8Array[]): PayloadSegment {
  const offsets = new Uint32Array(payloads.length + 1)
  payloads.forEach((payload, i) => {
    offsets[i + 1] = offsets[i] + payload.length
  })
  return { firstRow, offsets, bytes: new Uint8Array(Buffer.concat(payloads)) }
}

/** A column of single bytes. */
export function bytesOf(bytes: Uint8Array): Column {
  return { bytes, width: 1 }
}

/** A batch whose content follows from a number. */
export function batch(number: number, items = 10): LogRecord {
  const keys = new Uint8Array(items * 8).map((_, i) => number * 7 + i)
  return { ops: 0, keys: bytesOf(keys), payloads: bytesOf(keys.map((byte) => byte ^ 0xff)) }
}

export async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const item of items) all.push(item)
  return all
}

/** The columns of an entry as values that are quick to compare. */
export function plain({ ops, keys, payloads }: LogEntry | LogRecord): unknown {
  return {
    ops: typeof ops === 'number' ? ops : hex(ops),
    keys: hex(keys.bytes),
    keyOffsets: keys.offsets && [...keys.offsets],
    payloads: payloads && hex(payloads instanceof Uint8Array ? payloads : payloads.bytes),
  }
}

export function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex')
}

/** Digests of all files below a directory by their paths; of LMDB's lock file, which every reader uses, only that it is there. */
export function digests(directory: string): Record<string, string> {
  const found: Record<string, string> = {}
  if (!existsSync(directory)) return found
  for (const name of readdirSync(directory, { recursive: true, encoding: 'utf8' }).sort()) {
    const path = join(directory, name)
    if (!statSync(path).isFile()) continue
    const content = name === 'lock.mdb' ? '' : readFileSync(path)
    found[name] = createHash('sha256').update(content).digest('hex')
  }
  return found
}

/** Entries of a store that is closed. */
export function entriesByKeyspace(directory: string): Record<string, number> {
  const root = open({
    path: directory,
    noSubdir: false,
    readOnly: true,
    keyEncoding: 'binary',
    encoding: 'binary',
  })
  const count = (name: string) =>
    root.openDB(name, { keyEncoding: 'binary', encoding: 'binary' }).getKeysCount()
  const names = ['indexes', 'log', 'payloads', 'snapshots', 'outcomes']
  const counts = Object.fromEntries(names.map((name) => [name, count(name)]))
  void root.close()
  return counts
}
