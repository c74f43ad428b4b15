import type { AbortSignalLike } from '../../../protocol/abort-signal.js'
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
import type { ScanPage } from '../results.js'
import { Snapshot } from '../snapshot.js'
import { type Change, type ChangeBatch, type DeletedRange, watchChanges } from '../watch.js'
import { ClusterConnection } from './cluster-connection.js'
import { formerName } from './control.js'
import { type Ends, Placement } from './placement.js'

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
type AnyBatch = ChangeBatch<KeyType, PayloadKind>

/** Where an index without a placement is. */
const ON_FIRST: readonly PlacedRange[] = [{ set: 0 }]
/** For how long the copies may take. */
const SNAPSHOT_SECONDS = 3600
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
  splitAt: AnyKeys,
  options: Options,
): Promise<number> {
  if (!(connection instanceof ClusterConnection))
    throw badRequest('splitIndex is for a cluster of several replica sets')
  const split = new Split(connection, name, options)
  await split.settle()
  try {
    return await split.run(splitAt)
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
  /** The part of a range of keys that it has. */
  readonly clip: (ends: Ends) => Ends | undefined
}

/** The index that is to take the place. */
interface Target {
  readonly calls: IndexCalls
  readonly index: AnyIndex
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

  /** @returns how many entries were copied */
  async run(splitAt: AnyKeys): Promise<number> {
    const { placement = ON_FIRST, ...old } = await this.#definitionOf(0, this.#name)
    if (old.of !== undefined)
      throw badRequest('an index over columns of a relation is where the relation is, on replica set 0')
    const { placement: places = ON_FIRST } = this.#cluster.placementFor(old, splitAt)
    const definition = { ...old, name: this.#next, placement: places }
    const { name: index, ...fields } = definition
    await this.#cluster.request('createIndex', { index, ...fields }, {}, UNBOUNDED)
    const calls = new IndexCalls(this.#cluster, this.#next)
    const target = { calls, index: new Index(calls) as AnyIndex }

    const former = new Placement({ ...old, placement })
    const sources = await Promise.all(setsOf(placement).map((set) => this.#sourceOf(set, former)))
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

  async #sourceOf(set: number, placement: Placement): Promise<Source> {
    const connection = this.#connection(set)
    const version = connection.newVersion()
    await connection.request('openVersion', { version, seconds: SNAPSHOT_SECONDS }, {}, UNBOUNDED)
    const range = placement.sets.indexOf(set)
    const clip = (ends: Ends) => (range < 0 ? undefined : placement.clip(range, ends))
    return { set, from: new Snapshot(connection, version), clip }
  }

  async #copy(sources: readonly Source[], { index: target }: Target): Promise<number> {
    let copied = 0
    for (const { set, from } of sources) {
      const source = new Index(this.#calls(set, this.#name)) as AnyIndex
      const pages = source.entries({ snapshot: from as Snapshot }).pages()
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
    for (const source of sources) {
      const { from } = source
      const making: Promise<unknown>[] = []
      for await (const batch of watchChanges(this.#calls(source.set, name), { from }, true)) {
        for (const change of batch) making.push(make(change, target, this.#endsIn(batch, source)))
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

  /** Of a range that was deleted: the part that the source has, since the feeds of others are at other moments. */
  #endsIn(batch: AnyBatch, { clip }: Source): Ends | undefined {
    if (batch.ends === undefined) return undefined
    const {
      op,
      from: _from,
      to: _to,
      ...exclusions
    } = batch.at(0) as DeletedRange<KeyType> & { readonly op: string }
    return op === 'deleteRange' ? clip({ ...exclusions, ...batch.ends }) : undefined
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

async function* batchesOf(pages: AsyncIterable<ScanPage<KeyType, PayloadKind>>): AsyncGenerator<LoadBatch> {
  for await (const { keys, payloads } of pages) {
    const { array, offsets } = payloads
    const column = offsets === undefined ? array : { bytes: array, offsets }
    // Columns that came back are ones to store.
    yield { keys, payloads: column } as LoadBatch
  }
}

/** Makes a change; changes that are made in one turn leave together, in their order. */
function make(
  change: Change<KeyType, PayloadKind>,
  { index, calls }: Target,
  ends: Ends | undefined,
): Promise<unknown> {
  if (change.op === 'insert') return index.insert(change.key, change.payload)
  if (change.op === 'put') return index.put(change.key, change.payload)
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
