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
import { type Change, Committer, type Keyspace, type StoreRole } from './disk/committer.js'
import { holdsStore, makeDirectory, markAsStore, syncDirectory } from './disk/data-directory.js'
import {
  Dictionary,
  type IndexName,
  type Make,
  type StoredIndex,
  type StoredRelation,
} from './disk/dictionary.js'
import { DirectoryLock } from './disk/directory-lock.js'
import { directoryError, unusable } from './disk/errors.js'
import { damaged, decodeRecord, encodeRecord, RecordKind } from './disk/record.js'
import {
  DATA_FILE,
  ENCODING,
  FORMAT_KEY,
  LMDB_LOCK_FILE,
  REPLICA_KEY,
  SNAPSHOT_DIRECTORY,
  type TableName,
} from './disk/store-files.js'
import { WriteLog } from './log/write-log.js'
import { WriteOutcomes } from './log/write-outcomes.js'
import { PayloadStore } from './payloads/payload-store.js'
import type { ChangeSet, ReplicaLog, SetPosition } from './replication/change-sets.js'
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

/** What a store has of the log of a replica set. */
export interface ReplicaNote {
  /** Of the replica set. */
  readonly name: string
  /** Of the last changes that it has. */
  readonly position: SetPosition
}

const PAYLOAD_CACHE_BYTES = 256 * 1024 * 1024
const COPY_PROGRESS_MS = 500

/** A data directory: everything about indexes and relations that survives the process. One process has it open at a time. */
export class Store {
  readonly directory: string
  readonly log: WriteLog
  /** What became of clients' writes. */
  readonly outcomes: WriteOutcomes
  /** Payloads of kind `bytes`. */
  readonly payloads: PayloadStore
  readonly snapshots: Snapshots
  readonly #root: RootDatabase<Buffer, Buffer>
  readonly #tables: Readonly<Record<TableName, Keyspace>>
  readonly #committer: Committer
  readonly #lock: DirectoryLock
  readonly #dictionary: Dictionary
  #closing: Promise<void> | undefined
  /** Resolves when the backup that is being made is done, or given up. */
  #backup: Promise<void> | undefined
  readonly #stopping = new AbortController()

