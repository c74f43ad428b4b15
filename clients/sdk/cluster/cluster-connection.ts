import { type DataOp, WRITES } from '../../../protocol/data-request.js'
import { toWarpdexError, WarpdexError } from '../../../protocol/errors.js'
import type { Sections } from '../../../protocol/frame.js'
import type { ControlOp } from '../../../protocol/messages.js'
import type { ClusterNode } from '../../../protocol/replica.js'
import type { OpenedIndex, ReplyFields } from '../../../protocol/replies.js'
import type { IndexDefinition } from '../../../protocol/types.js'
import { type AtomicResult, type EncodedPart, writeByOne } from '../atomic-write.js'
import { afterThis, type Bounds, type CallOptions, withinBounds } from '../call-options.js'
import { type Connection, closedByUser, type Located, type RowPlace, takeVersion } from '../connection.js'
import type { DataCall } from '../data-call.js'
import { IndexCalls, isSame, type KnownIndex, REOPENING } from '../index-calls.js'
import { IndexOrder } from '../index-order.js'
import { type AnyKeys, keyColumn } from '../keys.js'
import { NodeConnection, type NodeOptions } from '../node-connection.js'
import type { ConnectOptions } from '../options.js'
import type { Reply } from '../reply.js'
import { BY_RELATIONS, CHANGED_RELATION, ClusterRelations } from './cluster-relations.js'
import { control } from './control.js'
import { addressesOf, nodesBy, untilFound } from './find-nodes.js'
import { partsOf } from './items.js'
import { writeJointly } from './joint-write.js'
import { Placement, placementBy, setByName } from './placement.js'
import { spread } from './spread.js'

const CONNECT_TIMEOUT_MS = 10_000
const CHANGED: readonly string[] = ['INDEX_CHANGED', 'UNKNOWN_INDEX']
/** After these a write may have been carried out. */
const BY_CLIENTS: readonly string[] = ['CANCELLED', 'DEADLINE_EXCEEDED', 'CONNECTION_LOST']
/** What is made key by key, so that a part of it can be made again by itself. */
const BY_KEYS: ReadonlySet<DataOp> = new Set([
  'get',
  'getAll',
  'count',
  'getNext',
  'insert',
  'delete',
  'write',
])

const CHANGES_RELATIONS: ReadonlySet<ControlOp> = new Set(['createRelation', 'dropRelation'])

export interface ClusterOptions extends NodeOptions {
  /** How many replica sets there are. */
  readonly sets: number
  /** The nodes that there are; none where nobody tells for a while. */
  readonly nodes: () => Promise<readonly ClusterNode[]>
}

/**
 * A connection to a cluster of several replica sets: one to each of them, over which the requests to an index go by their keys. The first one of them
 * also has the definitions of all indexes, and the relations.
 */
export class ClusterConnection implements Connection {
  readonly closed: Promise<WarpdexError | undefined>
  readonly order = new IndexOrder()
  readonly onClosing = new Set<() => void>()
  readonly #directory: NodeConnection | undefined
  readonly replicaSets: readonly NodeConnection[]
  readonly #relations: ClusterRelations
  /** Of each replica set, by the names of indexes. */
  readonly #calls: readonly Map<string, IndexCalls>[]
  readonly #placements = new WeakMap<OpenedIndex, Placement>()
  /** Whether the ids of writes are those of another client, which may send a write again by another connection. */
  readonly #keepsWriteIds: boolean
  #nextWriteId: number
  /** Calls under way. */
  #tasks = 0
  #isClosing = false
  #onLess: (() => void) | undefined

  /**
   * @param directory a connection to one of the nodes, which tells where the others are
   * @throws WarpdexError `CONNECTION_LOST` where a replica set has no node
   */
  static openBy(directory: NodeConnection, options: ConnectOptions): Promise<ClusterConnection> {
    const { sets = 1 } = directory.server
    return ClusterConnection.open({ ...options, sets, nodes: () => nodesBy(directory) }, directory)
  }

