import type { QueryNode, TreeJoinKind } from '../../../protocol/query/tree.js'
import type { Spread } from '../../../protocol/spread.js'
import { splitGroups } from './partial-groups.js'

/** A node of an operator. */
type NodeOf<Op extends QueryNode['op']> = Extract<QueryNode, { op: Op }>

/**
 * Where a node can be carried out: on replica set 0 (`home`), on any (`everywhere`), or on each over the rows that it has, so that the rows of all together are
 * those of the node (`parts`).
 */
type Place = 'home' | 'everywhere' | 'parts'

interface Placed {
  readonly at: Place
  readonly node: QueryNode
}

/** Rows that are fetched, and go with other queries as a table. */
export interface Gathered {
  readonly name: string
  /** From all replica sets, or from replica set 0. */
  readonly at: 'home' | 'parts'
  readonly node: QueryNode
  /** A node whose columns have the names of the table's, and come from the same relations; undefined where they come from none. */
  readonly like: QueryNode | undefined
}

export interface DistributedQuery {
  /** In this order: one may scan tables of those before it. */
  readonly steps: readonly Gathered[]
  readonly at: 'home' | 'parts'
  readonly node: QueryNode
}

export interface RelationPlaces {
  /** Undefined of a relation that is on replica set 0. */
  spreadOf(relation: string): Spread | undefined
  /** Whether an aggregate of groups may be null, by its number. */
  isNullable(groups: NodeOf<'groupBy'>, aggregate: number): boolean
}

/** Kinds of joins whose rows are those of a part of one side with all of the other side. */
const BY_LEFT: readonly TreeJoinKind[] = ['inner', 'left', 'semi', 'anti', 'mark']
const BY_RIGHT: readonly TreeJoinKind[] = ['inner', 'right']

/**
 * How a query is carried out whose relations are spread over replica sets: as much of it as can be where the rows are.
 * @param query was checked
 */
export function distribute(query: QueryNode, relations: RelationPlaces): DistributedQuery {
  const distributor = new Distributor(relations, relationsIn(query))
  const { at, node } = distributor.place(query)
  return { steps: distributor.steps, at: at === 'parts' ? at : 'home', node }
}

/** Names of the relations that a tree scans, whatever else it may be. */
export function relationsIn(tree: unknown): ReadonlySet<string> {
  const names = new Set<string>()
  const visit = (node: unknown) => {
    const { op, relation, input, left, right } = Object(node) as Record<string, unknown>
    if (op === 'scan' && typeof relation === 'string') names.add(relation)
    for (const below of [input, left, right]) if (below !== undefined) visit(below)
  }
  visit(tree)
  return names
}

class Distributor {
  readonly steps: Gathered[] = []
  readonly #relations: RelationPlaces
  readonly #names: ReadonlySet<string>

  /** @param names that tables may not have */
  constructor(relations: RelationPlaces, names: ReadonlySet<string>) {
    this.#relations = relations
    this.#names = names
  }

