import { setTimeout as pause } from 'node:timers/promises'
import { decodeEntry, encodeEntry } from '../../persistence/replication/change-sets.js'
import { badRequest, toWarpdexError, WarpdexError } from '../../protocol/errors.js'
import type { NodePosition, ReplicaRole } from '../../protocol/replica.js'
import type { Engine } from '../engine/engine.js'
import type { Watcher } from '../engine/feed-waits.js'
import { Freshness } from './freshness.js'
import { patiently } from './nats.js'
import { PositionWaits } from './position-waits.js'
import { ReplicaLogWriter } from './replica-log-writer.js'
import type { ReplicatedLog } from './replicated-log.js'
import type { ReplicaSnapshots } from './snapshots/replica-snapshots.js'

/** Whose turn it is to append to the log. */
export interface Ownership {
  /** Whether it is this node's at the moment. */
  readonly isHeld: boolean
  /** Where clients reach whoever it is, as far as is known. */
  readonly owner: string | undefined
  /** Resolves when it is this node's. */
  gained(): Promise<void>
  /** Resolves when it is not, or may not be, any more. */
  lost(): Promise<void>
  /** Leaves it to another node, if there is one, for a while. @param successor address of the one that takes it at once */
  rest(successor?: string): void
  /** Gives it up. */
  close(): Promise<void>
}

interface ReplicaOptions {
  readonly engine: Engine
  readonly log: ReplicatedLog
  readonly ownership: Ownership
  /** Of the replica set. */
  readonly name: string
  readonly onWarning: (message: string) => void
  readonly snapshots?: ReplicaSnapshots | undefined
  /** Has everything begin anew from a snapshot that is ahead of a position. @returns whether there is one */
  readonly restore?: ((position: number) => Promise<boolean>) | undefined
}

/** How old the data of a node may be for that: the end of the log is asked for more often. */
const FRESH_MS = 1000
/** How long it waits after what it could not do. */
const PAUSE_MS = 1000
/** How long its turn may last without it being the owner, or having read more of the log: others may do better. */
const STANDSTILL_MS = 5000

/**
 * A node of a replica set. All of them have the same indexes and relations, by one log: its **owner** appends what clients write before
 * it is stored there, and the others follow, making the same changes in the same order. So whoever becomes the owner has all that was
 * acknowledged once it has read the log to its end, and its first entry keeps a former owner from appending: each append names the entry before.
 */
export class ReplicaNode {
  readonly #options: ReplicaOptions
  readonly #closing = new AbortController()
  readonly #running: Promise<void>
  readonly #waits = new PositionWaits(() => this.#acknowledged)
  readonly #freshness: Freshness
  /** Told when what it owned is lost, and before what it has begun to write is settled. */
  onLost: () => void = () => {}
  /** How many positions of the log a node lacks that the replica set is about to be left to; undefined where it is not. */
  successorLacks: number | undefined
  /** Address of the node that what this one owns is left to; undefined where it is not. */
  #successor: string | undefined
  #role: ReplicaRole = 'following'
  /** Position of the last entry of which everything is made. */
  #position: number
  #writer: ReplicaLogWriter | undefined

