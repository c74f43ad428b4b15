import type { ColumnName } from '../../protocol/data-request.js'
import { LIMITS } from '../../protocol/limits.js'
import type { OpenedIndex } from '../../protocol/replies.js'
import { type Bounds, withinBounds } from './call-options.js'
import type { Connection } from './connection.js'
import type { DataCall } from './data-call.js'
import { GrowingColumn } from './growing-column.js'

/** Bytes past which what is gathered leaves: larger requests are not cheaper. */
const SHARED_BYTES = 4 * 2 ** 20

/** Asks for what was gathered. */
type Send<C extends DataCall, Whole> = (call: C, known: OpenedIndex, bounds: Bounds) => Promise<Whole>

/** Calls of one kind that were made one after the other. */
interface Gathered {
  readonly known: OpenedIndex
  /** The first of them, which says what all are. */
  readonly first: DataCall
  readonly columns: readonly (readonly [ColumnName, GrowingColumn])[]
  readonly send: Send<DataCall, unknown>
  readonly waiting: Waiting[]
}

/** Who made a call. It holds nothing of what was asked: that would outlive many collections of garbage. */
interface Waiting {
  readonly resolve: (answer: unknown) => void
  readonly reject: (reason: unknown) => void
  /** Takes its answer out of that to all. */
  readonly read: (whole: unknown, i: number) => unknown
}

/**
 * Single calls to an index that were made in one turn of the event loop. Neighbours of one kind share a request, which leaves before the
 * next request to the index, or at the end of the turn, so that all take effect in the order of the calls.
 */
export class SharedCalls {
  readonly #connection: Connection
  readonly #index: string
  #gathered: Gathered | undefined

  constructor(connection: Connection, index: string) {
    this.#connection = connection
    this.#index = index
  }

  /**
   * Makes a call that shares a request.
   *
   * @param call of one key, item or range, which is right: one that is refused would spoil the others
   * @param send asks for a request of calls of this kind, of which the first one's is taken
   * @param read takes the answer to call number i out of that to all
   */
  make<C extends DataCall, Whole, T>(
    call: C,
    known: OpenedIndex,
    bounds: Bounds,
    send: Send<C, Whole>,
    read: (whole: Whole, i: number) => T,
  ): Promise<T> {
    return withinBounds(bounds, (resolve, reject) => {
      // Calls of one kind have answers of one kind.
      const waiting = { resolve, reject, read } as Waiting
      const open = this.#gathered
      // What is sent is of the kind of the first call.
      const gathered =
        open?.known === known && isAlike(open.first, call)
          ? open
          : this.#gather(call, known, send as Send<DataCall, unknown>)
      let bytes = 0
      for (const [name, column] of gathered.columns) {
        const value = call.columns[name]
        // All of its bytes are those of its one value.
        if (value !== undefined) column.add(value.bytes)
        bytes += column.byteLength
      }
      const count = gathered.waiting.push(waiting)
      if (count === LIMITS.batchItems || bytes > SHARED_BYTES) this.#connection.order.flush(this.#index)
    })
  }

  /** Begins to gather calls, after what was gathered before has left. */
  #gather(first: DataCall, known: OpenedIndex, send: Send<DataCall, unknown>): Gathered {
    const names = Object.keys(first.columns) as ColumnName[]
    const columns = names.flatMap((name) => {
      const column = first.columns[name]
      return column === undefined ? [] : [[name, new GrowingColumn(column.width)] as const]
    })
    const gathered: Gathered = { known, first, columns, send, waiting: [] }
    this.#connection.order.gather(this.#index, () => void this.#leave(gathered))
    this.#gathered = gathered
    return gathered
  }

  async #leave({ known, first, columns, send, waiting }: Gathered): Promise<void> {
    this.#gathered = undefined
    try {
      const whole = Object.fromEntries(columns.map(([name, column]) => [name, column.column()]))
      const call = { ...first, count: waiting.length, columns: whole }
      const answer = await send(call, known, this.#connection.bounds({}, true))
      for (const [i, { resolve, reject, read }] of waiting.entries()) {
        try {
          resolve(read(answer, i))
        } catch (error) {
          reject(error)
        }
      }
    } catch (error) {
      for (const { reject } of waiting) reject(error)
    }
  }
}

/** Whether calls say the same, but for their values. */
function isAlike(one: DataCall, other: DataCall): boolean {
  if (one.op !== other.op || one.limit !== other.limit || one.reverse !== other.reverse) return false
  if (one.version !== other.version) return false
  if (one.withoutKeys !== other.withoutKeys || one.withoutPayloads !== other.withoutPayloads) return false
  if (one.fromExclusive !== other.fromExclusive || one.toExclusive !== other.toExclusive) return false
  const { from, to, tokens, sequences, expireAt } = one.columns
  const { columns } = other
  return (
    (from === undefined) === (columns.from === undefined) &&
    (to === undefined) === (columns.to === undefined) &&
    (tokens === undefined) === (columns.tokens === undefined) &&
    (sequences === undefined) === (columns.sequences === undefined) &&
    (expireAt === undefined) === (columns.expireAt === undefined)
  )
}
