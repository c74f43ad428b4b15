import { randomBytes } from 'node:crypto'
import { readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { WarpdexError } from '../../protocol/errors.js'
import type { Change, Committer, Keyspace } from '../disk/committer.js'
import { makeDirectory, syncDirectory } from '../disk/data-directory.js'
import { fileError, Unusable } from '../disk/errors.js'
import {
  damaged,
  decodeRecord,
  encodeRecord,
  keysOfIndex,
  numberedKey,
  numberOf,
  OtherVersion,
  RecordKind,
} from '../disk/record.js'
import { SNAPSHOT_FILE } from '../disk/store-files.js'
import type { WriteLog } from '../log/write-log.js'
import {
  draftOf,
  type SnapshotIdentity,
  type SnapshotParts,
  SnapshotReader,
  writeDraft,
} from './snapshot-file.js'
import type { SnapshotThread } from './snapshot-thread.js'

/** A snapshot that LMDB points at. */
export interface SnapshotInfo {
  /** Position of the last log record that it contains. */
  readonly position: number
  readonly file: string
  readonly bytes: number
  /** Milliseconds since 1970. */
  readonly createdAt: number
  /**
   * Set when it was found damaged or could not be read: its file is left as it is, and it does not count while there are others.
   * On disk only damage is marked, so that whatever else it was is tried again at the next start.
   */
  readonly damaged?: true
}

/** The newest sound snapshot, and what was wrong with those that were tried before it. */
export interface FoundSnapshot {
  /** Absent when there is none; then the whole log is there. */
  readonly snapshot?: { readonly position: number; readonly reader: SnapshotReader }
  readonly damage: readonly WarpdexError[]
}

/** Snapshots kept for each index: should the newest be damaged, there is another, and the log after it. */
const KEPT = 2

/** The snapshots of all indexes: checksummed files in a directory of their own, with a pointer to each in LMDB. */
export class Snapshots {
  readonly #committer: Committer
  readonly #keyspace: Keyspace
  readonly #log: WriteLog
  readonly #directory: string
  readonly #thread: SnapshotThread | undefined
  /** By index, newest first. */
  readonly #indexes = new Map<number, SnapshotInfo[]>()
  /** Files that are to go and are still needed; undefined while nobody needs any. */
  #detained: string[] | undefined

  /** @param thread writes them, while it lives; without it the caller's does */
  constructor(
    committer: Committer,
    keyspace: Keyspace,
    log: WriteLog,
    directory: string,
    thread?: SnapshotThread,
  ) {
    this.#committer = committer
    this.#keyspace = keyspace
    this.#log = log
    this.#directory = directory
    this.#thread = thread
  }

  /**
   * Makes the directory, and removes the files in it that a crash has left without a pointer.
   *
   * @param hasBeen whether there has ever been an index with that id
   * @throws WarpdexError `DAMAGED_FILE` when there is a snapshot of an index that has never been: it belongs to other data
   */
  async prepare(hasBeen: (index: number) => boolean): Promise<void> {
    await makeDirectory(this.#directory)
    const referenced = new Set<string>()
    for (const { key, value } of this.#keyspace.getRange({})) referenced.add(decodePointer(key, value).file)
    const files = (await readdir(this.#directory)).filter((name) => SNAPSHOT_FILE.test(name))
    const strange = files.find((name) => !hasBeen(Number.parseInt(name, 10)))
    if (strange !== undefined) {
      throw damaged(
        `${join(this.#directory, strange)} is of an index that the data file has never had; bring the data directory back from a backup as a whole`,
      )
    }
    for (const name of files) if (!referenced.has(name)) await this.#remove(name)
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
   * @throws WarpdexError `DISK_FULL`, or `INTERNAL` when the disk failed
   */
  async write(index: number, position: number, meta: unknown, parts: SnapshotParts): Promise<SnapshotInfo> {
    this.#of(index)
    const file = `${index}-${position}-${randomBytes(4).toString('hex')}.snapshot`
    const path = join(this.#directory, file)
    const thread = this.#thread?.ended === false ? this.#thread : undefined
    const identity = { index, position }
    const bytes = await (thread === undefined
      ? writeDraft(path, identity, meta, parts)
      : thread.writeDraft(path, identity, meta, parts))
    try {
      await rename(draftOf(path), path)
      await syncDirectory(this.#directory)
      const info: SnapshotInfo = { position, file, bytes, createdAt: Date.now() }
      await this.#point(index, info)
      return info
    } catch (error) {
      await rm(draftOf(path), { force: true })
      await rm(path, { force: true })
      throw fileError(error, path)
    }
  }

  /**
   * The newest snapshot whose every byte is sound. One that is not is reported, put aside and otherwise left alone.
   *
   * @throws WarpdexError when there is none and the log does not reach back to the beginning: `DAMAGED_FILE`, or what else the system
   *   refused to read one for
   */
  async newest(index: number): Promise<FoundSnapshot> {
    const damage: WarpdexError[] = []
    for (const info of this.#candidates(index)) {
      const { position, file } = info
      const found = await this.#verify(file, { index, position })
      if (found instanceof SnapshotReader) {
        if (!isSound(info)) await this.#unmark(index, info)
        return { snapshot: { position, reader: found }, damage }
      }
      damage.push(found)
      if (isSound(info)) await this.#putAside(index, info, found)
    }
    const first = this.#log.first(index)
    if (first === 1) return { damage }
    const reasons = damage.map(({ message }) => message).join('; ') || 'there is none'
    throw new WarpdexError(
      damage.find(({ code }) => code !== 'DAMAGED_FILE')?.code ?? 'DAMAGED_FILE',
      `index ${index} needs a snapshot, because its log begins at position ${first}, and none can be used: ${reasons}; mend that, or bring the data directory back from a backup`,
    )
  }

  /**
   * Removes the log records that no kept snapshot needs: those up to the older of the two that are kept.
   * @param retainedBytes of the newest records that stay all the same
   */
  async trimLog(index: number, retainedBytes?: number): Promise<void> {
    const older = this.#of(index).filter(isSound)[KEPT - 1]
    if (older !== undefined) await this.#log.trim(index, older.position, retainedBytes)
  }

  /** Lets no file go until `release`, which a crash may take the place of. For one at a time. */
  detain(): void {
    this.#detained = []
  }

  /** Removes the files that should have gone since `detain`. */
  async release(): Promise<void> {
    const files = this.#detained ?? []
    this.#detained = undefined
    for (const file of files) await this.#remove(file)
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

  /** In the order in which to try them. Those put aside come last: by now somebody may have mended one. */
  #candidates(index: number): SnapshotInfo[] {
    const usable = this.#of(index).filter(({ position }) => position + 1 >= this.#log.first(index))
    return [...usable.filter(isSound), ...usable.filter((info) => !isSound(info))]
  }

  async #verify(file: string, identity: SnapshotIdentity): Promise<SnapshotReader | WarpdexError> {
    try {
      return await SnapshotReader.verify(join(this.#directory, file), identity)
    } catch (error) {
      if (error instanceof WarpdexError) return error
      throw error
    }
  }

  async #putAside(index: number, info: SnapshotInfo, reason: WarpdexError): Promise<void> {
    const marked: SnapshotInfo = { ...info, damaged: true }
    const mayBeSound = reason instanceof OtherVersion || reason instanceof Unusable
    const isDamage = reason.code === 'DAMAGED_FILE' && !mayBeSound
    if (isDamage) await this.#committer.commit([this.#pointer(index, marked)])
    this.#replace(index, info, marked)
  }

  async #unmark(index: number, marked: SnapshotInfo): Promise<void> {
    const { damaged: _, ...info } = marked
    await this.#committer.commit([this.#pointer(index, info)])
    this.#replace(index, marked, info)
  }

  #replace(index: number, info: SnapshotInfo, replacement: SnapshotInfo): void {
    const replaced = this.#of(index).map((one) => (one === info ? replacement : one))
    this.#indexes.set(index, replaced)
  }

  #pointer(index: number, info: SnapshotInfo): Change {
    const key = pointerKey(index, info)
    return { keyspace: this.#keyspace, key, value: encodeRecord(RecordKind.snapshot, key, info) }
  }

  async #removeFile({ file }: SnapshotInfo): Promise<void> {
    if (this.#detained !== undefined) this.#detained.push(file)
    else await this.#remove(file)
  }

  /** Nothing points at the file any more, so that nobody need know where it cannot be removed. */
  async #remove(file: string): Promise<void> {
    await rm(join(this.#directory, file), { force: true }).catch(() => {})
  }
}

/** In the order of the positions. The file's name is there because a damaged snapshot may have the position of a new one. */
function pointerKey(index: number, { position, file }: SnapshotInfo): Buffer {
  return Buffer.concat([numberedKey(index, position), Buffer.from(file)])
}

function isSound(info: SnapshotInfo): boolean {
  return info.damaged !== true
}

/** @throws WarpdexError `DAMAGED_FILE` */
export function decodePointer(key: Buffer, value: Buffer): SnapshotInfo {
  if (key.length < 12) throw damaged('the key of a pointer to a snapshot is damaged')
  const what = `the pointer to the snapshot of index ${key.readUInt32BE(0)} at position ${numberOf(key)}`
  return decodeRecord<SnapshotInfo>(RecordKind.snapshot, key, value, what).meta
}