  private constructor(options: ReplicaOptions) {
    this.#options = options
    this.#position = positionOf(options.engine)
    options.engine.replica.figures = () => {
      const { role, owner, position, successorLacks } = this
      return { name: options.name, role, owner, position, successorLacks }
    }
    options.engine.replica.reached = (position, watcher) => this.#reached(position, watcher)
    this.#freshness = new Freshness({
      log: options.log,
      position: () => this.position,
      isOwner: () => this.isOwner,
    })
    void this.#freshness.run(this.#closing.signal)
    this.#running = this.#run()
    void this.#watch()
  }

  /**
   * Has an engine take part in a replica set.
   * @throws WarpdexError `BAD_REQUEST` where its data directory is of another replica set, or of none and not empty
   */
  static async open(options: ReplicaOptions): Promise<ReplicaNode> {
    const { engine, name, log } = options
    const { note, isEmpty } = engine.replica
    if (note === undefined && !isEmpty) {
      const why = 'the data directory holds indexes or relations that are of no replica set'
      throw badRequest(`${why}; start with an empty one, and load them through the replica set`)
    }
    if (note !== undefined && note.name !== name) {
      throw badRequest(`the data directory is of the replica set ${note.name}, not of ${name}`)
    }
    if (positionOf(engine) > (await patiently(() => log.head()))) {
      throw badRequest(`the log of ${name} lacks what the data directory has of it; is it another log?`)
    }
    await engine.replica.stopSharing()
    return new ReplicaNode(options)
  }

  get role(): ReplicaRole {
    return this.#role
  }

  /** Where clients reach the owner, as far as is known. */
  get owner(): string | undefined {
    return this.#options.ownership.owner
  }

  /** Position in the log up to which everything is made. */
  get position(): number {
    // Its own first entry changes nothing in the engine.
    return this.#role === 'owner'
      ? Math.max(this.#position, positionOf(this.#options.engine))
      : this.#position
  }

  /** Whether it owns the replica set, so that nobody else has acknowledged what it does not have. */
  get isOwner(): boolean {
    return this.#role === 'owner' && this.#options.ownership.isHeld
  }

  /** Whether it would soon have read the log to its end. */
  get isFresh(): boolean {
    return (this.#freshness.behind ?? Number.POSITIVE_INFINITY) <= FRESH_MS
  }

  /**
   * Finishes what is being written, and leaves the replica set that it owns to another node. Resolves when a node has taken it, or some time
   * has passed.
   * @param url address of the other node
   */
  async leaveTo(url: string, watcher: Watcher): Promise<void> {
    this.#successor = url
    this.#writer?.failed(new WarpdexError('NOT_OWNER', `the replica set is left to ${url}`))
    await this.#options.ownership.lost()
    // A new owner begins by an entry of its own.
    await this.#waits.wait(this.#position + 1, watcher)
  }

  /** Resolves when no snapshot is being taken. */
  async settled(): Promise<void> {
    await this.#options.snapshots?.settled()
  }

  /** Makes nothing more of what others append. What it owns it goes on owning, for the writes that its engine still makes. */
  async stopFollowing(): Promise<void> {
    this.#closing.abort()
    this.#waits.end()
    await this.settled()
    if (this.#role !== 'owner') await this.#running
  }

  /** Gives up what it owns. The engine takes no writes any more. */
  async close(): Promise<void> {
    await this.stopFollowing()
    this.#writer?.failed(new WarpdexError('SHUTTING_DOWN', 'the server is shutting down'))
    await this.#running
    await this.#options.ownership.close()
  }

  async #run(): Promise<void> {
    while (!this.#closing.signal.aborted) {
      try {
        await this.#follow()
        const position = await this.#takeOver()
        if (position !== undefined) await this.#own(position)
      } catch (thrown) {
        if (this.#closing.signal.aborted) return
        const { code, message } = toWarpdexError(thrown)
        // Another node was faster, and its entries are read next.
        if (code === 'NOT_OWNER') continue
        if (code === 'DAMAGED_FILE' && (await this.#options.restore?.(this.#position)) === true) {
          this.#role = 'restoring'
          return
        }
        this.#role = 'failed'
        // What is wrong here, as a full disk, is not wrong with others. They have no better log.
        if (thrown instanceof WarpdexError) this.#options.ownership.rest()
        this.#options.onWarning(`the replica set cannot be followed: ${message}; trying again`)
        await this.#pause()
      }
    }
  }

  /** Leaves the replica set to others when it is this node's turn, and nothing goes on here. */
  async #watch(): Promise<void> {
    const { ownership, onWarning } = this.#options
    while (!this.#closing.signal.aborted) {
      await ownership.gained()
      const { position } = this
      await this.#pause(STANDSTILL_MS)
      if (this.#closing.signal.aborted) return
      if (!ownership.isHeld || this.#role === 'owner' || this.position > position) continue
      onWarning('the replica set is left to other nodes, since its log cannot be read here for the moment')
      ownership.rest()
    }
  }

  /** Makes what others append, until it is this node's turn. */
  async #follow(): Promise<void> {
    const { ownership, log } = this.#options
    this.#role = 'following'
    const turn = new AbortController()
    const end = () => turn.abort()
    void ownership.gained().then(end)
    this.#closing.signal.addEventListener('abort', end)
    try {
      for await (const entry of log.read(this.#position, turn.signal)) {
        await this.#take(entry.position, entry.bytes)
        if (turn.signal.aborted) break
      }
    } finally {
      this.#closing.signal.removeEventListener('abort', end)
    }
  }

  /** Makes all that was appended, and appends an entry of its own. @returns its position; undefined where it is not its turn any more */
  async #takeOver(): Promise<number | undefined> {
    const { ownership, log } = this.#options
    if (!ownership.isHeld || this.#closing.signal.aborted) return undefined
    const head = await log.head()
    if (head > this.#position) {
      for await (const { position, bytes } of log.read(this.#position, this.#closing.signal)) {
        await this.#take(position, bytes)
        if (position >= head) break
      }
    }
    if (head > this.#position || !ownership.isHeld) return undefined
    return log.append(encodeEntry([]), head)
  }

  /** Appends what clients write, until it is not its turn any more. */
  async #own(position: number): Promise<void> {
    const { engine, ownership, log, name, snapshots } = this.#options
    await snapshots?.begin()
    const appended = (bytes: number) => snapshots?.appended(bytes, () => positionOf(engine))
    const writer = new ReplicaLogWriter(log, position, () => ownership.isHeld, appended)
    this.#writer = writer
    if (this.#closing.signal.aborted) return
    engine.replica.shareBy(writer, name)
    this.#position = position
    this.#role = 'owner'
    void ownership.lost().then(() => {
      writer.failed(new WarpdexError('NOT_OWNER', 'this node owns its replica set no more'))
    })
    const reason = await writer.end
    this.#role = 'following'
    this.onLost()
    await engine.replica.stopSharing()
    this.#position = positionOf(engine)
    if (this.#successor !== undefined) ownership.rest(this.#successor)
    this.#successor = undefined
    if (reason.code !== 'NOT_OWNER' && reason.code !== 'SHUTTING_DOWN')
      this.#options.onWarning(`writes are given up to another node: ${reason.message}`)
  }

  /** Makes the changes of an entry that are not made yet. */
  async #take(position: number, bytes: Uint8Array): Promise<void> {
    const { engine, name } = this.#options
    const sets = decodeEntry(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength))
    for (const [set, changes] of sets.entries()) {
      const known = engine.replica.note?.position
      if (known !== undefined && known.entry === position && set <= known.set) continue
      await engine.replica.take(changes, name, { entry: position, set, sets: sets.length })
    }
    this.#position = position
  }

  /** Position at which another node has all that this one has acknowledged: what the owner has of an entry, others have with the whole of it. */
  get #acknowledged(): number {
    const { entry = 0 } = this.#options.engine.replica.note?.position ?? {}
    return this.isOwner ? Math.max(this.position, entry) : this.position
  }

  /** Waits for a position, for some time. @returns what the node has by then */
  async #reached(position: number, watcher: Watcher): Promise<NodePosition> {
    if (!this.#closing.signal.aborted) await this.#waits.wait(position, watcher)
    return { position: this.#acknowledged, role: this.#role, behind: this.#freshness.behind }
  }

  async #pause(milliseconds = PAUSE_MS): Promise<void> {
    await pause(milliseconds, undefined, { signal: this.#closing.signal }).catch(() => {})
  }
}

/** Of the last entry of which all is made. */
function positionOf({ replica }: Engine): number {
  const { entry = 0, set = 0, sets = 1 } = replica.note?.position ?? {}
  return set + 1 < sets ? entry - 1 : entry
}
