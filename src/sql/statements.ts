import { createHash } from 'node:crypto'
import { badRequest } from '../../protocol/errors.js'
import type { ConstantList } from '../../protocol/query/constant-lists.js'
import { takeLists } from '../../protocol/query/pack-query.js'
import type { SqlStatement } from '../../protocol/sql.js'
import type { Catalogue } from './catalogue.js'
import { mapPlan } from './mapping/map-plan.js'
import { type Statement, withParameters } from './parameters.js'
import { planError } from './plan-error.js'
import { parsePlan } from './plan-json.js'
import { Planner } from './planner.js'

/** Characters of a statement. */
const MOST_CHARACTERS = 1 << 18
/** Characters of its plan, which is gone through on the thread of the engine. */
const MOST_PLAN_CHARACTERS = 1 << 23

/** Queries that are kept, and characters of the plan of each at most. */
const KEPT_QUERIES = 256
const MOST_KEPT_CHARACTERS = 1 << 16

const EXPLAIN = /^\s*explain(?:\s+analyze)?(?=\s)/i

/** What a statement comes to. */
interface MappedQuery {
  readonly query: unknown
  readonly lists: readonly ConstantList[]
}

/** A statement as a query. */
export interface SqlQuery extends MappedQuery {
  /** Whether it is an EXPLAIN. */
  readonly explain: boolean
}

/** Statements as queries. One that came lately, over the same relations, is a query already. */
export class Statements {
  readonly #planner = new Planner()
  /** By statement and relations, those that were not asked for longest first. */
  readonly #queries = new Map<string, MappedQuery>()

  /**
   * The tree of operators that a statement comes to.
   *
   * @param statement a SELECT, or EXPLAIN of one
   * @param catalogue what it may name
   * @throws WarpdexError `BAD_REQUEST` with the place of what is wrong, or the name of what is not supported; what `Planner.plan` throws
   */
  async queryOf({ text, parameters }: SqlStatement, catalogue: Catalogue): Promise<SqlQuery> {
    if (text.length > MOST_CHARACTERS)
      throw badRequest(`sql: a statement has at most ${MOST_CHARACTERS} characters; this has ${text.length}`)
    if (text.includes('\0')) throw badRequest('sql: a statement has no character of code 0')
    const explain = EXPLAIN.exec(text)?.[0] ?? ''
    // Places stay what they are.
    const statement = withParameters(' '.repeat(explain.length) + text.slice(explain.length), parameters)
    const key = keyOf(statement.text.trimStart(), catalogue)
    const kept = this.#queries.get(key)
    const mapped = kept ?? (await this.#map(text, statement, catalogue, key))
    // It is the last one to be given up now.
    if (this.#queries.delete(key)) this.#queries.set(key, mapped)
    return { ...mapped, explain: explain !== '' }
  }

  close(): void {
    this.#planner.close()
  }

  async #map(text: string, statement: Statement, catalogue: Catalogue, key: string): Promise<MappedQuery> {
    const planned = await this.#planner.plan(statement.text, catalogue.mirrored)
    if (planned.kind === 'refused') throw planError(planned.fault, text, statement, catalogue)
    if (planned.plan.length > MOST_PLAN_CHARACTERS)
      throw badRequest('sql: the plan of the statement is too large; long lists are best kept as a relation')
    const plan = parsePlan(planned.plan)
    if (plan === undefined) throw badRequest('sql: the statement has no plan')
    const mapped = takeLists(mapPlan(plan, planned.names, catalogue.mirrored))
    if (planned.plan.length <= MOST_KEPT_CHARACTERS) this.#queries.set(key, mapped)
    for (const oldest of this.#queries.keys())
      if (this.#queries.size > KEPT_QUERIES) this.#queries.delete(oldest)
    return mapped
  }
}

function keyOf(text: string, { mirrored }: Catalogue): string {
  return createHash('sha256')
    .update(JSON.stringify([text, mirrored]))
    .digest('base64')
}