  private constructor(
    root: RootDatabase<Buffer, Buffer>,
    committer: Committer,
    directory: string,
    lock: DirectoryLock,
    { payloadCacheBytes = PAYLOAD_CACHE_BYTES, onWarning = () => {}, snapshotThread }: StoreOptions,
  ) {
    const keyspace = (name: TableName): Keyspace => root.openDB<Buffer, Buffer>(name, ENCODING)
    const tables = {
      indexes: keyspace('indexes'),
      log: keyspace('log'),
      outcomes: keyspace('outcomes'),
      payloads: keyspace('payloads'),
      snapshots: keyspace('snapshots'),
    }
    this.#tables = tables
    this.directory = directory
    this.#root = root
    this.#committer = committer
    this.#lock = lock
    this.outcomes = new WriteOutcomes(tables.outcomes)
    this.payloads = new PayloadStore(committer, tables.payloads, payloadCacheBytes, onWarning)
    this.log = new WriteLog(committer, tables.log, this.payloads, this.outcomes)
    const folder = join(directory, SNAPSHOT_DIRECTORY)
    this.snapshots = new Snapshots(committer, tables.snapshots, this.log, folder, snapshotThread)
    const holders = [this.log, this.payloads, this.snapshots]
    this.#dictionary = new Dictionary(committer, tables.indexes, holders)
    committer.onFailure = () => {
      for (const part of [this.log, this.payloads, this.outcomes]) part.rollBack()
    }
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
        const committer = new Committer(root, directory)
        await checkFormat(root, committer, directory)
        // The name of the data file has to be durable before anything is acknowledged, and before there are snapshots beside it.
        await syncDirectory(directory)
        const store = new Store(root, committer, directory, lock, options)
        await store.outcomes.forgetOld(committer)
        await store.snapshots.prepare((id) => store.#dictionary.hasGiven(id))
        store.#dictionary.open()
        if (store.replica !== undefined) await store.stopSharing()
        return store
      } catch (error) {
        await root.close()
        throw error
      }
    } catch (error) {
      lock.release()
      throw directoryError(directory, error)
    }
  }

  /** Bytes on disk, of the data file, should nobody have taken it away, and of the snapshots. */
  get bytes(): number {
    const dataFile = statSync(join(this.directory, DATA_FILE), { throwIfNoEntry: false })?.size ?? 0
    const snapshots = [...this.indexes(), ...this.relations()].flatMap(({ id }) => this.snapshots.list(id))
    return snapshots.reduce((sum, { bytes }) => sum + bytes, dataFile)
  }

  indexes(): StoredIndex[] {
    return this.#dictionary.indexes()
  }

  relations(): StoredRelation[] {
    return this.#dictionary.relations()
  }

  /**
   * @param make makes whatever else there is of it. Its definition is stored after that, so that nothing is left where it fails or is cut off
   * @throws WarpdexError `INDEX_EXISTS`, `TOO_LARGE`, and what `make` throws
   */
  createIndex(definition: IndexDefinition, make?: Make<StoredIndex>): Promise<StoredIndex> {
    return this.#dictionary.createIndex(definition, make)
  }

  /**
   * @param make as in `createIndex`
   * @throws WarpdexError `RELATION_EXISTS`, `TOO_LARGE`, and what `make` throws
   */
  createRelation(definition: RelationDefinition, make?: Make<StoredRelation>): Promise<StoredRelation> {
    return this.#dictionary.createRelation(definition, make)
  }

  /**
   * Gives indexes other names, all or none; they may be those of each other.
   * @returns them as they are stored
   * @throws WarpdexError `UNKNOWN_INDEX`, `INDEX_EXISTS`
   */
  renameIndexes(names: readonly IndexName[]): Promise<readonly StoredIndex[]> {
    return this.#dictionary.renameIndexes(names)
  }

  /**
   * Drops indexes and relations, all or none. Their definitions are gone when this resolves; their data is removed in the background,
   * and after a crash at the next opening. Nothing else of them may be under way.
   *
   * @throws WarpdexError `UNKNOWN_INDEX`
   */
  drop(...ids: readonly number[]): Promise<void> {
    return this.#dictionary.drop(ids)
  }

  /** What it has of the log of a replica set; undefined where it is no replica. @throws WarpdexError `DAMAGED_FILE` */
  get replica(): ReplicaNote | undefined {
    const value = this.#root.getBinary(REPLICA_KEY)
    if (value === undefined) return undefined
    return decodeRecord<ReplicaNote>(RecordKind.replica, REPLICA_KEY, value, 'the note of a replica').meta
  }

  /** Its part in its replica set, where it is of one: it follows unless it shares what changes. */
  get role(): StoreRole | undefined {
    return this.#committer.role
  }

  /**
   * Has everything that changes indexes and relations entered into the log of a replica set first, until `stopSharing`.
   * @param name of the replica set
   */
  shareBy(log: ReplicaLog, name: string): void {
    const tables = Object.entries(this.#tables) as [TableName, Keyspace][]
    const names = new Map(tables.map(([table, keyspace]) => [keyspace, table]))
    this.#committer.shareBy(
      async (changes, how) => {
        const shared = changes.map(({ keyspace, key, value }) => {
          const table = names.get(keyspace)
          if (table === undefined) throw new Error('a change of a table that has no name')
          return { table, key, value }
        })
        return this.#note(name, await log.append(shared, how))
      },
      (error) => log.failed(error),
    )
  }

  /** Forgets the replica set: from then on the store changes by itself. */
  async leaveReplicaSet(): Promise<void> {
    await this.#committer.commit([{ keyspace: this.#root, key: REPLICA_KEY }])
    this.#committer.leave()
  }

  /** Refuses such changes. Resolves when none are under way. */
  stopSharing(): Promise<void> {
    return this.#committer.stopSharing()
  }

  /** Makes the changes of another replica, as one, and notes that it has them. */
  async take(changes: ChangeSet, name: string, position: SetPosition): Promise<void> {
    const own = changes.map(({ table, key, value }) => ({
      keyspace: this.#tables[table],
      key,
      ...(value && { value }),
    }))
    await this.#committer.commit([...own, this.#note(name, position)], () => {
      for (const { table, key, value } of changes) {
        if (table === 'indexes') this.#dictionary.took(key, value)
        else if (table === 'log') this.log.took(key, value)
        else if (table === 'payloads') this.payloads.took(key)
        else if (table === 'outcomes') this.outcomes.took(key, value)
      }
    })
  }

  #note(name: string, position: SetPosition): Change {
    const meta: ReplicaNote = { name, position }
    const value = encodeRecord(RecordKind.replica, REPLICA_KEY, meta)
    return { keyspace: this.#root, key: REPLICA_KEY, value }
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
      copyDataFile: (folder: string, options: CopyOptions) => copyLive(this.#root, folder, options),
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
  removed(): Promise<void> {
    return this.#dictionary.removed()
  }

  /** Waits for the writes that were accepted and closes the directory. */
  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    this.#stopping.abort(new WarpdexError('SHUTTING_DOWN', 'the store is being closed'))
    await this.#committer.close()
    await this.#backup
    await this.#dictionary.removed()
    await this.#root.close()
    this.#lock.release()
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