  /**
   * @param directory is closed with it
   * @throws WarpdexError `CONNECTION_LOST` where a replica set has no node
   */
  static async open(
    { sets, nodes, ...options }: ClusterOptions,
    directory?: NodeConnection,
  ): Promise<ClusterConnection> {
    const opened: NodeConnection[] = []
    try {
      for (let set = 0; set < sets; set++) {
        const find = async () => addressesOf(set, await nodes())
        const urls = await untilFound(find, set, options.connectTimeout ?? CONNECT_TIMEOUT_MS)
        opened.push(await NodeConnection.open(urls, { ...options, set, find }))
      }
    } catch (error) {
      await Promise.all([directory, ...opened].map((connection) => connection?.close(true)))
      throw error
    }
    return new ClusterConnection(opened, directory, options.client !== undefined)
  }

  private constructor(
    replicaSets: readonly NodeConnection[],
    directory: NodeConnection | undefined,
    keepsWriteIds: boolean,
  ) {
    this.#directory = directory
    this.replicaSets = replicaSets
    this.#relations = new ClusterRelations(replicaSets)
    this.#calls = replicaSets.map(() => new Map())
    this.#keepsWriteIds = keepsWriteIds
    // Far from those that the other client counts.
    this.#nextWriteId = keepsWriteIds ? 2 ** 52 + Math.floor(Math.random() * 2 ** 51) : 1
    const ends = this.#all.map(async (connection) => {
      const reason = await connection.closed
      // Without one of them a part of the keys is missing.
      if (reason !== undefined) await this.close(true)
      return reason
    })
    this.closed = Promise.all(ends).then((reasons) => reasons.find((reason) => reason !== undefined))
  }

  get server(): ReplyFields['hello'] {
    return this.home.server
  }

  get #all(): readonly NodeConnection[] {
    return this.#directory === undefined ? this.replicaSets : [this.#directory, ...this.replicaSets]
  }

  get home(): NodeConnection {
    return this.replicaSets[0]!
  }

  newWriteId(): number {
    return this.#nextWriteId++
  }

  newVersion(): number {
    return takeVersion()
  }

  async closeVersion(version: number): Promise<void> {
    await Promise.all(this.replicaSets.map((connection) => connection.closeVersion(version)))
  }

  bounds(options: CallOptions, isUnderWay = false): Bounds {
    if (!isUnderWay && this.#isClosing) throw closedByUser()
    return this.home.bounds(options, true)
  }

  async during<T>(call: () => Promise<T>): Promise<T> {
    this.#tasks++
    try {
      return await call()
    } finally {
      this.#tasks--
      this.#onLess?.()
    }
  }

  request<O extends ControlOp>(
    op: O,
    fields: object,
    sections: Sections,
    bounds: Bounds,
    isAhead = false,
  ): Promise<Reply<O>> {
    if (BY_RELATIONS.has(op))
      return this.during(() => this.#relations.request(op, fields, sections, bounds)) as Promise<Reply<O>>
    const index = !isAhead && 'index' in fields ? fields.index : undefined
    const name = typeof index === 'string' ? index : undefined
    const send = (set: number, op: ControlOp, fields: object) =>
      this.replicaSets[set]!.request(op, fields, sections, bounds, true)
    // What is answered is what was asked for.
    const answer = this.#inTurn(
      name,
      bounds,
      () => control(op, fields, this.replicaSets.length, send) as Promise<Reply<O>>,
    )
    return CHANGES_RELATIONS.has(op) ? answer.finally(() => this.#relations.forget()) : answer
  }

  requestData<O extends DataOp>(
    call: DataCall<O>,
    index: OpenedIndex,
    bounds: Bounds,
    onError: (error: unknown) => void,
    isAhead: boolean,
  ): Promise<Reply<O>> {
    const send = () => this.#spread(call, index, bounds, onError) as Promise<Reply<O>>
    return this.#inTurn(isAhead ? undefined : index.name, bounds, send)
  }

  placementFor(
    definition: IndexDefinition,
    splitAt: AnyKeys | undefined,
  ): Pick<IndexDefinition, 'placement'> {
    if (splitAt === undefined) return {}
    const { name, keyType } = definition
    const sets = this.replicaSets.length
    const starts = keyColumn(splitAt, definition, true)
    return { placement: placementBy(starts, keyType, setByName(name, sets), sets) }
  }

  async locate(calls: readonly DataCall[], index: OpenedIndex, bounds: Bounds): Promise<readonly Located[]> {
    const placement = this.#placementOf(index)
    const parts = calls.flatMap((call) => {
      // What is written together has keys.
      return partsOf(call, placement.itemsOf(call.columns.keys!))
    })
    const ranges = [...new Set(parts.map(({ range }) => range))]
    return Promise.all(
      ranges.map(async (range) => {
        const set = placement.sets[range]!
        const known = await this.#known(this.#callsOf(set, index.name), index, bounds)
        return {
          connection: this.replicaSets[set]!,
          index: known,
          calls: parts.filter((part) => part.range === range),
        }
      }),
    )
  }

  placeRows(relation: string, bounds: Bounds, writeId = this.newWriteId()): Promise<RowPlace> {
    return this.#relations.placeRows(relation, writeId, bounds)
  }

  async writeBatch(
    parts: readonly EncodedPart[],
    bounds: Bounds,
    sent: () => void,
    writeId = this.newWriteId(),
  ): Promise<readonly AtomicResult[]> {
    const connections = new Set(parts.flatMap(({ pieces }) => pieces.map(({ connection }) => connection)))
    try {
      const [connection = this.home] = connections
      const results =
        connections.size > 1
          ? await writeJointly(parts, this.replicaSets, writeId, bounds)
          : await writeByOne(connection, parts, writeId, bounds, sent)
      return results.map((result, i) => this.#relations.numbered(result, parts[i]!))
    } catch (thrown) {
      // What the indexes and relations are there is learnt again, too.
      const { code } = toWarpdexError(thrown)
      if (CHANGED_RELATION.includes(code)) this.#relations.forget()
      if (REOPENING.includes(code))
        for (const calls of this.#calls) for (const { definition } of calls.values()) definition.forget()
      throw thrown
    }
  }

  async close(now: boolean): Promise<void> {
    this.#isClosing = true
    for (const end of this.onClosing) end()
    if (!now) await this.#idle()
    await Promise.all(this.#all.map((connection) => connection.close(now)))
  }

  async #idle(): Promise<void> {
    for (;;) {
      // What follows from an answer is on its way by then.
      await new Promise<void>(afterThis)
      if (this.#tasks === 0 && !this.order.gathers) return
      await new Promise<void>((resolve) => {
        this.#onLess = resolve
      })
    }
  }

  /** @param index whose turn is waited for */
  #inTurn<T>(index: string | undefined, bounds: Bounds, send: () => Promise<T>): Promise<T> {
    const turn = index === undefined ? undefined : this.order.turn(index)
    const inTurn =
      turn === undefined
        ? send
        : () => withinBounds<T>(bounds, (resolve, reject) => void turn.then(send).then(resolve, reject))
    return this.during(inTurn)
  }

  /** @param onError told of what it fails with, and of a change of the index that it does not fail with */
  async #spread(
    whole: DataCall,
    index: OpenedIndex,
    bounds: Bounds,
    onError: (error: unknown) => void,
    isAnew = false,
  ): Promise<Reply> {
    // A replica set may have done a part of an earlier attempt, in what the index was then.
    const isNew = whole.writeId !== undefined && whole.op !== 'load' && (isAnew || !this.#keepsWriteIds)
    const call = isNew ? { ...whole, writeId: this.newWriteId() } : whole
    const placement = this.#placementOf(index)
    const asked = new Map<number, Promise<Reply>>()
    const ask = (range: number, part: DataCall) => {
      const set = placement.sets[range]!
      const answer = this.#ask(set, part, index, bounds).catch((error: unknown) =>
        this.#askAnew(error, part, index, bounds, onError),
      )
      asked.set(set, answer)
      return answer
    }
    const opensVersion = call.opensVersion === true && placement.last > 0
    try {
      return await (opensVersion ? this.#scanAt(call, placement, ask, bounds) : spread(call, placement, ask))
    } catch (thrown) {
      onError(thrown)
      const isRepeatable = !WRITES.has(call.op) || call.op === 'deleteRange'
      throw isRepeatable || asked.size < 2 ? thrown : await partlyWritten(toWarpdexError(thrown), asked)
    }
  }

  /** The first page of a scan whose others see the same: a version is opened on all replica sets, since any may have them. */
  async #scanAt(
    call: DataCall,
    placement: Placement,
    ask: (range: number, call: DataCall) => Promise<Reply>,
    bounds: Bounds,
  ): Promise<Reply> {
    const { version = 0 } = call
    const opening = this.replicaSets.map((connection) =>
      connection.request('openVersion', { version }, {}, bounds, true),
    )
    await Promise.all(opening)
    const reply = await spread({ ...call, opensVersion: undefined }, placement, ask)
    if (reply.columns.more?.bytes[0] !== 1) void this.closeVersion(version)
    return reply
  }

  #ask(set: number, call: DataCall, index: OpenedIndex, bounds: Bounds): Promise<Reply> {
    const calls = this.#callsOf(set, index.name)
    const { sequences, tokens } = call.columns
    const goesOn = sequences !== undefined || tokens !== undefined
    const send = async (known: KnownIndex): Promise<Reply> => {
      requireSamePlacement(known, index)
      return calls.request(known, call, bounds, true)
    }
    const go = (known: KnownIndex) => (goesOn ? calls.goOn(known, () => send(known)) : calls.run(known, send))
    const { known } = calls.definition
    const isKnown = known !== undefined && hasSamePlacement(known, index)
    return isKnown ? go(known) : this.#known(calls, index, bounds).then(go)
  }

  /** Makes what has not been done by what the index is now, where it has been split at other keys. */
  async #askAnew(
    error: unknown,
    call: DataCall,
    index: OpenedIndex,
    bounds: Bounds,
    onError: (error: unknown) => void,
  ): Promise<Reply> {
    const { op, version, columns } = call
    const isChanged = error instanceof WarpdexError && CHANGED.includes(error.code)
    const isOfOne = version !== undefined || columns.tokens !== undefined || columns.sequences !== undefined
    if (!isChanged || isOfOne || !BY_KEYS.has(op)) throw error
    const { fields: now } = await this.request('open', { index: index.name }, {}, bounds, true)
    if (isSame(now, index) || now.keyType !== index.keyType || now.payloadKind !== index.payloadKind)
      throw error
    onError(error)
    return this.#spread(call, now, bounds, onError, true)
  }

  /** What a replica set knows of an index. @throws WarpdexError `INDEX_CHANGED` where it is another one there */
  async #known(calls: IndexCalls, index: OpenedIndex, bounds: Bounds): Promise<KnownIndex> {
    const known = await calls.definition.get(bounds)
    if (hasSamePlacement(known, index)) return known
    const now = await calls.latest(bounds)
    requireSamePlacement(now, index)
    return now
  }

  #callsOf(set: number, name: string): IndexCalls {
    const known = this.#calls[set]!
    const calls = known.get(name) ?? new IndexCalls(this.replicaSets[set]!, name)
    known.set(name, calls)
    return calls
  }

  #placementOf(index: OpenedIndex): Placement {
    const placement = this.#placements.get(index) ?? new Placement(index)
    this.#placements.set(index, placement)
    return placement
  }
}

function hasSamePlacement(one: IndexDefinition, other: IndexDefinition): boolean {
  return one.keyType === other.keyType && JSON.stringify(one.placement) === JSON.stringify(other.placement)
}

function requireSamePlacement(known: IndexDefinition, index: IndexDefinition): void {
  if (hasSamePlacement(known, index)) return
  throw new WarpdexError(
    'INDEX_CHANGED',
    `index ${JSON.stringify(index.name)} has other keys, or has them on other replica sets`,
  )
}

/** The error of a write that some replica sets may have carried out: `INTERNAL`, since after others nothing is, unless a client raises it. */
async function partlyWritten(
  error: WarpdexError,
  asked: ReadonlyMap<number, Promise<Reply>>,
): Promise<WarpdexError> {
  const outcomes = await Promise.allSettled(asked.values())
  const sets = [...asked.keys()].filter((_, i) => outcomes[i]!.status === 'fulfilled')
  if (sets.length === 0) return error
  const message = `${error.message}; what went to replica set ${sets.join(', ')} is written`
  const code = BY_CLIENTS.includes(error.code) ? error.code : 'INTERNAL'
  return new WarpdexError(code, message, { cause: error })
}
