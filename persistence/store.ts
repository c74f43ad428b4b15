import { closeSync, constants, existsSync, openSync, statSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { open, type RootDatabase } from 'lmdb'
import { badRequest, WarpdexError } from '../protocol/errors.js'
import type { RelationDefinition } from '../protocol/relation.js'
import type { IndexDefinition } from '../protocol/types.js'
import { type BackupOptions, type WrittenBackup, writeBackup } from './backup/backup.js'
import type { CopyOptions } from './backup/checked-copy.js'
import { checkDataFile } from './check/checker.js'
import { Committer, type Keyspace } from './disk/committer.js'
import { holdsStore, makeDirectory, markAsStore, syncDirectory } from './disk/data-directory.js'
import { Dictionary, type Make, type StoredIndex, type StoredRelation } from './disk/dictionary.js'
import { DirectoryLock } from './disk/directory-lock.js'
import { directoryError, unusable } from './disk/errors.js'
import { damaged, decodeRecord, encodeRecord, RecordKind } from './disk/record.js'
import { DATA_FILE, ENCODING, FORMAT_KEY, LMDB_LOCK_FILE, SNAPSHOT_DIRECTORY } from './disk/store-files.js'
import { LmdbLog } from './log/lmdb-log.js'
import type { WriteLog } from './log/write-log.js'
import { type StoredOutcome, WriteOutcomes } from './log/write-outcomes.js'
import { PayloadStore } from './payloads/payload-store.js'
import type { SnapshotThread } from './snapshots/snapshot-thread.js'
import { Snapshots } from './snapshots/snapshots.js'

export interface StoreOptions {
  /** Bytes of payloads of kind `bytes` to keep in memory, over all indexes. */
  readonly payloadCacheBytes?: number | undefined
  /** Writes snapshots, and is stopped by whoever gives it, after the store is closed; by default the caller's thread does. */
  readonly snapshotThread?: SnapshotThread | undefined
  /** Told, in words for people, of what does not work as it should, and does without. */
  readonly onWarning?: ((message: string) => void) | undefined
}

const PAYLOAD_CACHE_BYTES = 256 * 1024 * 1024
const COPY_PROGRESS_MS = 500

/** A data directory: everything about indexes and relations that survives the process. One process has it open at a time. */
export class Store {
  readonly directory: string
  /** Payloads of kind `bytes`. */
  readonly payloads: PayloadStore
  readonly snapshots: Snapshots
  readonly #parts: StoreParts
  /** Removes the data of what was dropped, one after the other. */
  #removal: Promise<void> = Promise.resolve()
  #closing: Promise<void> | undefined
  /** Resolves when the backup that is being made is done, or given up. */
  #backup: Promise<void> | undefined
  readonly #stopping = new AbortController()

  private constructor(directory: string, parts: StoreParts) {
    this.directory = directory
    this.#parts = parts
    this.payloads = parts.payloads
    this.snapshots = parts.snapshots
  }

  /**
   * Opens a data directory, or makes one where there is none.
   *
   * @throws WarpdexError `DAMAGED_FILE` when the directory holds something else, another format or damage, and is left as it is;
   *   `BAD_REQUEST` when it is open already, cannot be locked, or this user may not read and write it and all that is in it
   */
  static async open(path: string, options: StoreOptions = {}): Promise<Store> {
    const directory = resolve(path)
    const lock = await lockedDirectory(directory)
    try {
      if (!(await holdsStore(directory))) await markAsStore(directory)
      await checkFiles(directory)
      lock.takeDataFile()
      const root = openRoot(directory)
      try {
        return await Store.#load(root, directory, lock, options)
      } catch (error) {
        await root.close()
        throw error
      }
    } catch (error) {
      lock.release()
      throw directoryError(directory, error)
    }
  }

  static async #load(
    root: RootDatabase<Buffer, Buffer>,
    directory: string,
    lock: DirectoryLock,
    { payloadCacheBytes = PAYLOAD_CACHE_BYTES, onWarning = () => {}, snapshotThread }: StoreOptions,
  ): Promise<Store> {
    const committer = new Committer(root, directory)
    await checkFormat(root, committer, directory)
    // The name of the data file has to be durable before anything is acknowledged, and before there are snapshots beside it.
    await syncDirectory(directory)
    const keyspace = (name: string): Keyspace => root.openDB<Buffer, Buffer>(name, ENCODING)
    const dictionary = Dictionary.load(committer, keyspace('indexes'))
    const outcomes = await WriteOutcomes.load(committer, keyspace('outcomes'))
    const payloads = new PayloadStore(committer, keyspace('payloads'), payloadCacheBytes, onWarning)
    const log = new LmdbLog(committer, keyspace('log'), payloads, outcomes)
    const folder = join(directory, SNAPSHOT_DIRECTORY)
    const snapshots = new Snapshots(committer, keyspace('snapshots'), log, folder, snapshotThread)
    committer.onFailure = () => {
      for (const part of [log, payloads, outcomes]) part.rollBack()
    }
    await snapshots.prepare((id) => dictionary.hasGiven(id))
    const parts = { root, lock, committer, dictionary, outcomes, payloads, log, snapshots }
    const store = new Store(directory, parts)
    for (const { id } of [...dictionary.list(), ...dictionary.relations()]) store.#take(id)
    for (const id of dictionary.dropped()) store.#removeLater(id)
    return store
  }

  /** Bytes on disk, of the data file, should nobody have taken it away, and of the snapshots. */
  get bytes(): number {
    const dataFile = statSync(join(this.directory, DATA_FILE), { throwIfNoEntry: false })?.size ?? 0
    const snapshots = [...this.indexes(), ...this.relations()].flatMap(({ id }) => this.snapshots.list(id))
    return snapshots.reduce((sum, { bytes }) => sum + bytes, dataFile)
  }

  get log(): WriteLog {
    return this.#parts.log
  }

  indexes(): StoredIndex[] {
    return this.#parts.dictionary.list()
  }

  relations(): StoredRelation[] {
    return this.#parts.dictionary.relations()
  }

  /**
   * @param make makes whatever else there is of it. Its definition is stored after that, so that nothing is left where it fails or is cut off
   * @throws WarpdexError `INDEX_EXISTS`, `TOO_LARGE`, and what `make` throws
   */
  createIndex(definition: IndexDefinition, make?: Make<StoredIndex>): Promise<StoredIndex> {
    return this.#create((taken) => this.#parts.dictionary.create(definition, taken), make)
  }

  /**
   * @param make as in `createIndex`
   * @throws WarpdexError `RELATION_EXISTS`, `TOO_LARGE`, and what `make` throws
   */
  createRelation(definition: RelationDefinition, make?: Make<StoredRelation>): Promise<StoredRelation> {
    return this.#create((taken) => this.#parts.dictionary.createRelation(definition, taken), make)
  }

  async #create<S extends { readonly id: number }>(
    enter: (make: Make<S>) => Promise<S>,
    make: Make<S> = async () => {},
  ): Promise<S> {
    let taken: number | undefined
    try {
      return await enter((stored) => {
        taken = stored.id
        this.#take(taken)
        return make(stored)
      })
    } catch (error) {
      if (taken !== undefined) this.#leave(taken)
      throw error
    }
  }

  /**
   * Drops indexes and relations, all or none. Their definitions are gone when this resolves; their data is removed in the background,
   * and after a crash at the next opening. Nothing else of them may be under way.
   *
   * @throws WarpdexError `UNKNOWN_INDEX`
   */
  async drop(...ids: readonly number[]): Promise<void> {
    await this.#parts.dictionary.drop(ids)
    for (const id of ids) {
      this.#leave(id)
      this.#removeLater(id)
    }
  }

  /** What became of a client's write, while that is remembered. */
  outcome(client: string, write: number): StoredOutcome | undefined {
    return this.#parts.outcomes.find(client, write)
  }

  /** Whether it is known what became of a client's write, even if that is not durable yet. */
  knows(client: string, write: number): boolean {
    return this.#parts.outcomes.has(client, write)
  }

  /**
   * Makes a backup of what is durable now. Writes go on meanwhile; the room that they would give back on disk is kept until the
   * copy of the data file is made. One at a time.
   *
   * @throws WarpdexError as `writeBackup`; `BAD_REQUEST` while another one is being made, `SHUTTING_DOWN`
   */
  async backUp(destination: string, onProgress?: BackupOptions['onProgress']): Promise<WrittenBackup> {
    if (this.#closing !== undefined) throw new WarpdexError('SHUTTING_DOWN', 'the store is closed')
    if (this.#backup !== undefined) {
      throw badRequest('another backup is being made; wait until it is done')
    }
    const source = {
      directory: this.directory,
      copyDataFile: (folder: string, options: CopyOptions) => copyLive(this.#parts.root, folder, options),
    }
    this.snapshots.detain()
    const written = writeBackup(source, destination, { onProgress, stop: this.#stopping.signal })
    this.#backup = written.catch(() => {}).then(() => this.snapshots.release())
    try {
      return await written
    } finally {
      await this.#backup
      this.#backup = undefined
    }
  }

  /** Resolves when the data of all that was dropped is removed. */
  async removed(): Promise<void> {
    await this.#removal
  }

  /** Waits for the writes that were accepted and closes the directory. */
  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    const { committer, root, lock } = this.#parts
    this.#stopping.abort(new WarpdexError('SHUTTING_DOWN', 'the store is being closed'))
    await committer.close()
    await this.#backup
    await this.#removal
    await root.close()
    lock.release()
  }

  /** What holds data of each index and relation. */
  get #holders(): readonly Holder[] {
    const { log, payloads, snapshots } = this.#parts
    return [log, payloads, snapshots]
  }

  #take(id: number): void {
    for (const holder of this.#holders) holder.open(id)
  }

  #leave(id: number): void {
    for (const holder of this.#holders) holder.close(id)
  }

  #removeLater(id: number): void {
    this.#removal = this.#removal.then(async () => {
      try {
        for (const holder of this.#holders) await holder.remove(id)
        await this.#parts.dictionary.forget(id)
      } catch {
        // The store was closed or its disk failed, which every write reports; the next opening goes on with this.
      }
    })
  }
}

