import type { Device } from '../../../../gpu/device/device.js'
import type { ReadColumns, ReadOp, ReadRequest } from '../../../../gpu/index-structure.js'
import { WarpdexError } from '../../../../protocol/errors.js'
import { ReplicaNode } from '../../../../src/cluster/replica-node.js'
import { Engine, type EngineOptions } from '../../../../src/engine/index.js'
import type { OpenVersion, VersionId } from '../../../../src/engine/read-versions.js'
import { expectEqual } from '../../../differential.js'
import { readBack } from '../../../gpu/relational/stored/read-back.js'
import { OrderedModel } from '../../../ordered-model.js'
import type { Random } from '../../../random.js'
import { HandedOwnership, MemoryLog } from '../../cluster/memory-log.js'
import { HandClock } from '../hand-clock.js'
import { ColumnKeySpace } from './column-keys.js'
import { KnownIndex, type Room, randomDefinition } from './known-index.js'
import { KnownRelation, randomRelation, randomValue } from './known-relation.js'

/** What a read version sees. */
interface KnownVersion {
  readonly seen: ReadonlyMap<KnownIndex, OrderedModel>
  readonly seconds: number
  lastUse: number
}

/** A write that may be sent again. */
export interface SentWrite {
  /** What it goes to, or has conditions on. */
  readonly about: readonly (KnownIndex | KnownRelation)[]
  /** @returns what is compared of its answer */
  send(): Promise<unknown>
  readonly answer: unknown
}

export type WorldOptions = Room &
  Pick<EngineOptions, 'directory' | 'structures' | 'onWarning'> & {
    readonly openDevice: () => Promise<Device>
    /** Whether the engine owns a replica set. */
    readonly isReplicated?: boolean | undefined
  }

const CLIENT = 'fuzz'
/** Name of the node that takes writes. */
const OWNER = 'owner'
const SNAPSHOT_LOG_BYTES = 8192
/** Writes that are sent again at random. */
const REMEMBERED = 40
/** Notes that are kept of what was done. */
const NOTES = 30

/** An engine and what it must hold. Much may be under way at a time, since what it has to answer is settled by the order of the calls. */
export class World {
  readonly random: Random
  readonly clock = new HandClock()
  readonly indexes = new Map<string, KnownIndex>()
  readonly relations = new Map<string, KnownRelation>()
  readonly versions = new Map<number, KnownVersion>()
  readonly sent: SentWrite[] = []
  readonly #options: WorldOptions
  readonly #log = new MemoryLog()
  readonly #ownership = new HandedOwnership()
  #engine!: Engine
  #device!: Device
  #underWay: Promise<unknown>[] = []
  #failure: unknown
  #nextNumber = 1
  /** What was done last, in words. */
  readonly notes: string[] = []
  /** Answers that were compared. */
  checks = 0

  private constructor(random: Random, options: WorldOptions) {
    this.random = random
    this.#options = options
  }

  static async open(random: Random, options: WorldOptions): Promise<World> {
    const world = new World(random, options)
    await world.openEngine()
    return world
  }

  get engine(): Engine {
    return this.#engine
  }

  /** What the engine's device is at the moment. */
  get device(): Device {
    return this.#device
  }

  async openEngine(): Promise<void> {
    await this.#open(this.#options.directory, OWNER)
  }

  /** Goes on with an engine that has followed this one, from a directory of its own. */
  async goOnWithFollower(): Promise<void> {
    await this.settle()
    await this.#engine.close()
    await this.#open(`${this.#options.directory}-follower`, 'follower')
    // It has none.
    this.versions.clear()
  }

