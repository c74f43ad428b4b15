import type { DataOp } from '../../protocol/data-request.js'
import { WarpdexError } from '../../protocol/errors.js'
import type { Sections } from '../../protocol/frame.js'
import type { ControlOp } from '../../protocol/messages.js'
import type { OpenedIndex, ReplyFields } from '../../protocol/replies.js'
import type { Spread } from '../../protocol/spread.js'
import type { IndexDefinition } from '../../protocol/types.js'
import type { AtomicResult, EncodedPart } from './atomic-write.js'
import type { Bounds, CallOptions } from './call-options.js'
import type { DataCall } from './data-call.js'
import type { IndexOrder } from './index-order.js'
import type { AnyKeys } from './keys.js'
import type { Reply } from './reply.js'

/** A client's lasting connection, to one server or to a cluster. */
export interface Connection {
  /** Resolves when the client is closed for good: with what it gave up on, if it has. */
  readonly closed: Promise<WarpdexError | undefined>
  /** What the server said of itself when the connection was last made. */
  readonly server: ReplyFields['hello']
  /** Of the requests to each index. */
  readonly order: IndexOrder
  /** Called when the client is to be closed, by feeds, which nobody waits for. */
  readonly onClosing: Set<() => void>

  /** A write id that was not used before. */
  newWriteId(): number
  /** A number for a read version that was not used before. */
  newVersion(): number
  /** Gives a read version up. Where the server does not hear of it, it ends by itself. */
  closeVersion(version: number): Promise<void>

  /**
   * Bounds of a call that begins, or of what one does that is under way.
   * @throws WarpdexError `CANCELLED` for one that begins after `close()`
   */
  bounds(options: CallOptions, isUnderWay?: boolean): Bounds
  /** Has `close()` wait for a call that may have no request under way for some time. */
  during<T>(call: () => Promise<T>): Promise<T>

  /**
   * Sends a control request, now or when there is room or a connection again, and one to an index after those that were made before.
   * @param isAhead of what waits for a batch that leaves in pieces
   */
  request<O extends ControlOp>(
    op: O,
    fields: object,
    sections: Sections,
    bounds: Bounds,
    isAhead?: boolean,
  ): Promise<Reply<O>>
  /**
   * Sends a request for data as `request` does.
   * @param onError told of what it fails with, before the caller is
   */
  requestData<O extends DataOp>(
    call: DataCall<O>,
    index: OpenedIndex,
    bounds: Bounds,
    onError: (error: unknown) => void,
    isAhead: boolean,
  ): Promise<Reply<O>>

  /**
   * Fields of a request to create an index that say where its keys go.
   * @param splitAt keys with which another replica set begins
   */
  placementFor(definition: IndexDefinition, splitAt: AnyKeys | undefined): Pick<IndexDefinition, 'placement'>
  /** To replica set 0. */
  readonly home: Connection
  /** One to each replica set, by its number. */
  readonly replicaSets: readonly Connection[]
  /** Where calls go that are to be carried out together: each connection has those of their items that are for its replica set. */
  locate(calls: readonly DataCall[], index: OpenedIndex, bounds: Bounds): Promise<readonly Located[]>
  /**
   * Where rows for a relation go.
   * @param writeId by which they are written; any of the connection's by default
   */
  placeRows(relation: string, bounds: Bounds, writeId?: number): Promise<RowPlace>
  /**
   * Writes the parts of a batch, all or none.
   * @param sent called when requests to their indexes may follow
   */
  writeBatch(
    parts: readonly EncodedPart[],
    bounds: Bounds,
    sent: () => void,
  ): Promise<readonly AtomicResult[]>

  /**
   * Closes the connection, after what is under way unless that is to end now.
   * @returns resolves when it is closed
   */
  close(now: boolean): Promise<void>
}

export interface RowPlace {
  /** All of them get the rows. */
  readonly connections: readonly Connection[]
  /** What the request says of the relation. */
  readonly spread?: Spread | undefined
}

export interface Located {
  readonly connection: Connection
  /** As it is known there. */
  readonly index: OpenedIndex
  readonly calls: readonly LocatedCall[]
}

export interface LocatedCall {
  readonly call: DataCall
  /** Which items of the whole call it has; undefined for all. */
  readonly numbers?: Uint32Array | undefined
}

export function closedByUser(): WarpdexError {
  return new WarpdexError('CANCELLED', 'the client was closed')
}

let nextVersion = 1

/** Not one for each connection: so a snapshot of another client names nothing that this one has open. */
export function takeVersion(): number {
  return nextVersion++
}
