import type { AbortSignalLike } from '../../../protocol/abort-signal.js'
import { aligned } from '../../../protocol/columns.js'
import { badRequest, WarpdexError } from '../../../protocol/errors.js'
import type { IndexDefinition, KeyType, PayloadKind, PlacedRange } from '../../../protocol/types.js'
import type { LoadBatch } from '../bulk-load.js'
import { CALL_OPTIONS, UNBOUNDED } from '../call-options.js'
import type { Connection } from '../connection.js'
import { IndexCalls } from '../index-calls.js'
import type { AnyKeys } from '../keys.js'
import type { NodeConnection } from '../node-connection.js'
import { definitionOf } from '../options.js'
import { Index } from '../remote-index.js'
import { eachEntry, readColumn } from '../reply.js'
import type { ScanPage } from '../results.js'
import { entryPages, type Pages, Scan } from '../scan.js'
import { Snapshot } from '../snapshot.js'
import { beginningOf, type Change, watchChanges } from '../watch.js'
import { ClusterConnection } from './cluster-connection.js'
import { equalParts } from './equal-parts.js'
import { type Ends, ON_FIRST, Placement } from './placement.js'
import { formerName } from './rename-indexes.js'
import { rangeIn } from './watch-parts.js'

/** What a split tells of itself. */
export interface SplitProgress {
  readonly step: 'copying' | 'catching up'
  /** Entries that were copied, or changes that were made there since. */
  readonly done: number
}

interface Options {
  readonly onProgress?: ((progress: SplitProgress) => void) | undefined
  readonly signal?: AbortSignalLike | undefined
}

type AnyIndex = Index<KeyType, PayloadKind>

/** For how long the copies may take. */
const SNAPSHOT_SECONDS = 3600
/** For how long a split that is under way may write nothing. */
const STILL_MS = 5000
/** Changes that are made while calls wait: they take less than a moment. */
const FEW_CHANGES = 1000
/** Changes that are on their way at a time. */
const MOST_CHANGES = 10_000
/** How often changes are caught up with before calls wait for the rest: who writes faster than they are made would be waited for for ever. */
const ROUNDS = 20

/**
 * As `Client.splitIndex`. The new index is made beside the old one under another name. When it has nearly all, the old one gets a third name, on each
 * replica set; nobody writes to that any more, so its last changes are few. Then the new one gets the name.
 */
export async function splitIndex(
  connection: Connection,
  name: string,
  splitAt: AnyKeys | undefined,
  options: Options,
): Promise<number> {
  if (!(connection instanceof ClusterConnection))
    throw badRequest('splitIndex is for a cluster of several replica sets')
  const split = new Split(connection, name, options)
  await split.requireAlone()
  await split.settle()
  const parts = await split.begin(splitAt ?? (await split.equalParts()))
  try {
    return await split.run(parts)
  } catch (error) {
    await split.settle()
    throw error
  }
}

/** A part of the index that is to be split, on one replica set. */
interface Source {
  readonly set: number
  /** What is made of its changes already: those that its snapshot shows, or those up to the position of a batch. */
  from: Snapshot | string
}

/** The index that is to take the place of another. */
interface Target extends Pick<IndexDefinition, 'unique' | 'ttl'> {
  /** Where that has its keys. */
  readonly former: Placement
  readonly calls: IndexCalls
  readonly index: AnyIndex
}

/** The index that is to be split, and where its keys are to be. */
interface Parts {
  readonly old: IndexDefinition & { readonly placement: readonly PlacedRange[] }
  readonly places: readonly PlacedRange[]
}

class Split {
  readonly #cluster: ClusterConnection
  readonly #name: string
  readonly #next: string
  readonly #former: string
  readonly #options: Options
  #changes = 0

  constructor(cluster: ClusterConnection, name: string, options: Options) {
    this.#cluster = cluster
    this.#name = name
    this.#next = `${name} ~next`
    this.#former = formerName(name)
    this.#options = options
  }

