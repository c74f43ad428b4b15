import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ClassicLevel } from 'classic-level'
import { open, type RootDatabase } from 'lmdb'
import type { PayloadRows, ReadAnswer } from '../../clients/load-test/target.js'
import {
  type Batch,
  bigEndianKey,
  columnAnswer,
  listAnswer,
  type MissingPeer,
  type Peer,
  payloadRow,
} from './peer.js'

/** A store in a temporary folder. */
abstract class StorePeer {
  readonly #folder: string

  constructor(folder: string) {
    this.#folder = folder
  }

  protected removeFolder(): void {
    rmSync(this.#folder, { recursive: true, force: true })
  }
}

function temporaryFolder(): string {
  return mkdtempSync(join(tmpdir(), 'warpdex-peer-'))
}

/** LMDB in this process. */
export class LmdbPeer extends StorePeer implements Peer {
  readonly name = 'LMDB, getMany'
  readonly note = 'in the process of its caller, without a server; its inserts are durable'
  readonly store: RootDatabase<Buffer, Buffer>

  constructor() {
    const folder = temporaryFolder()
    super(folder)
    this.store = open<Buffer, Buffer>({
      path: join(folder, 'lmdb'),
      encoding: 'binary',
      keyEncoding: 'binary',
    })
  }

  async read(keys: Batch): Promise<ReadAnswer> {
    return listAnswer(
      await this.store.getMany(Array.from({ length: keys.count }, (_, i) => bigEndianKey(keys, i))),
    )
  }

  async insert(keys: Batch, payloads: PayloadRows): Promise<void> {
    let last: Promise<boolean> | undefined
    for (let i = 0; i < keys.count; i++) last = this.store.put(bigEndianKey(keys, i), payloadRow(payloads, i))
    await last
  }

  scan(keys: Batch, limit: number): number {
    let entries = 0
    for (let i = 0; i < keys.count; i++) {
      entries += [...this.store.getRange({ start: bigEndianKey(keys, i), limit })].length
    }
    return entries
  }

  async close(): Promise<void> {
    await this.store.close()
    this.removeFolder()
  }
}

/** LMDB in this process by its fastest reads, one after the other. */
export class LmdbFastPeer implements Peer {
  readonly name = 'LMDB, getBinaryFast'
  readonly note = 'in the process of its caller, without a server; each payload is copied into a column'
  readonly #store: RootDatabase<Buffer, Buffer>
  readonly #width: number

  constructor(store: RootDatabase<Buffer, Buffer>, width: number) {
    this.#store = store
    this.#width = width
  }

  read(keys: Batch): ReadAnswer {
    const width = this.#width
    const rows = new Uint8Array(keys.count * width)
    const missing: number[] = []
    for (let i = 0; i < keys.count; i++) {
      const found = this.#store.getBinaryFast(bigEndianKey(keys, i))
      if (found === undefined) missing.push(i)
      else for (let j = 0, to = i * width; j < width; j++) rows[to + j] = found[j]!
    }
    return columnAnswer(rows, width, (i) => missing.length === 0 || !missing.includes(i))
  }

  async close(): Promise<void> {}
}

const VIEWS = { keyEncoding: 'view', valueEncoding: 'view' } as const

/** LevelDB in this process. */
export class LevelPeer extends StorePeer implements Peer {
  readonly name = 'LevelDB'
  readonly note =
    'in the process of its caller, without a server; getMany, single keys by getSync; inserts are not synced'
  readonly #store: ClassicLevel<Uint8Array, Uint8Array>

  private constructor(store: ClassicLevel<Uint8Array, Uint8Array>, folder: string) {
    super(folder)
    this.#store = store
  }

  static async open(): Promise<LevelPeer | MissingPeer> {
    const level = await import('classic-level').catch(() => undefined)
    if (level === undefined) return { name: 'LevelDB', missing: 'no package classic-level: npm ci' }
    const folder = temporaryFolder()
    // A cache as large as the data: with the usual 8 MiB it would be the file system's that is measured.
    const store = new level.ClassicLevel<Uint8Array, Uint8Array>(join(folder, 'level'), {
      ...VIEWS,
      cacheSize: 2 ** 30,
    })
    await store.open()
    return new LevelPeer(store, folder)
  }

  read(keys: Batch): ReadAnswer | Promise<ReadAnswer> {
    if (keys.count === 1) return listAnswer([this.#store.getSync(keys.bigEndian)])
    const list = Array.from({ length: keys.count }, (_, i) => bigEndianKey(keys, i))
    return this.#store.getMany(list).then(listAnswer)
  }

  async insert(keys: Batch, payloads: PayloadRows): Promise<void> {
    await this.#store.batch(
      Array.from({ length: keys.count }, (_, i) => ({
        type: 'put' as const,
        key: bigEndianKey(keys, i),
        value: payloadRow(payloads, i),
      })),
    )
  }

  async scan(keys: Batch, limit: number): Promise<number> {
    const ranges = Array.from({ length: keys.count }, (_, i) =>
      this.#store.iterator({ gte: bigEndianKey(keys, i), limit }).all(),
    )
    return (await Promise.all(ranges)).reduce((sum, entries) => sum + entries.length, 0)
  }

  async close(): Promise<void> {
    await this.#store.close()
    this.removeFolder()
  }
}
