import { structureOf } from '../../../protocol/query/structure.js'
import type { AggregateFunction, QueryNode } from '../../../protocol/query/tree.js'
import type { Mapping } from './mapping.js'
import { mayBeNull } from './nulls.js'

/*
 * What a correlated subquery aggregates are often rows that the query around it has joined already, as in `price < (select avg(price) from items where part = p)`
 * where `p` is of a part that items were joined with. Then the joined rows are grouped, and the join within the subquery is left out (Zuzarte et al., "WinMagic", 2003).
 * Of a group each row is there once for each partner outside the subquery, all equally often, so that this holds for aggregates to which it makes no difference.
 */

type Group = Extract<QueryNode, { op: 'groupBy' }>
type Rename = (column: string) => string | undefined

const AGGREGATES: readonly AggregateFunction[] = ['min', 'max', 'avg', 'median']

/** What inner joins bring together. */
interface Joined {
  /** Of relations, or rows chosen from one, by what stands before the point in names of their columns. */
  readonly sources: Map<string, string>
  /** Columns that are equal. */
  readonly pairs: (readonly [string, string])[]
  /** Columns of the outer values, by their names here. */
  readonly outer: Map<string, string>
}

/** The groups of a subquery as those of the rows around it; undefined where these are other rows, or an aggregate tells how many there are. */
export function groupsAround(group: Group, mapping: Mapping): Group | undefined {
  const values = mapping.outer.at(-1)?.node
  if (values?.op !== 'groupBy') return undefined
  if (!group.aggregates.every(({ function: fn, distinct }) => distinct || AGGREGATES.includes(fn)))
    return undefined
  const around = joinedOf(values.input)
  const within = joinedOf(group.input, values)
  if (around === undefined || within === undefined) return undefined
  const keys = values.keys.map(({ value }) => ('column' in value ? value.column : ''))
  const isNull = values.keys.some(({ value }) => mayBeNull(values.input, value, mapping))
  const rename = isNull ? undefined : renameOf(within, around, values)
  if (rename === undefined || !joinsAlike(within, around, keys, rename)) return undefined
  const renamed = renamedColumns(group, rename)
  const isByAll = keys.every((key) =>
    renamed.keys.some(({ value }) => 'column' in value && value.column === key),
  )
  return isByAll ? { ...renamed, input: values.input } : undefined
}

/** @param outer the different outer values, which must be met once */
function joinedOf(node: QueryNode, outer?: QueryNode): Joined | undefined {
  const joined: Joined = { sources: new Map(), pairs: [], outer: new Map() }
  let times = 0
  const gather = (part: QueryNode): boolean => {
    if (part.op === 'join') {
      const { kind = 'inner', left, right, on = [], band, condition } = part
      joined.pairs.push(...on)
      const isPlain = kind === 'inner' && band === undefined && condition === undefined
      return isPlain && gather(left) && gather(right)
    }
    if (part.op === 'project' && part.input === outer) {
      for (const { name, value } of part.columns) if ('column' in value) joined.outer.set(name, value.column)
      return ++times === 1
    }
    const scan = part.op === 'where' ? part.input : part
    if (scan.op !== 'scan' || scan.as === undefined) return false
    const condition =
      part.op === 'where' && renamedColumns(part.condition, (column) => column.slice(column.indexOf('.')))
    joined.sources.set(scan.as, structureOf([scan.relation, condition]))
    return true
  }
  return gather(node) && (outer === undefined || times === 1) ? joined : undefined
}

/** What the columns of a subquery are called around it, if each of its sources is there, and once only. */
function renameOf(within: Joined, around: Joined, values: Group): Rename | undefined {
  const sources = new Map<string, string>()
  for (const [name, source] of within.sources) {
    const [same, ...others] = [...around.sources].filter(([, other]) => other === source)
    if (same === undefined || others.length > 0) return undefined
    sources.set(name, same[0])
  }
  if (new Set(sources.values()).size < sources.size) return undefined
  return (column) => {
    const outer = values.keys.find(({ name }) => name === within.outer.get(column))?.value
    if (outer !== undefined) return 'column' in outer ? outer.column : undefined
    const source = sources.get(sourceOf(column))
    return source && source + column.slice(column.indexOf('.'))
  }
}

/** Whether the sources of a subquery are joined with each other and with the outer values as around it, and with others by these values only. */
function joinsAlike(within: Joined, around: Joined, keys: readonly string[], rename: Rename): boolean {
  const pairs = within.pairs.map((pair) => pair.map((column) => rename(column) ?? ''))
  const [inner, outer] = [equalityOf(pairs), equalityOf(around.pairs)]
  const shared = new Set([...within.sources.keys()].map((name) => sourceOf(rename(`${name}.`) ?? '')))
  const isShared = (column: string) => shared.has(sourceOf(column))
  const columns = [...new Set([...keys, ...pairs.flat(), ...around.pairs.flat()])]
  const compared = columns.filter((column) => isShared(column) || keys.includes(column))
  const isSame = compared.every((a) =>
    compared.every((b) => (inner(a) === inner(b)) === (outer(a) === outer(b))),
  )
  const others = columns.filter((column) => !compared.includes(column)).map(outer)
  const byKeys = new Set(keys.map(outer))
  return isSame && compared.every((column) => !others.includes(outer(column)) || byKeys.has(outer(column)))
}

/** What stands for all columns that are equal to one, which for others is another. */
function equalityOf(pairs: readonly (readonly string[])[]): (column: string) => string {
  const next = new Map<string, string>()
  const find = (column: string): string => {
    const other = next.get(column)
    return other === undefined ? column : find(other)
  }
  for (const [left = '', right = ''] of pairs)
    if (find(left) !== find(right)) next.set(find(left), find(right))
  return find
}

function sourceOf(column: string): string {
  return column.slice(0, column.indexOf('.'))
}

/** The same with other names for the columns that expressions read. */
function renamedColumns<Part>(part: Part, rename: Rename): Part {
  if (Array.isArray(part)) return part.map((each) => renamedColumns(each, rename)) as Part
  if (typeof part !== 'object' || part === null) return part
  const fields = Object.entries(part).map(([field, value]) => {
    return [field, field === 'column' ? (rename(value) ?? value) : renamedColumns(value, rename)]
  })
  return Object.fromEntries(fields) as Part
}