  /** @throws WarpdexError `INDEX_EXISTS` where another one is under way; one that ended halfway stands still */
  async requireAlone(): Promise<void> {
    const next = await this.#found(0, this.#next)
    if (next === undefined) return
    const feeds = setsOf(next.placement ?? ON_FIRST).map((set) => this.#calls(set, this.#next))
    const reached = async () => {
      const all = await Promise.all(feeds.map((calls) => beginningOf(calls, undefined, () => UNBOUNDED)))
      return all.join()
    }
    const isGone = () => undefined
    const before = await reached().catch(isGone)
    await new Promise((resolve) => setTimeout(resolve, STILL_MS))
    if ((await reached().catch(isGone)) !== before) throw this.#isUnderWay()
  }

  /** Keys that give each replica set as many entries. */
  async equalParts(): Promise<AnyKeys> {
    const index = new Index(new IndexCalls(this.#cluster, this.#name)) as AnyIndex
    const { splitAt } = await equalParts(index, this.#cluster.replicaSets.length, this.#options.signal)
    if (splitAt.length > 0) return splitAt as AnyKeys
    throw badRequest(`index ${JSON.stringify(this.#name)} has too few keys to divide; name keys to split at`)
  }

  /** Makes the index that is to take the place, empty. @throws WarpdexError as `requireAlone` */
  async begin(splitAt: AnyKeys): Promise<Parts> {
    const { placement = ON_FIRST, ...old } = await this.#definitionOf(0, this.#name)
    if (old.of !== undefined)
      throw badRequest('an index over columns of a relation is where the relation is, on replica set 0')
    const { placement: places = ON_FIRST } = this.#cluster.placementFor(old, splitAt)
    const fields = { ...old, index: this.#next, name: undefined, placement: places }
    await this.#cluster.request('createIndex', fields, {}, UNBOUNDED).catch((error: unknown) => {
      throw error instanceof WarpdexError && error.code === 'INDEX_EXISTS' ? this.#isUnderWay() : error
    })
    return { old: { ...old, placement }, places }
  }

  /** @returns how many entries were copied */
  async run({ old, places }: Parts): Promise<number> {
    const calls = new IndexCalls(this.#cluster, this.#next)
    const { unique, ttl } = old
    const target = { calls, index: new Index(calls) as AnyIndex, former: new Placement(old), unique, ttl }
    const sources = await Promise.all(setsOf(old.placement).map((set) => this.#sourceOf(set)))
    const copied = await this.#copy(sources, target)
    for (let round = 0; round < ROUNDS; round++) {
      const found = await this.#catchUp(sources, this.#name, target)
      if (found < FEW_CHANGES) break
    }
    for (const { set } of sources) await this.#rename(set, this.#name, this.#former)
    for (const source of sources) await this.#goOnAsFormer(source)
    await this.#catchUp(sources, this.#former, target)
    for (const set of setsOf(places).reverse()) await this.#rename(set, this.#next, this.#name)
    await this.#drop(this.#former)
    return copied
  }

  /** Ends, or undoes, what an earlier attempt has left. */
  async settle(): Promise<void> {
    const sets = [...this.#cluster.replicaSets.keys()]
    const former = await this.#found(0, this.#former)
    const isDone = former !== undefined && (await this.#found(0, this.#name)) !== undefined
    if (isDone) return this.#drop(this.#former)
    await this.#drop(this.#next)
    if (former === undefined) return
    for (const set of sets.reverse()) {
      if ((await this.#found(set, this.#former)) === undefined) continue
      // What has the name there is the new one.
      await this.#ask(set, 'dropIndex', { index: this.#name, ifExists: true })
      await this.#rename(set, this.#former, this.#name)
    }
    // Elsewhere there is nothing of the old one.
    for (const set of sets)
      if (!setsOf(former.placement ?? ON_FIRST).includes(set))
        await this.#ask(set, 'dropIndex', { index: this.#name, ifExists: true })
  }

  async #sourceOf(set: number): Promise<Source> {
    const connection = this.#connection(set)
    const version = connection.newVersion()
    await connection.request('openVersion', { version, seconds: SNAPSHOT_SECONDS }, {}, UNBOUNDED)
    return { set, from: new Snapshot(connection, version) }
  }

  async #copy(sources: readonly Source[], { index: target, ttl }: Target): Promise<number> {
    let copied = 0
    for (const { set, from } of sources) {
      const kind = ttl === undefined ? entryPages<KeyType, PayloadKind>() : timedPages()
      const pages = new Scan(this.#calls(set, this.#name), { snapshot: from as Snapshot }, kind).pages()
      const onProgress = ({ rows }: { readonly rows: number }) =>
        this.#tell({ step: 'copying', done: copied + rows })
      const { signal } = this.#options
      copied += (await target.bulkLoad(batchesOf(pages), { onProgress, signal })).rows
    }
    return copied
  }

  /** Makes what has changed. @returns how many changes */
  async #catchUp(sources: readonly Source[], name: string, target: Target): Promise<number> {
    const before = this.#changes
    const { former } = target
    for (const source of sources) {
      const { from } = source
      const making: Promise<unknown>[] = []
      for await (const batch of watchChanges(this.#calls(source.set, name), { from }, true)) {
        const range = rangeIn(batch, former, former.sets.indexOf(source.set))
        for (const change of batch) making.push(make(change, target, range))
        this.#changes += batch.length
        source.from = batch.position
        // Many at a time: each write waits for its place in the log.
        if (making.length > MOST_CHANGES) await Promise.all(making.splice(0))
        this.#tell({ step: 'catching up', done: this.#changes })
      }
      await Promise.all(making)
    }
    return this.#changes - before
  }

  /** @throws WarpdexError `CANCELLED` where nobody waits any more */
  #tell(progress: SplitProgress): void {
    const { onProgress, signal } = this.#options
    if (signal?.aborted === true) throw new WarpdexError('CANCELLED', 'the split was cancelled')
    onProgress?.(progress)
  }

  /** Positions name the generation, which is another one under another name. */
  async #goOnAsFormer(source: Source): Promise<void> {
    if (typeof source.from !== 'string') return
    const { handle, generation } = await this.#calls(source.set, this.#former).definition.get(UNBOUNDED)
    source.from = `${handle}.${generation}.${source.from.split('.')[2]}`
  }

  #isUnderWay(): WarpdexError {
    const name = JSON.stringify(this.#name)
    return new WarpdexError('INDEX_EXISTS', `another split of index ${name} is under way; wait for its end`)
  }

  #connection(set: number): NodeConnection {
    return this.#cluster.replicaSets[set]!
  }

  #calls(set: number, name: string): IndexCalls {
    return new IndexCalls(this.#connection(set), name)
  }

  async #definitionOf(set: number, name: string): Promise<IndexDefinition> {
    return definitionOf(await this.#calls(set, name).definition.get(UNBOUNDED))
  }

  async #found(set: number, name: string): Promise<IndexDefinition | undefined> {
    try {
      return await this.#definitionOf(set, name)
    } catch (error) {
      if (error instanceof WarpdexError && error.code === 'UNKNOWN_INDEX') return undefined
      throw error
    }
  }

  async #rename(set: number, index: string, to: string): Promise<void> {
    await this.#ask(set, 'renameIndex', { index, to })
  }

  async #drop(index: string): Promise<void> {
    await this.#cluster.request('dropIndex', { index, ifExists: true }, {}, UNBOUNDED)
  }

  async #ask(set: number, op: 'renameIndex' | 'dropIndex', fields: object): Promise<void> {
    await this.#connection(set).request(op, fields, {}, UNBOUNDED)
  }
}

/** Replica sets that have an index, the first one with its definition before the others. */
function setsOf(placement: readonly PlacedRange[]): number[] {
  return [...new Set([0, ...placement.map(({ set }) => set)])]
}

type TimedPage = ScanPage<KeyType, PayloadKind> & { readonly expireAt?: BigUint64Array }

/** Pages of whole indexes that say when their entries expire. */
function timedPages(): Pages<TimedPage> {
  const pages = entryPages<KeyType, PayloadKind>()
  const read: Pages<TimedPage>['read'] = (parts, known, token) =>
    Object.assign(pages.read(parts, known, token), {
      expireAt: aligned(readColumn(parts, 'expireAt', 8, eachEntry).bytes, BigUint64Array),
    })
  return { ...pages, asks: { withExpireAt: true }, read }
}

async function* batchesOf(pages: AsyncIterable<TimedPage>): AsyncGenerator<LoadBatch> {
  for await (const { keys, payloads, expireAt } of pages) {
    const { array, offsets } = payloads
    const column = offsets === undefined ? array : { bytes: array, offsets }
    // Columns that came back are ones to store.
    yield { keys, payloads: column, expireAt: expireAt && Float64Array.from(expireAt, Number) } as LoadBatch
  }
}

/** Makes a change; changes that are made in one turn leave together, in their order. */
function make(
  change: Change<KeyType, PayloadKind>,
  { index, calls, unique }: Target,
  ends: Ends | undefined,
): Promise<unknown> {
  if (change.op === 'insert' || change.op === 'put') {
    const { key, payload, expireAt } = change
    // What was inserted where another entry had expired may find that here still.
    const isPut = unique || change.op === 'put'
    return isPut ? index.put(key, payload, { expireAt }) : index.insert(key, payload, { expireAt })
  }
  if (change.op === 'delete')
    return index.delete(change.key, change.payload === undefined ? {} : { payload: change.payload })
  if (ends === undefined) return Promise.resolve()
  const { from, to, fromExclusive, toExclusive } = ends
  const writeId = calls.connection.newWriteId()
  const call = {
    op: 'deleteRange',
    count: 1,
    fromExclusive,
    toExclusive,
    writeId,
    columns: { from, to },
  } as const
  return calls.begin('deleteRange', {}, CALL_OPTIONS, (known, bounds) => calls.request(known, call, bounds))
}
