import { LIMITS } from '../../../protocol/limits.js'
import type { QueryNode } from '../../../protocol/query/tree.js'
import type { MirroredRelation } from '../catalogue.js'
import type { PlanNode } from '../plan-json.js'
import { mapGroups } from './groups.js'
import { mapJoin, mapProduct } from './joins.js'
import { type Mapped, Mapping, refused } from './mapping.js'
import { isMark, mapFilter, mapMark } from './marks.js'
import { mapDistinct, mapLimit, mapOrder, mapProjection, mapTop } from './rows.js'
import { mapSets } from './sets.js'
import { mapDummy, mapEmpty, mapGet, mapRows } from './sources.js'
import { mapCte, mapCteRef, mapOuter } from './subqueries.js'

type Rule = (node: PlanNode, mapping: Mapping) => Mapped

const mapAnyJoin: Rule = (node, mapping) => (isMark(node) ? mapMark(node, mapping) : mapJoin(node, mapping))

/** What each operator of DuckDB's plans becomes. */
const RULES: Readonly<Record<string, Rule>> = {
  LOGICAL_GET: mapGet,
  LOGICAL_DUMMY_SCAN: mapDummy,
  LOGICAL_EMPTY_RESULT: mapEmpty,
  LOGICAL_CHUNK_GET: mapRows,
  LOGICAL_EXPRESSION_GET: mapRows,
  LOGICAL_FILTER: mapFilter,
  LOGICAL_PROJECTION: mapProjection,
  LOGICAL_AGGREGATE_AND_GROUP_BY: mapGroups,
  LOGICAL_COMPARISON_JOIN: mapAnyJoin,
  LOGICAL_DELIM_JOIN: mapAnyJoin,
  LOGICAL_ANY_JOIN: mapAnyJoin,
  LOGICAL_CROSS_PRODUCT: mapProduct,
  LOGICAL_DELIM_GET: mapOuter,
  LOGICAL_MATERIALIZED_CTE: mapCte,
  LOGICAL_CTE_REF: mapCteRef,
  LOGICAL_ORDER_BY: mapOrder,
  LOGICAL_TOP_N: mapTop,
  LOGICAL_LIMIT: mapLimit,
  LOGICAL_DISTINCT: mapDistinct,
  LOGICAL_UNION: mapSets('union'),
  LOGICAL_EXCEPT: mapSets('except'),
  LOGICAL_INTERSECT: mapSets('intersect'),
}

/** What is known not to be there, as those who ask for it call it. */
const REFUSED: Readonly<Record<string, readonly [what: string, instead?: string]>> = {
  LOGICAL_WINDOW: ['a window function (over)', 'group in a subquery, and join it'],
  LOGICAL_RECURSIVE_CTE: ['with recursive'],
  LOGICAL_SAMPLE: ['tablesample', 'limit gives some rows'],
  LOGICAL_UNNEST: ['unnest', 'there are no lists'],
  LOGICAL_ASOF_JOIN: ['an asof join'],
  LOGICAL_POSITIONAL_JOIN: ['a positional join', 'join by a column'],
}

/**
 * A plan as a tree of ours, which is checked.
 * @param names of the result's columns
 * @throws WarpdexError `BAD_REQUEST` that names what there is not
 */
export function mapPlan(
  plan: PlanNode,
  names: readonly string[],
  catalogue: readonly MirroredRelation[],
): QueryNode {
  const mapping = new Mapping(catalogue, mapNode)
  const { node, columns } = mapping.map(plan)
  const unique = uniqueNames(names)
  mapping.resultOf(node, columns)
  return {
    op: 'project',
    input: node,
    columns: columns.map((value, i) => ({ name: unique[i] ?? `column_${i + 1}`, value })),
  }
}

function mapNode(node: PlanNode, mapping: Mapping): Mapped {
  const rule = RULES[node.type]
  if (rule !== undefined) return rule(node, mapping)
  const [what, instead] = REFUSED[node.type] ?? [node.type.replace('LOGICAL_', '').toLowerCase()]
  throw refused(what, instead)
}

/** Names as columns may have them: each once, and not too long. */
function uniqueNames(names: readonly string[]): readonly string[] {
  const taken = new Set<string>()
  return names.map((name) => {
    const own = name.slice(0, LIMITS.columnNameLength - 4) || 'column'
    let unique = own
    for (let again = 1; taken.has(unique); again++) unique = `${own}_${again}`
    taken.add(unique)
    return unique
  })
}