  async #open(directory: string, node: string): Promise<void> {
    this.#engine = await Engine.open({
      ...this.#options,
      directory,
      clock: this.clock,
      snapshotLogBytes: SNAPSHOT_LOG_BYTES,
      // All of the log, so that feeds go on whenever they are looked at.
      feedBytes: Number.MAX_SAFE_INTEGER,
      openDevice: async () => {
        this.#device = await this.#options.openDevice()
        return this.#device
      },
    })
    if (this.#options.isReplicated === true) await this.#replicate(node)
    for (const [name, known] of this.indexes) known.index = this.#engine.index(name)
    for (const [name, known] of this.relations) known.relation = this.#engine.relation(name)
  }

  /** Makes the engine a node of the replica set, which has what is in the log before this resolves. */
  async #replicate(node: string): Promise<void> {
    const engine = this.#engine
    const opened = await ReplicaNode.open({
      engine,
      log: this.#log.face(),
      ownership: this.#ownership.of(node),
      name: 'fuzz',
      onWarning: this.#options.onWarning ?? (() => {}),
    })
    const close = engine.close.bind(engine)
    engine.close = async () => {
      await opened.stopFollowing()
      await close()
      await opened.close()
    }
    this.#ownership.give(OWNER)
    const isThere = () => (node === OWNER ? opened.isOwner : opened.position === this.#log.entries.length)
    while (!isThere()) await new Promise((resolve) => setTimeout(resolve, 1))
  }

  /** Lets time pass, in which entries expire. Nothing may be under way. */
  passTime(seconds: number): void {
    this.clock.pass(seconds)
    for (const known of this.indexes.values()) known.expire()
  }

  /** A number that names a write or a read version. */
  newId(): { readonly client: string; readonly number: number } {
    return { client: CLIENT, number: this.#nextNumber++ }
  }

  idOf(number: number): VersionId {
    return { client: CLIENT, number }
  }

  pickName(): string | undefined {
    return this.indexes.size === 0 ? undefined : this.random.pick([...this.indexes.keys()])
  }

  /** Those that take writes. */
  writable(): readonly KnownIndex[] {
    return [...this.indexes.values()].filter(({ isDerived }) => !isDerived)
  }

  /** One that takes writes. */
  pickIndex(): KnownIndex | undefined {
    const all = this.writable()
    return all.length === 0 ? undefined : this.random.pick(all)
  }

  pickRelation(): KnownRelation | undefined {
    return this.relations.size === 0 ? undefined : this.random.pick([...this.relations.values()])
  }

  /** Whether an index or a relation is not dropped. */
  has(known: KnownIndex | KnownRelation): boolean {
    return [...this.indexes.values(), ...this.relations.values()].includes(known)
  }

  async createIndex(name: string): Promise<void> {
    this.note(`create ${name}`)
    await this.#engine.createIndex(randomDefinition(this.random, name, this.#options))
    this.indexes.set(name, new KnownIndex(this.random, this.#engine.index(name), this.clock))
  }

  /** Creates an index over a column of a relation. */
  async createIndexOver(name: string, over: KnownRelation): Promise<void> {
    const column = this.random.pick(over.definition.columns)
    const relation = over.definition.name
    this.note(`create ${name} over ${relation}`)
    await this.#engine.createRelationIndex({ name, relation, columns: [column.name] })
    const keySpace = new ColumnKeySpace(column, () => randomValue(this.random, column))
    const known = new KnownIndex(this.random, this.#engine.index(name), this.clock, keySpace)
    over.addIndex(known, column.name)
    this.indexes.set(name, known)
  }

  async createRelation(name: string): Promise<void> {
    this.note(`create relation ${name}`)
    await this.#engine.createRelation(randomRelation(this.random, name))
    this.relations.set(name, new KnownRelation(this.#engine.relation(name)))
  }

  /** Has the feed of an index tell what has changed, which makes what there is. */
  async catchUp(known: KnownIndex): Promise<void> {
    await known.followed.catchUp()
    const all = { op: 'scan', ranges: 1, limit: 100_000 } as const
    const [made, there] = [known.followed.model, known.model].map((model) =>
      known.comparable(model.answer(all, {})),
    )
    this.compare(made, there, `what a feed makes of ${JSON.stringify(known.definition)}`)
  }

  /** Notes a write, and sees that it is answered as it must be. */
  write(write: SentWrite, isNamed: boolean): void {
    if (isNamed) this.sent.push(write)
    if (this.sent.length > REMEMBERED) this.sent.shift()
    this.expect(write.send(), write.answer, 'a write')
  }

  /** Reads what there is, or what a version sees. */
  read(
    known: KnownIndex,
    { request, columns }: { readonly request: ReadRequest<ReadOp>; readonly columns: ReadColumns },
    model: OrderedModel = known.model,
    version?: OpenVersion,
  ): void {
    const answer = known.index.read(request, columns, undefined, version)
    const what = `${JSON.stringify(request)} of ${JSON.stringify(known.definition)}`
    this.expect(
      answer.then((found) => known.comparable(found)),
      known.comparable(model.answer(request, columns)),
      version === undefined ? what : `${what}, version ${version.moment}`,
    )
  }

  /** Uses a version. */
  useVersion(number: number, version: KnownVersion): OpenVersion {
    version.lastUse = this.clock.now()
    return this.#engine.versions.use(this.idOf(number))
  }

  /** Compares an answer when it comes. */
  expect(answer: Promise<unknown>, expected: unknown, what: string): void {
    this.follow(answer.then((found) => this.compare(found, expected, what)))
  }

  /** @throws Error that says where they differ */
  compare(found: unknown, expected: unknown, what: string): void {
    this.checks++
    expectEqual(found, expected, what)
  }

  /** Notes what is done, for whoever looks for a fault. */
  note(what: string): void {
    this.notes.push(what)
    if (this.notes.length > NOTES) this.notes.shift()
  }

  /** Sees that what is under way ends well. */
  follow(work: Promise<unknown>): void {
    const followed = work.then(
      () => {},
      (error: unknown) => {
        this.#failure ??= error
      },
    )
    this.#underWay.push(followed)
  }

  /** Waits for all that is under way. @throws what was wrong first */
  async settle(): Promise<void> {
    await Promise.all(this.#underWay)
    this.#underWay = []
    if (this.#failure !== undefined) throw this.#failure
  }

  /** Compares all that there is, when nothing is under way. */
  async checkAll(): Promise<void> {
    await this.settle()
    const named = this.#engine.list().map(({ name }) => name)
    this.compare(named.toSorted(), [...this.indexes.keys()].sort(), 'names')
    for (const [name, known] of this.indexes) {
      this.compare(this.#engine.index(name) === known.index, true, `the index under the name ${name}`)
      this.read(known, { request: { op: 'scan', ranges: 1, limit: 100_000 }, columns: {} })
    }
    this.#checkRelations()
    for (const [number, version] of this.versions) {
      for (const known of this.writable()) {
        const used = this.useVersion(number, version)
        this.read(
          known,
          { request: { op: 'scan', ranges: 1, limit: 100_000 }, columns: {} },
          seenBy(version, known),
          used,
        )
      }
    }
    await this.settle()
  }

  #checkRelations(): void {
    const named = this.#engine.relations().map(({ name }) => name)
    this.compare(named.toSorted(), [...this.relations.keys()].sort(), 'names of relations')
    for (const known of this.relations.values()) {
      const found = known.relation.use((columns) => readBack(this.#device, columns))
      this.expect(found, known.contents(), `the rows of ${JSON.stringify(known.definition)}`)
    }
  }

  /** Every version is gone. */
  loseVersions(): void {
    for (const number of this.versions.keys()) {
      try {
        this.#engine.versions.use(this.idOf(number))
      } catch (error) {
        if (error instanceof WarpdexError && error.code === 'VERSION_GONE') continue
        throw error
      }
      throw new Error(`read version ${number} is there still`)
    }
    this.versions.clear()
  }
}

/** What a version sees of an index; nothing of one that was made later. */
export function seenBy({ seen }: KnownVersion, known: KnownIndex): OrderedModel {
  return seen.get(known) ?? new OrderedModel(known.model.shape)
}
