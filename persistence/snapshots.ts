import { randomBytes } from 'node:crypto'
import { readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { WarpdexError } from '../protocol/errors.js'
import type { Change, Committer, Keyspace } from './committer.js'
import { makeDirectory, syncDirectory } from './data-directory.js'
import { keysOfIndex, numberedKey, numberOf } from './keys.js'
import { damaged, decodeRecord, encodeRecord, RecordKind } from './record.js'
import { type SnapshotPart, SnapshotReader, writeSnapshotFile } from './snapshot-file.js'
import type { WriteLog } from './write-log.js'

/** A snapshot that LMDB points at. */
export interface SnapshotInfo {
  /** Position of the last log record that it contains. */
  readonly position: number
  readonly file: string
  readonly bytes: number
  /** Milliseconds since 1970. */
  readonly createdAt: number
  /** Set when it was found damaged: its file is left as it is, and it counts no longer. */
  readonly damaged?: true
}

/** The newest sound snapshot, and the damaged ones that were found on the way to it. */
export interface FoundSnapshot {
  /** Absent when there is none; then the whole log is there. */
  readonly snapshot?: { readonly position: number; readonly reader: SnapshotReader }
  readonly damage: readonly WarpdexError[]
}

/** Snapshots kept for each index: should the newest be damaged, there is another, and the log after it. */
const KEPT = 2
const DRAFT = '.tmp'
const SNAPSHOT_FILE = /^\d+-\d+-[0-9a-f]{8}\.snapshot(\.tmp)?$/

/** The snapshots of all indexes: checksummed files in a directory of their own, with a pointer to each in LMDB. */
export class Snapshots {
  readonly #committer: Committer
  readonly #keyspace: Keyspace
  readonly #log: WriteLog
  readonly #directory: string
  /** By index, newest first. */
  readonly #indexes = new Map<number, SnapshotInfo[]>()

  constructor(committer: Committer, keyspace: Keyspace, log: WriteLog, directory: string) {
    this.#committer = committer
    this.#keyspace = keyspace
    this.#log = log
    this.#directory = directory
  }

  /** Makes the directory, and removes the files in it that a crash has left without a pointer. */
  async prepare(): Promise<void> {
    await makeDirectory(this.#directory)
    const referenced = new Set<string>()
    for (const { key, value } of this.#keyspace.getRange({})) referenced.add(decodePointer(key, value).file)
    for (const name of await readdir(this.#directory)) {
      if (SNAPSHOT_FILE.test(name) && !referenced.has(name)) await rm(join(this.#directory, name))
    }
  }

  /** Takes up the snapshots of an index. */
  open(index: number): void {
    const pointers = [...this.#keyspace.getRange(keysOfIndex(index))]
    this.#indexes.set(index, pointers.map(({ key, value }) => decodePointer(key, value)).reverse())
  }

  /** Takes no more snapshots of an index. */
  close(index: number): void {
    this.#indexes.delete(index)
  }

  /** Removes the snapshots of an index that was closed. */
  async remove(index: number): Promise<void> {
    const pointers = [...this.#keyspace.getRange(keysOfIndex(index))]
    await this.#committer.removeIndex(this.#keyspace, index)
    for (const { key, value } of pointers) await this.#removeFile(decodePointer(key, value))
  }

  /** The snapshots of an index, newest first. */
  list(index: number): readonly SnapshotInfo[] {
    return this.#of(index)
  }

  /**
   * Writes a snapshot, checks what was written, and lets the oldest go. One at a time for an index.
   *
   * @param position position of the last log record that the snapshot contains
   * @param meta anything that msgpack can hold
   */
  async write(
    index: number,
    position: number,
    meta: unknown,
    parts: readonly SnapshotPart[],
  ): Promise<SnapshotInfo> {
    this.#of(index)
    const file = `${index}-${position}-${randomBytes(4).toString('hex')}.snapshot`
    const path = join(this.#directory, file)
    const draft = path + DRAFT
    const identity = { index, position }
    try {
      const bytes = await writeSnapshotFile(draft, identity, meta, parts)
      await SnapshotReader.verify(draft, identity)
      await rename(draft, path)
      await syncDirectory(this.#directory)
      const info: SnapshotInfo = { position, file, bytes, createdAt: Date.now() }
      await this.#point(index, info)
      return info
    } catch (error) {
      await rm(draft, { force: true })
      throw error
    }
  }

  /**
   * The newest snapshot whose every byte is sound. A damaged one is reported, remembered as damaged and otherwise left alone.
   *
   * @throws WarpdexError `DAMAGED_FILE` when there is none and the log does not reach back to the beginning
   */
  async newest(index: number): Promise<FoundSnapshot> {
    const damage: WarpdexError[] = []
    for (const info of this.#of(index).filter(isSound)) {
      const { position, file } = info
      try {
        const reader = await SnapshotReader.verify(join(this.#directory, file), { index, position })
        return { snapshot: { position, reader }, damage }
      } catch (error) {
        if (!(error instanceof WarpdexError) || error.code !== 'DAMAGED_FILE') throw error
        damage.push(error)
        await this.#markDamaged(index, info)
      }
    }
    if (this.#log.first(index) === 1) return { damage }
    const files = this.list(index).map(({ file }) => join(this.#directory, file))
    throw damaged(
      `index ${index} has no sound snapshot (${files.join(', ') || 'none'}) and its log begins at position ${this.#log.first(index)}; bring the data directory back from a backup`,
    )
  }

  /** Removes the log records that no kept snapshot needs: those up to the older of the two that are kept. */
  async trimLog(index: number): Promise<void> {
    const older = this.#of(index).filter(isSound)[KEPT - 1]
    if (older !== undefined) await this.#log.trim(index, older.position)
  }

  #of(index: number): SnapshotInfo[] {
    const infos = this.#indexes.get(index)
    if (infos === undefined) throw new WarpdexError('UNKNOWN_INDEX', `there is no index with id ${index}`)
    return infos
  }

  /** Points at a new snapshot and no longer at those that it makes superfluous. */
  async #point(index: number, info: SnapshotInfo): Promise<void> {
    const others = this.#of(index).filter((one) => one.position !== info.position || !isSound(one))
    const all = [info, ...others].sort((a, b) => b.position - a.position)
    const kept = new Set(all.filter(isSound).slice(0, KEPT))
    const remaining = all.filter((one) => kept.has(one) || !isSound(one))
    const gone = this.#of(index).filter((one) => !remaining.includes(one))
    await this.#committer.commit([
      ...gone.map((old) => ({ keyspace: this.#keyspace, key: pointerKey(index, old) })),
      this.#pointer(index, info),
    ])
    this.#indexes.set(index, remaining)
    for (const old of gone) await this.#removeFile(old)
  }

  async #markDamaged(index: number, info: SnapshotInfo): Promise<void> {
    const marked: SnapshotInfo = { ...info, damaged: true }
    await this.#committer.commit([this.#pointer(index, marked)])
    this.#indexes.set(
      index,
      this.#of(index).map((one) => (one === info ? marked : one)),
    )
  }

  #pointer(index: number, info: SnapshotInfo): Change {
    const key = pointerKey(index, info)
    return { keyspace: this.#keyspace, key, value: encodeRecord(RecordKind.snapshot, key, info) }
  }

  async #removeFile({ file }: SnapshotInfo): Promise<void> {
    await rm(join(this.#directory, file), { force: true })
  }
}

/** In the order of the positions. The file's name is there because a damaged snapshot may have the position of a new one. */
function pointerKey(index: number, { position, file }: SnapshotInfo): Buffer {
  return Buffer.concat([numberedKey(index, position), Buffer.from(file)])
}

function isSound(info: SnapshotInfo): boolean {
  return info.damaged !== true
}

function decodePointer(key: Buffer, value: Buffer): SnapshotInfo {
  const what = `the pointer to the snapshot of index ${key.readUInt32BE(0)} at position ${numberOf(key)}`
  return decodeRecord<SnapshotInfo>(RecordKind.snapshot, key, value, what).meta
}