/** LMDB copies its file on a thread of its own: the pages in use if it can, else all. The copy cannot be stopped. */
async function copyLive(
  root: RootDatabase<Buffer, Buffer>,
  folder: string,
  { onBytes }: CopyOptions,
): Promise<void> {
  const file = join(folder, DATA_FILE)
  const copied = () => statSync(file, { throwIfNoEntry: false })?.size ?? 0
  let told = 0
  const tell = (): void => {
    const bytes = copied()
    onBytes?.(Math.max(0, bytes - told))
    told = bytes
  }
  const timer = setInterval(tell, COPY_PROGRESS_MS)
  try {
    await root.backup(folder, true)
  } catch {
    // A file some of whose pages are neither in use nor known to be free cannot be copied in that way.
    await rm(file, { force: true })
    await root.backup(folder, false)
  } finally {
    clearInterval(timer)
  }
  tell()
}

/** Holds data of indexes and relations, by id. */
interface Holder {
  /** Takes one up. */
  open(id: number): void
  /** Takes no more of it. */
  close(id: number): void
  /** Removes what there is of one that was closed. */
  remove(id: number): Promise<void>
}

interface StoreParts {
  readonly root: RootDatabase<Buffer, Buffer>
  readonly lock: DirectoryLock
  readonly committer: Committer
  readonly dictionary: Dictionary
  readonly outcomes: WriteOutcomes
  readonly payloads: PayloadStore
  readonly log: LmdbLog
  readonly snapshots: Snapshots
}

