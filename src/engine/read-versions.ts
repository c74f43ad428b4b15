import { totalmem } from 'node:os'
import type { IndexStructure } from '../../gpu/index-structure.js'
import { badRequest, toWarpdexError, WarpdexError } from '../../protocol/errors.js'
import { LIMITS } from '../../protocol/limits.js'
import type { Clock } from './clock.js'
import type { PagedStructure } from './paged-structure.js'

/** Names a read version: clients number their own. */
export interface VersionId {
  readonly client: string
  readonly number: number
}

export interface VersionFigures {
  /** Versions that are open. */
  readonly open: number
  /** Indexes that were copied for them since they were written to; one that was copied twice counts twice. */
  readonly copies: number
  /** Bytes of these copies, on the device or on the host. */
  readonly bytes: number
}

/** A version that is open. */
export interface OpenVersion {
  /** Its place among all that were ever opened, from 1 on. */
  readonly moment: number
  /** The copies of the one index that it is for; of all without it. */
  readonly only: VersionCopies | undefined
}

interface Version extends OpenVersion {
  readonly seconds: number
  stopTimer: () => void
}

/**
 * Read versions: moments that clients go on reading in all indexes, whatever is written later, until they close them or have not used them for
 * some time. The moment is when the server got the request to open it; a write that came before belongs to it.
 *
 * A version costs nothing as long as an index is not written to. The first write after it waits until the index is copied on its device, once for all
 * versions that were opened since the last such copy. Copies are paged out as all structures are.
 */
export class ReadVersions {
  readonly #clock: Clock
  readonly #mostBytes: number
  /** In the order in which they were opened. */
  readonly #open = new Map<string, Version>()
  readonly #copies = new Set<VersionCopy>()
  #opened = 0

  /** @param mostBytes that all copies may take */
  constructor(clock: Clock, mostBytes: number) {
    this.#clock = clock
    this.#mostBytes = mostBytes
  }

  /**
   * Opens a version; one that is open already stays as it is.
   * @param seconds after its last use for which it stays
   * @param only the copies of the index that it is for; all without it
   * @throws WarpdexError `OVERLOADED`
   */
  open(id: VersionId, seconds: number, only?: VersionCopies): void {
    const name = nameOf(id)
    if (!this.#open.has(name)) {
      this.#requireFew()
      this.#open.set(name, { moment: ++this.#opened, only, seconds, stopTimer: () => {} })
    }
    this.#renew(name)
  }

  #requireFew(): void {
    if (this.#open.size < LIMITS.versions) return
    const most = `${LIMITS.versions} read versions are open, which is all that there may be`
    throw new WarpdexError('OVERLOADED', `${most}; close some, or try again when some have expired`)
  }

  /** @returns whether it was open */
  close(id: VersionId): boolean {
    return this.#close(nameOf(id))
  }

  /** Whether a version is open. */
  has(id: VersionId): boolean {
    return this.#open.has(nameOf(id))
  }

  /** Uses a version, which stays for longer by that. @throws WarpdexError `VERSION_GONE` */
  use(id: VersionId): OpenVersion {
    const name = nameOf(id)
    const version = this.#open.get(name)
    if (version === undefined) {
      throw gone(
        `this client has no read version ${id.number} open; it was closed, or not used for as long as it lasts, or the device was lost`,
      )
    }
    this.#renew(name)
    return version
  }

