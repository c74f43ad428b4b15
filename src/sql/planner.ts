import { badRequest, WarpdexError } from '../../protocol/errors.js'
import type { MirroredRelation } from './catalogue.js'
import { PlanProcess, type PlanResult } from './plan-process.js'

/** Statements that wait to be planned. */
const MOST_WAITING = 256

/** What DuckDB says where it gets no more memory. */
const EXHAUSTED = /^(Out of Memory Error|Allocation failure|std::bad_alloc)/

/**
 * Plans statements with DuckDB, in a process of its own, since a statement of a line can take seconds and gigabytes in it. The process is started with the
 * first statement and stays; one that had to be ended is followed by another. Statements are planned one after the other.
 */
export class Planner {
  #process: Promise<PlanProcess> | undefined
  #last: Promise<unknown> = Promise.resolve()
  #waiting = 0
  #isClosed = false

  /**
   * @param text one statement
   * @param catalogue the relations that it may name
   * @throws WarpdexError `BAD_REQUEST` where DuckDB is not installed, or takes too much time or memory; `OVERLOADED` where too many wait
   */
  async plan(text: string, catalogue: readonly MirroredRelation[]): Promise<PlanResult> {
    if (this.#waiting >= MOST_WAITING) {
      const message = `${MOST_WAITING} statements wait to be planned; try again after a pause`
      throw new WarpdexError('OVERLOADED', message)
    }
    this.#waiting++
    const turn = this.#last.then(() => this.#plan(text, catalogue))
    this.#last = turn.catch(() => {})
    return turn.finally(() => this.#waiting--)
  }

  /** Ends the process. */
  close(): void {
    this.#isClosed = true
    this.#end()
  }

  async #plan(text: string, catalogue: readonly MirroredRelation[]): Promise<PlanResult> {
    if (this.#isClosed) throw new WarpdexError('SHUTTING_DOWN', 'the server is shutting down')
    const planner = await this.#ready()
    const result = await planner.plan(text, catalogue)
    const isExhausted =
      result === undefined || (result.kind === 'refused' && EXHAUSTED.test(result.fault.message))
    if (isExhausted || !planner.isThere) this.#restart()
    if (!isExhausted) return result
    throw badRequest(
      'sql: the statement takes too long or too much memory to plan; less nested, without functions that make large constants, and with long lists kept as a relation it takes less',
    )
  }

  /** Started anew if it has ended, or could not start: DuckDB may have been installed meanwhile. */
  async #ready(): Promise<PlanProcess> {
    const current = await this.#process?.catch(() => undefined)
    if (current?.isThere === true) return current
    const started = PlanProcess.start()
    this.#process = started
    return started
  }

  /** So that the next statement need not wait for it. */
  #restart(): void {
    this.#end()
    if (!this.#isClosed) this.#process = PlanProcess.start()
    this.#process?.catch(() => {})
  }

  #end(): void {
    this.#process?.then(
      (planner) => planner.end(),
      () => {},
    )
    this.#process = undefined
  }
}
