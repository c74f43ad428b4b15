import { type Expression, JOIN_ALGORITHMS, type QueryNode } from '../../../protocol/query/tree.js'
import {
  ascendingKeys,
  type HostPair,
  type HostTuples,
  halfMatchingPair,
  numbersWhere,
  numbersWithout,
  pick,
  randomValues,
  sameTwice,
  together,
} from './host-tuples.js'

/** An operator, as a query over relations. */
export interface Step {
  readonly name: string
  readonly relations: Readonly<Record<string, HostTuples>>
  readonly query: QueryNode
  /** What a plain loop gives, in any order. */
  readonly wanted: HostTuples
}

const SHARES = [10, 50, 90]

/** Tuples that share a key. */
const REPEATS = 4

/** All operators on relations of `count` tuples (Diamos Figure 9). */
export function* operatorSteps(count: number): Generator<Step> {
  yield* unarySteps(count)
  yield productStep(count)
  for (const withPayloads of [false, true]) {
    const pair = halfMatchingPair(count, withPayloads)
    yield* setSteps(pair)
    yield joinStep('JOIN, half match', pair)
    for (const algorithm of JOIN_ALGORITHMS) {
      // Nested loops would take hours.
      if (algorithm === 'auto' || algorithm === 'ninlj') continue
      yield joinStep(`JOIN by ${algorithm}, half match`, pair, algorithm)
    }
    yield joinStep('JOIN, all match', sameTwice(pair.first))
  }
  yield* repeatedKeySteps(count)
}

/** What a relation's tuples are. */
function kindOf(tuples: HostTuples): string {
  return tuples.map(() => 'u32').join(' + ')
}

function scan(relation: string, as?: string): QueryNode {
  return { op: 'scan', relation, as }
}

function* unarySteps(count: number): Generator<Step> {
  const keys = ascendingKeys(count)
  const values = randomValues(count, 1)
  for (const x of [[values], [keys, values]]) {
    const kind = kindOf(x)
    const tested = x.length === 1 ? 'k' : 'v'
    for (const share of SHARES) {
      const limit = Math.round((2 ** 32 * share) / 100)
      const condition = { op: '<', args: [{ column: tested }, { value: limit }] } as const
      const chosen = numbersWhere(count, (i) => values[i]! < limit)
      const query = { op: 'where', input: scan('x'), condition } as const
      yield { name: `SELECT ${share} %, ${kind}`, relations: { x }, query, wanted: pick(x, chosen) }
    }
  }
  for (const x of [[keys], [keys, values]]) {
    const columns = x.map((_, i) => ({ name: `next${i}`, value: halved(i === 0 ? 'k' : 'v') }))
    const query = { op: 'project', input: scan('x'), columns } as const
    const wanted = x.map((column) => column.map((value) => (value < HALF ? value + 1 : value - HALF)))
    yield { name: `PROJECT, ${kindOf(x)}`, relations: { x }, query, wanted }
  }
}

const HALF = 2 ** 31

/** A value of a column's as another u32. */
function halved(name: string): Expression {
  const column = { column: name }
  const below = { op: '<', args: [column, { value: HALF }] } as const
  const value = (op: '+' | '-', constant: number): Expression => {
    return { op: 'cast', type: 'u32', args: [{ op, args: [column, { value: constant }] }] }
  }
  return { op: 'case', when: [{ condition: below, value: value('+', 1) }], otherwise: value('-', HALF) }
}

function productStep(count: number): Step {
  const firstCount = 2 ** Math.floor(Math.log2(count) / 2)
  const secondCount = count / firstCount
  const [first, second] = [ascendingKeys(firstCount), ascendingKeys(secondCount)]
  return {
    name: 'PRODUCT, u32 × u32',
    relations: { x: [first], y: [second] },
    query: { op: 'product', left: scan('x'), right: scan('y', 'y') },
    wanted: [
      Uint32Array.from({ length: count }, (_, i) => first[Math.floor(i / secondCount)]!),
      Uint32Array.from({ length: count }, (_, i) => second[i % secondCount]!),
    ],
  }
}

/** By key, as the paper's: of keys alone these are whole rows. */
function* setSteps({ first, second, matched }: HostPair): Generator<Step> {
  const count = first[0]!.length
  const sides = { left: scan('x'), right: scan('y'), byKey: first.length === 1 ? undefined : ['k'] }
  const relations = { x: first, y: second }
  const kind = kindOf(first)
  const others = pick(second, numbersWithout(matched.second, count))
  yield {
    name: `UNION, ${kind}`,
    relations,
    query: { op: 'union', ...sides },
    wanted: together(first, others),
  }
  yield {
    name: `INTERSECT, ${kind}`,
    relations,
    query: { op: 'intersect', ...sides },
    wanted: pick(first, matched.first),
  }
  yield {
    name: `DIFFERENCE, ${kind}`,
    relations,
    query: { op: 'except', ...sides },
    wanted: pick(first, numbersWithout(matched.first, count)),
  }
}

function joinStep(
  name: string,
  { first, second, matched }: HostPair,
  algorithm: (typeof JOIN_ALGORITHMS)[number] = 'auto',
): Step {
  const join = { op: 'join', left: scan('x'), right: scan('y', 'y'), on: [['k', 'y.k']], algorithm } as const
  const names = first.length === 1 ? ['k'] : ['k', 'v', 'y.v']
  const columns = names.map((name) => ({ name, value: { column: name } }))
  return {
    name: `${name}, ${kindOf(first)}`,
    relations: { x: first, y: second },
    query: { op: 'project', input: join, columns },
    wanted: [...pick(first, matched.first), ...pick(second, matched.second).slice(1)],
  }
}

/** What becomes of keys that come several times each: duplicates removed, and JOIN with a relation that has each once, in both orders. */
function* repeatedKeySteps(count: number): Generator<Step> {
  const every = numbersWhere(count, () => true)
  const places = every.map((i) => Math.floor(i / REPEATS))
  const once = [ascendingKeys(Math.ceil(count / REPEATS))]
  const repeated = pick(once, places)
  const query = { op: 'distinct', input: scan('x') } as const
  yield { name: 'PROJECT, duplicates removed, u32', relations: { x: repeated }, query, wanted: once }
  const inFirst = { first: repeated, second: once, matched: { first: every, second: places } }
  const inSecond = { first: once, second: repeated, matched: { first: places, second: every } }
  yield joinStep(`JOIN, each key ${REPEATS} times in the first`, inFirst)
  yield joinStep(`JOIN, each key ${REPEATS} times in the second`, inSecond)
}