  /** Moments of the open versions that see an index and were opened after another moment, the newest last. */
  openAfter(moment: number, copies: VersionCopies): readonly number[] {
    if (this.#open.size === 0) return []
    const later = [...this.#open.values()].filter((version) => version.moment > moment)
    return later.filter((version) => sees(version, copies)).map((version) => version.moment)
  }

  /** Whether a copy is of use to a version that is open. */
  #isWanted(copy: VersionCopy): boolean {
    for (const version of this.#open.values()) {
      if (sees(version, copy.owner) && copy.covers(version.moment)) return true
    }
    return false
  }

  get figures(): VersionFigures {
    return { open: this.#open.size, copies: this.#copies.size, bytes: this.#bytes }
  }

  /** Bytes that all copies take, on the device or on the host. */
  get #bytes(): number {
    let bytes = 0
    for (const copy of this.#copies) bytes += copy.bytes
    return bytes
  }

  /** Takes note of a copy until it is dropped. */
  add(copy: VersionCopy): void {
    this.#copies.add(copy)
  }

  remove(copy: VersionCopy): void {
    this.#copies.delete(copy)
  }

  /** @throws WarpdexError `VERSION_GONE` where copies would take more than they may with so many bytes more */
  requireRoom(bytes: number): void {
    if (this.#bytes + bytes <= this.#mostBytes) return
    throw gone(
      `the index was written to, and a copy for it takes ${bytes} bytes of the ${this.#mostBytes} that all copies may have, of which others have ${this.#bytes}`,
    )
  }

  /** Closes all; resolves when their copies are given back. */
  async end(): Promise<void> {
    for (const name of [...this.#open.keys()]) this.#close(name)
    await Promise.all([...this.#copies].map((copy) => copy.drop()))
  }

  #renew(name: string): void {
    const version = this.#open.get(name)
    if (version === undefined) return
    version.stopTimer()
    version.stopTimer = this.#clock.after(version.seconds * 1000, () => void this.#close(name))
  }

  #close(name: string): boolean {
    const version = this.#open.get(name)
    if (version === undefined) return false
    version.stopTimer()
    this.#open.delete(name)
    for (const copy of this.#copies) if (!this.#isWanted(copy)) void copy.drop()
    return true
  }
}

/** Of the machine's memory, where that is the device's. */
const HOST_PART = 1 / 4

/** @param software whether the CPU is the device */
export function mostVersionBytes(software: boolean): number {
  return software ? Math.min(LIMITS.versionBytes, totalmem() * HOST_PART) : LIMITS.versionBytes
}

function nameOf({ client, number }: VersionId): string {
  return `${number} ${client}`
}

function gone(why: string): WarpdexError {
  return new WarpdexError('VERSION_GONE', `${why}; open a new one`)
}

function sees({ only }: OpenVersion, copies: VersionCopies): boolean {
  return only === undefined || only === copies
}

type Structure = PagedStructure<IndexStructure>

/** Makes a copy of what there is at the time of the call; it asks first for the bytes that this takes. */
type MakeCopy = (reserve: (bytes: number) => void) => Promise<CopiedIndex>

/** What an index held, and the position of the last log record of that. */
interface CopiedIndex {
  readonly structure: Structure
  readonly position: number
}

/** Versions that were opened after one moment and up to another. */
interface Moments {
  readonly after: number
  readonly through: number
}

/** What an index held, for the versions that were opened after one moment and up to another. */
class VersionCopy {
  readonly #after: number
  readonly #through: number
  readonly #copied: Promise<CopiedIndex>
  /** The copies of its index. */
  readonly owner: VersionCopies
  /** Resolves when it is made, or cannot be. */
  readonly made: Promise<void>
  /** Bytes that it was made with. */
  bytes = 0
  #uses = 0
  #onUnused: (() => void) | undefined
  #dropped: Promise<void> | undefined

  constructor(owner: VersionCopies, moments: Moments, make: (copy: VersionCopy) => Promise<CopiedIndex>) {
    this.owner = owner
    this.#after = moments.after
    this.#through = moments.through
    this.#copied = make(this)
    // Whoever reads it is told of a failure.
    this.made = this.#copied.then(
      () => {},
      () => {},
    )
  }

  covers(moment: number): boolean {
    return this.#after < moment && moment <= this.#through
  }

  /** @throws WarpdexError `VERSION_GONE` where it could not be made, and what the task throws */
  async use<T>(task: (structure: Structure) => Promise<T>): Promise<T> {
    this.#uses++
    try {
      const { structure } = await this.#made()
      return await task(structure)
    } finally {
      this.#uses--
      if (this.#uses === 0) this.#onUnused?.()
    }
  }

  /** Position of the last log record that it has. @throws WarpdexError `VERSION_GONE` where it could not be made */
  async position(): Promise<number> {
    return (await this.#made()).position
  }

  async #made(): Promise<CopiedIndex> {
    try {
      return await this.#copied
    } catch (error) {
      const { code, message } = toWarpdexError(error)
      throw code === 'VERSION_GONE' ? error : gone(`the index could not be copied for it: ${message}`)
    }
  }

  /** Gives it back once nobody uses it. */
  drop(): Promise<void> {
    this.#dropped ??= this.#drop()
    return this.#dropped
  }

  async #drop(): Promise<void> {
    const copied = await this.#copied.catch(() => undefined)
    if (this.#uses > 0) await new Promise<void>((resolve) => (this.#onUnused = resolve))
    await copied?.structure.destroy()
    this.owner.remove(this)
  }
}

/** The copies of one index. */
export class VersionCopies {
  readonly #versions: ReadVersions
  readonly #copies = new Set<VersionCopy>()
  /** Up to which moment all versions have a copy, or had one. */
  #through = 0

  constructor(versions: ReadVersions) {
    this.#versions = versions
  }

  /** Whether a version was opened since the last copy, so that another is to be made before anything is written. */
  get isDue(): boolean {
    return this.#versions.openAfter(this.#through, this).some((moment) => this.#of(moment) === undefined)
  }

  get isEmpty(): boolean {
    return this.#copies.size === 0
  }

  /** Adds one for all versions that were opened since the last. */
  add(make: MakeCopy): void {
    const through = this.#newest
    void this.#add({ after: this.#through, through }, make)
    this.#through = through
  }

  get #newest(): number {
    return this.#versions.openAfter(this.#through, this).at(-1) ?? this.#through
  }

  #add(moments: Moments, make: MakeCopy): Promise<void> {
    const versions = this.#versions
    const reserving = (copy: VersionCopy) =>
      make((bytes) => {
        versions.requireRoom(bytes)
        copy.bytes = bytes
      })
    const copy = new VersionCopy(this, moments, reserving)
    this.#copies.add(copy)
    versions.add(copy)
    return copy.made
  }

  remove(copy: VersionCopy): void {
    this.#copies.delete(copy)
    this.#versions.remove(copy)
  }

  /** As `add`, for the newest version only. Resolves when the copy is made, or cannot be. */
  addForNewest(make: MakeCopy): Promise<void> {
    const newest = this.#newest
    return this.#add({ after: newest - 1, through: newest }, make)
  }

  /**
   * The one that a version sees; undefined where nothing was written since, so that it sees what there is.
   * @throws WarpdexError `BAD_REQUEST` for a version that a scan of another index has opened
   */
  of({ moment, only }: OpenVersion): VersionCopy | undefined {
    if (only === undefined || only === this) return this.#of(moment)
    throw badRequest('this read version was opened by a scan, and has no other index than that of the scan')
  }

  #of(moment: number): VersionCopy | undefined {
    for (const copy of this.#copies) if (copy.covers(moment)) return copy
    return undefined
  }

  async drop(): Promise<void> {
    await Promise.all([...this.#copies].map((copy) => copy.drop()))
  }
}
