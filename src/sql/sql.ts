import { badRequest } from '../../protocol/errors.js'
import type { SchemaOf } from '../../protocol/query/check-query.js'
import type { ConstantList } from '../../protocol/query/constant-lists.js'
import { takeLists } from '../../protocol/query/pack-query.js'
import type { SqlStatement } from '../../protocol/sql.js'
import type { MirroredRelation } from './catalogue.js'
import { mapPlan } from './mapping/map-plan.js'
import { withParameters } from './parameters.js'
import { planError } from './plan-error.js'
import { parsePlan } from './plan-json.js'
import type { Planner } from './planner.js'

/** Characters of a statement. */
const MOST_CHARACTERS = 1 << 18
/** Characters of its plan, which is gone through on the thread of the engine. */
const MOST_PLAN_CHARACTERS = 1 << 23

const EXPLAIN = /^\s*explain(?:\s+analyze)?(?=\s)/i

/** A statement as a query. */
export interface SqlQuery {
  readonly query: unknown
  readonly lists: readonly ConstantList[]
  /** Whether it is an EXPLAIN. */
  readonly explain: boolean
}

/**
 * The tree of operators that a statement comes to.
 *
 * @param statement a SELECT, or EXPLAIN of one
 * @param catalogue relations that it may name
 * @throws WarpdexError `BAD_REQUEST` with the place of what is wrong, or the name of what is not supported; what `Planner.plan` throws
 */
export async function queryOf(
  { text, parameters }: SqlStatement,
  planner: Planner,
  catalogue: readonly MirroredRelation[],
  schemaOf: SchemaOf,
): Promise<SqlQuery> {
  if (text.length > MOST_CHARACTERS)
    throw badRequest(`sql: a statement has at most ${MOST_CHARACTERS} characters; this has ${text.length}`)
  if (text.includes('\0')) throw badRequest('sql: a statement has no character of code 0')
  const explain = EXPLAIN.exec(text)?.[0] ?? ''
  // Places stay what they are.
  const statement = withParameters(' '.repeat(explain.length) + text.slice(explain.length), parameters)
  const planned = await planner.plan(statement.text, catalogue)
  if (planned.kind === 'refused') throw planError(planned.fault, text, statement, catalogue)
  if (planned.plan.length > MOST_PLAN_CHARACTERS)
    throw badRequest('sql: the plan of the statement is too large; long lists are best kept as a relation')
  const plan = parsePlan(planned.plan)
  if (plan === undefined) throw badRequest('sql: the statement has no plan')
  const tree = mapPlan(plan, planned.names, catalogue, schemaOf)
  return { ...takeLists(tree), explain: explain !== '' }
}