/**
 * Has the files of a directory checked before LMDB opens them in this process.
 * A crash while the directory was made may have left no data, but then there is nothing else yet.
 */
async function checkFiles(directory: string): Promise<void> {
  // LMDB crashes the process where it may not open this file.
  closeSync(openSync(join(directory, LMDB_LOCK_FILE), constants.O_RDWR | constants.O_CREAT, 0o664))
  const file = join(directory, DATA_FILE)
  const bytes = statSync(file, { throwIfNoEntry: false })?.size ?? 0
  if (bytes > 0) await checkDataFile(directory)
  else if (existsSync(join(directory, SNAPSHOT_DIRECTORY)))
    throw damaged(`${file} is missing or empty; bring the data directory back from a backup`)
}

function openRoot(directory: string): RootDatabase<Buffer, Buffer> {
  try {
    return open<Buffer, Buffer>({
      ...ENCODING,
      path: directory,
      // A name with a dot would be taken for a file's.
      noSubdir: false,
      // A commit then resolves when it is synced, and the state that a crash leaves is always a synced one.
      overlappingSync: false,
      // The committer makes its own groups.
      eventTurnBatching: false,
    })
  } catch (error) {
    throw unusable(join(directory, DATA_FILE), error)
  }
}

/** The data file carries the mark too, so that one that was brought from elsewhere is noticed before anything is added. */
async function checkFormat(
  root: RootDatabase<Buffer, Buffer>,
  committer: Committer,
  directory: string,
): Promise<void> {
  const value = root.getBinary(FORMAT_KEY)
  if (value !== undefined) {
    const what = `the format record of ${join(directory, DATA_FILE)}`
    decodeRecord(RecordKind.format, FORMAT_KEY, value, what)
    return
  }
  const record = encodeRecord(RecordKind.format, FORMAT_KEY, {})
  await committer.commit([{ keyspace: root, key: FORMAT_KEY, value: record }])
}

/** A directory that may be new, locked. */
async function lockedDirectory(directory: string): Promise<DirectoryLock> {
  try {
    await holdsStore(directory)
    await makeDirectory(directory)
    return DirectoryLock.acquire(directory)
  } catch (error) {
    throw directoryError(directory, error)
  }
}
