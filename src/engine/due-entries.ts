import type { IndexStructure } from '../../gpu/index-structure.js'
import { countOf } from '../../protocol/columns.js'
import { WriteOp } from '../../protocol/types.js'
import { pageEntries } from './payload-reclaimer.js'
import { beginOrDiscard, type RangeTarget } from './range-deletion.js'

/**
 * What of an index is due: when the next of its entries expires, and the removal of those that have. That is no part of the log, which says for
 * each batch until when entries had been removed before it: what they were follows from that. In a replica set each removal is a record, since only
 * its owner looks at a clock, and others must have the same entries at each place in the log.
 */
export class DueEntries {
  #next = 0
  #through = 0
  #removed = 0
  #expiring = 0

  /** Before this nothing is due, in milliseconds since 1970. */
  get next(): number {
    return this.#next
  }

  /** Until when all that is due is removed, where the log does not tell it. */
  get through(): number {
    return this.#through
  }

  /** Entries that were removed since the process began. */
  get removed(): number {
    return this.#removed
  }

  /** Entries that were left to expire when they were last counted. */
  get expiring(): number {
    return this.#expiring
  }

  /** Counts the entries that are left to expire, in a turn of the index. */
  async count(structure: Pick<IndexStructure, 'read'>): Promise<void> {
    const { due, later } = await structure.read({ op: 'due', until: this.#through, limit: 1 }, {})
    this.#expiring = due + later
  }

  /** Takes note of entries that are written, of which the first expires then. */
  add(first: number): void {
    this.#next = Math.min(this.#next, first)
  }

  /**
   * Another structure takes the place of the one that it was about, from which nothing was removed yet.
   * @returns until when all that was due was removed of the other
   */
  reset(): number {
    const through = this.#through
    this.#next = 0
    this.#through = 0
    return through
  }

  /**
   * Removes all that expires until some time, in slices, so that other indexes get their share of the device. Nobody may read the structure
   * meanwhile.
   * @param begin called when memory is made sure of for the first slice, if there is any
   */
  async remove(target: RangeTarget, until: number, begin?: () => Promise<void>): Promise<void> {
    // Where the clock was set back, what is gone stays so.
    const through = Math.max(until, this.#through)
    if (through >= this.#next) await this.#remove(target, through, begin)
    this.#through = through
  }

  /** As `remove`, of what the log tells by a record of its own: that alone says until when, also where the clock was set back. */
  async removeLogged(target: RangeTarget, until: number, begin?: () => Promise<void>): Promise<void> {
    if (until >= this.#next) await this.#remove(target, until, begin)
  }

  /**
   * As `remove`. @throws with nothing changed
   * @param log has it logged, where it is to be
   * @returns whether the structure holds what it should; if not, it must be rebuilt
   */
  async removeOrBreak(target: RangeTarget, until: number, log?: () => Promise<void>): Promise<boolean> {
    let hasBegun = false
    const begin = async () => {
      await log?.()
      hasBegun = true
    }
    try {
      await (log === undefined ? this.remove(target, until, begin) : this.removeLogged(target, until, begin))
    } catch (error) {
      if (!hasBegun) throw error
      return false
    }
    return true
  }

  async #remove(
    { structure, prepare }: RangeTarget,
    until: number,
    begin: () => Promise<void> = async () => {},
  ): Promise<void> {
    const request = { op: 'due', until, limit: pageEntries(structure.shape.keyType) } as const
    let hasBegun = false
    for (let more = true; more; ) {
      const { keys, payloads, due, next, later } = await structure.read(request, {})
      const found = countOf(keys)
      if (found > 0) {
        const pairs = { ops: WriteOp.deletePair, keys, payloads, matchesWhole: true, goesOn: true }
        const prepared = await prepare(pairs)
        if (!hasBegun) await beginOrDiscard(begin, prepared)
        hasBegun = true
        this.#removed += found
        prepared.apply()
      }
      more = found < due
      this.#next = more ? 0 : later === 0 ? Number.POSITIVE_INFINITY : until + next
      this.#expiring = later
    }
  }
}
