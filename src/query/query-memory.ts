import { totalmem } from 'node:os'
import { setTimeout } from 'node:timers/promises'
import { WarpdexError } from '../../protocol/errors.js'
import { LIMITS } from '../../protocol/limits.js'

/** Bytes that queries may take beside their relations, on the device and for results that wait on the host. */
export interface QueryMemoryLimits {
  /** One query. */
  readonly each: number
  /** All together. */
  readonly all: number
}

/** Of the machine's memory, where that is the device's: the rest is for indexes, relations, payloads, and others. */
const HOST_PART = 1 / 4

/** @param software whether the CPU is the device */
export function queryMemoryLimits(
  each: number = LIMITS.queryDeviceBytes,
  all: number | undefined,
  software: boolean,
): QueryMemoryLimits {
  const host = Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY)
  const most = all ?? Math.min(2 * each, software ? host * HOST_PART : Number.POSITIVE_INFINITY)
  return { each: Math.min(each, most), all: most }
}

/** How often those in line look whether there is room: it comes back at many places. */
const LOOK_MS = 50

/** A query needs more memory than others have left. */
export class QueriesFull extends WarpdexError {
  /** That it would hold. */
  readonly bytes: number

  constructor(bytes: number, all: number) {
    super(
      'OVERLOADED',
      `the queries that run leave too little of the ${all} bytes that all may take together; ask again when some of them have ended, ask fewer at a time or for less, or raise --query-memory-in-all`,
    )
    this.bytes = bytes
  }
}

/** What of a query's result was made. */
export interface QueryResultState {
  /** Bytes that wait on the host for whoever reads it, also when the query is over. */
  readonly bytes: number
  /** Whether some was handed out, so that the query cannot be carried out anew. */
  readonly hasBegun: boolean
}

/**
 * The memory of all queries of an engine. A query takes what it needs when it needs it, since nobody knows beforehand how much that is, and the most that it had stays set
 * aside for it until it ends. One that finds too little gives back all that it has, waits in line until there is room for twice what it is known to need, has that set
 * aside, and is carried out anew.
 *
 * So nobody waits who holds memory, or a relation: those that run wait for nobody in line, and end or are given up. The line is in order of arrival, and nobody takes more
 * before the first in it who came later. Only `queryFreeBytes` each query may have in any case, uncounted, so that small ones go on. A query that is put off again has more
 * set aside the next time, so that it is put off a few times at most. One whose result has begun to be read can only fail.
 */
export class QueryMemory {
  readonly limits: QueryMemoryLimits
  readonly #shares = new Set<QueryShare>()
  /** The first to come is the first to go on. */
  readonly #line: QueryShare[] = []
  #arrived = 0

  constructor(limits: QueryMemoryLimits) {
    this.limits = limits
  }

  /** Queries in line. */
  get waiting(): number {
    return this.#line.length
  }

  /** Bytes that queries hold, results that wait on the host included. */
  get bytes(): number {
    let sum = 0
    for (const { bytes } of this.#shares) sum += bytes
    return sum
  }

  enter(result: QueryResultState): QueryShare {
    for (const share of this.#shares) if (share.isOver && share.bytes === 0) this.#shares.delete(share)
    const share = new QueryShare(this.#arrived++, result)
    this.#shares.add(share)
    return share
  }

  /**
   * Refuses a buffer with which a query would hold so many bytes beside its tables.
   * @throws WarpdexError `TOO_LARGE`, `QueriesFull`
   */
  admit(share: QueryShare, ofOthers: number): void {
    const { each, all } = this.limits
    const bytes = share.tableBytes + ofOthers
    if (bytes > each) {
      throw new WarpdexError(
        'TOO_LARGE',
        `the query needs more than the ${each} bytes of device memory that it may have (--query-memory); conditions before its joins, groups and orders, or a limit on its inputs, make it smaller`,
      )
    }
    if (bytes <= Math.max(LIMITS.queryFreeBytes, share.reserved)) return
    const elder = this.#line[0]
    const isFirst = elder === undefined || share.number < elder.number
    if (!isFirst || this.#taken(share) + bytes > all) throw new QueriesFull(bytes, all)
    share.reserved = bytes
  }

  /**
   * Waits until there is room for a query that holds nothing, and sets that aside.
   * @param full what it was put off with, and fails with where it cannot be begun again, or has waited for `queryWaitSeconds` in all
   * @param refuse throws where nobody waits for the query
   */
  async wait(share: QueryShare, full: QueriesFull, refuse: () => void): Promise<void> {
    if (share.result.hasBegun) throw full
    share.until ??= performance.now() + LIMITS.queryWaitSeconds * 1000
    share.wanted = Math.max(share.wanted, full.bytes)
    share.reserved = 0
    const { each, all } = this.limits
    const bytes = Math.min(each, 2 * share.wanted)
    const place = this.#line.findIndex(({ number }) => number > share.number)
    this.#line.splice(place < 0 ? this.#line.length : place, 0, share)
    try {
      while (this.#line[0] !== share || this.#taken(share) + bytes > all) {
        refuse()
        if (performance.now() >= share.until) throw full
        await setTimeout(LOOK_MS)
      }
      share.reserved = bytes
    } finally {
      this.#line.splice(this.#line.indexOf(share), 1)
    }
  }

  /** What is set aside for others than one, and waits of their results. */
  #taken(than: QueryShare): number {
    let sum = 0
    for (const share of this.#shares) if (share !== than) sum += share.reserved + share.result.bytes
    return sum
  }
}

/** What one query has of it. */
export class QueryShare {
  /** In order of arrival. */
  readonly number: number
  readonly result: QueryResultState
  /** Bytes of memory on the device that are set aside. */
  reserved = 0
  /** The most that it has asked for when there was too little. */
  wanted = 0
  /** When it has waited for room for long enough, by `performance.now()`. */
  until: number | undefined
  isOver = false
  /** Bytes of device memory of the tables that came with it. */
  tableBytes = 0
  /** Where it takes the rest of its memory. */
  scratch: { readonly heldBytes: number } | undefined

  constructor(number: number, result: QueryResultState) {
    this.number = number
    this.result = result
  }

  get bytes(): number {
    return this.tableBytes + (this.scratch?.heldBytes ?? 0) + this.result.bytes
  }

  /** The query is over; what waits of its result still counts. */
  leave(): void {
    this.reserved = 0
    this.isOver = true
  }
}