  place(node: QueryNode): Placed {
    switch (node.op) {
      case 'scan':
        return { at: this.#placeOf(node.relation), node }
      case 'where':
      case 'project': {
        const { at, node: input } = this.place(node.input)
        return { at, node: { ...node, input } }
      }
      case 'distinct': {
        const { at, node: input } = this.place(node.input)
        const own: Placed = { at, node: { ...node, input } }
        return at === 'parts' ? withInput(node, this.#gathered(own, node.input)) : own
      }
      case 'orderBy':
        return withInput(node, this.#gathered(this.place(node.input), node.input))
      case 'groupBy':
        return this.#groups(node)
      case 'limit':
        return this.#limit(node)
      case 'join':
        return this.#pairs(node, node.kind ?? 'inner')
      case 'product':
        return this.#pairs(node, 'inner')
      default:
        return this.#sets(node)
    }
  }

  #placeOf(relation: string): Place {
    const spread = this.#relations.spreadOf(relation)
    if (spread === undefined) return 'home'
    return spread === 'rows' ? 'parts' : 'everywhere'
  }

  #groups(node: NodeOf<'groupBy'>): Placed {
    const input = this.place(node.input)
    // What is first may be another row elsewhere.
    const isOnce = node.aggregates.some(({ function: fn }) => fn === 'first')
    if (input.at !== 'parts') return { ...withInput(node, input), ...(isOnce && { at: 'home' }) }
    const split = splitGroups(node, input.node, (i) => this.#relations.isNullable(node, i))
    if (split !== undefined) {
      const { at, node: gathered } = this.#gathered({ at: 'parts', node: split.partial }, undefined)
      return { at, node: split.merged(gathered) }
    }
    const names = [...columnsIn([node.keys, node.aggregates])]
    const columns = names.map((name) => ({ name, value: { column: name } }))
    const needed: QueryNode = names.length === 0 ? input.node : { op: 'project', input: input.node, columns }
    const like = names.length === 0 ? node.input : undefined
    return { ...withInput(node, this.#gathered({ at: 'parts', node: needed }, like)), at: 'home' }
  }

  /** Of each part as many rows as may be among those of all. Some rows may be others elsewhere, so that they are taken in one place. */
  #limit(node: NodeOf<'limit'>): Placed {
    const { input, rows, offset = 0 } = node
    if (input.op === 'project') return this.place({ ...input, input: { ...node, input: input.input } })
    const isOrdered = input.op === 'orderBy'
    const below = isOrdered ? input.input : input
    const ordered = (rows: QueryNode): QueryNode => (isOrdered ? { ...input, input: rows } : rows)
    const placed = this.place(below)
    const first = rows === undefined ? undefined : Math.min(rows + offset, Number.MAX_SAFE_INTEGER)
    const part: QueryNode =
      placed.at !== 'parts' || first === undefined
        ? placed.node
        : { op: 'limit', input: ordered(placed.node), rows: first }
    const { node: all } = this.#gathered({ at: placed.at, node: part }, below)
    return { at: 'home', node: { ...node, input: ordered(all) } }
  }

  /** A part of one side meets all of the other one, which goes there. */
  #pairs(node: NodeOf<'join' | 'product'>, kind: TreeJoinKind): Placed {
    const [left, right] = [this.place(node.left), this.place(node.right)]
    const isOnParts = (side: Placed, kinds: readonly TreeJoinKind[]) =>
      side.at === 'parts' && kinds.includes(kind)
    if (isOnParts(left, BY_LEFT))
      return { at: 'parts', node: { ...node, left: left.node, right: this.#everywhere(right, node.right) } }
    if (isOnParts(right, BY_RIGHT))
      return { at: 'parts', node: { ...node, left: this.#everywhere(left, node.left), right: right.node } }
    return this.#both(node, left, right)
  }

  #sets(node: NodeOf<'union' | 'intersect' | 'except'>): Placed {
    const [left, right] = [this.place(node.left), this.place(node.right)]
    const isParts = node.op === 'union' && node.all === true && left.at === 'parts' && right.at === 'parts'
    if (isParts) return { at: 'parts', node: { ...node, left: left.node, right: right.node } }
    return this.#both(node, left, right)
  }

  #both(
    node: NodeOf<'join' | 'product' | 'union' | 'intersect' | 'except'>,
    one: Placed,
    other: Placed,
  ): Placed {
    const [left, right] = [this.#gathered(one, node.left), this.#gathered(other, node.right)]
    const at = left.at === 'home' || right.at === 'home' ? 'home' : 'everywhere'
    return { at, node: { ...node, left: left.node, right: right.node } }
  }

  #everywhere(placed: Placed, like: QueryNode): QueryNode {
    return placed.at === 'everywhere' ? placed.node : this.#table({ ...placed, at: placed.at }, like)
  }

  /** What is in parts becomes a table. */
  #gathered(placed: Placed, like: QueryNode | undefined): Placed {
    const { at, node } = placed
    return at === 'parts' ? { at: 'everywhere', node: this.#table({ at, node }, like) } : placed
  }

  #table(rows: Pick<Gathered, 'at' | 'node'>, like: QueryNode | undefined): QueryNode {
    let name = `gathered ${this.steps.length}`
    while (this.#names.has(name)) name += ' '
    this.steps.push({ name, like, ...rows })
    return { op: 'scan', relation: name }
  }
}

function withInput(node: NodeOf<'distinct' | 'orderBy' | 'groupBy'>, { at, node: input }: Placed): Placed {
  return { at, node: { ...node, input } }
}

/** Names of the columns that expressions read. */
function columnsIn(part: unknown): ReadonlySet<string> {
  if (typeof part !== 'object' || part === null) return new Set()
  if ('column' in part) return new Set([String(part.column)])
  return new Set(Object.values(part).flatMap((below) => [...columnsIn(below)]))
}
