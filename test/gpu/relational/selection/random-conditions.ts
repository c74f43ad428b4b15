import type {
  Condition,
  Interval,
  KernelPlan,
  SelectionPlan,
  ValueSet,
} from '../../../../gpu/relational/selection/selection-types.js'
import type { Random } from '../../../random.js'
import type { HostColumn, HostRelation } from '../../../src/query/host-relation.js'
import { ordered, stringsOf } from './model.js'

/** Some values of a column in order, as numbers, and those beside them. */
function someValues(random: Random, column: HostColumn, count: number): bigint[] {
  const strings = stringsOf(column)
  const bits = column.type === 'u64' || column.type === 'i64' ? 64 : 32
  const values = Array.from({ length: count }, () => {
    const cell = column.cells.length === 0 ? null : random.pick(column.cells)
    const value = cell === null ? BigInt(random.below(3)) : ordered(column.type, cell, strings)
    return BigInt.asUintN(bits, value + BigInt(random.below(3) - 1))
  })
  return [...new Set(values)].sort((a, b) => (a < b ? -1 : Number(a > b)))
}

/** So many intervals at most, of one value or between values that occur. */
export function randomSet(random: Random, column: HostColumn, most: number): ValueSet {
  const values = someValues(random, column, 2 * most)
  const intervals: Interval[] = []
  for (let i = 0; i < values.length && intervals.length < most; i++) {
    const low = values[i]!
    const isAlone = random.chance(0.5) || i + 1 === values.length
    if (!isAlone) i++
    const high = isAlone ? low : values[i]!
    const last = intervals.at(-1)
    if (last !== undefined && last.high + 1n >= low) continue
    intervals.push({ low, high })
  }
  if (random.chance(0.1) && intervals.length > 0) intervals[0] = { ...intervals[0]!, low: 0n }
  return { intervals, nulls: random.chance(0.3) }
}

const EVERYTHING = { word: 2n ** 32n - 1n, wide: 2n ** 64n - 1n }

export function randomValues(random: Random, { columns }: HostRelation): Condition {
  const column = random.below(columns.length)
  const { type } = columns[column]!
  if (random.chance(0.05))
    return { kind: 'values', column, set: { intervals: [], nulls: random.chance(0.5) } }
  if (random.chance(0.05)) {
    const high = type === 'u64' || type === 'i64' ? EVERYTHING.wide : EVERYTHING.word
    return { kind: 'values', column, set: { intervals: [{ low: 0n, high }], nulls: random.chance(0.5) } }
  }
  return { kind: 'values', column, set: randomSet(random, columns[column]!, random.pick([1, 1, 3, 12])) }
}

/** All ways to cut a list into neighbouring pieces. */
function partitions<T>(list: readonly T[]): T[][][] {
  if (list.length === 0) return [[]]
  return list.flatMap((_, i) =>
    partitions(list.slice(i + 1)).map((rest) => [list.slice(0, i + 1) as T[], ...rest]),
  )
}

/** All plans of conditions in one order: every split into kernels, every grouping in each; every kernel hands on as `hands` says. */
export function allPlans(
  conditions: readonly number[],
  hands: (kernel: number) => KernelPlan['hands'],
): SelectionPlan[] {
  return partitions(conditions).flatMap((kernels) =>
    kernels
      .map((kernel) => partitions(kernel))
      .reduce<number[][][][]>(
        (plans, ways) => plans.flatMap((plan) => ways.map((way) => [...plan, way])),
        [[]],
      )
      .map((plan) => ({ kernels: plan.map((groups, i) => ({ groups, hands: hands(i) })) })),
  )
}

/** A text that is in some strings of a column, or in none. */
function someText(random: Random, column: HostColumn): string {
  const cell = column.cells.length === 0 ? null : random.pick(column.cells)
  if (typeof cell !== 'string' || random.chance(0.1)) return random.pick(['', 'x', 'red', 'no such text'])
  const points = [...cell]
  const from = random.below(points.length + 1)
  return points.slice(from, from + random.below(6)).join('')
}

/** Whether strings of a column match a text. */
function randomMatch(random: Random, { columns }: HostRelation): Condition {
  const strings = columns.flatMap(({ type }, i) => (type === 'string' ? [i] : []))
  const column = random.pick(strings)
  const text = someText(random, columns[column]!)
  return {
    kind: 'match',
    column,
    match: random.pick(['endsWith', 'contains'] as const),
    text,
    negated: random.chance(0.3),
  }
}

/** A condition of any kind that a kernel evaluates with others. */
export function randomCondition(random: Random, table: HostRelation, depth = 2): Condition {
  if (depth > 0 && random.chance(0.3)) {
    const branches = Array.from({ length: 1 + random.below(3) }, () =>
      Array.from({ length: 1 + random.below(2) }, () => randomCondition(random, table, depth - 1)),
    )
    return { kind: 'any', branches }
  }
  return random.chance(0.25) ? randomMatch(random, table) : randomValues(random, table)
}

/** One of all plans. */
export function randomPlan(random: Random, conditions: number): SelectionPlan {
  const cut = (list: readonly number[]) => {
    const pieces: number[][] = []
    for (const number of list) {
      if (pieces.length === 0 || random.chance(0.5)) pieces.push([])
      pieces.at(-1)!.push(number)
    }
    return pieces
  }
  const hands = () => random.pick(['rows', 'columns'] as const)
  const kernels = cut(Array.from({ length: conditions }, (_, i) => i))
  return { kernels: kernels.map((kernel) => ({ groups: cut(kernel), hands: hands() })) }
}

/** For messages of tests. */
export function described(...things: readonly unknown[]): string {
  return JSON.stringify(things, (_, value) => (typeof value === 'bigint' ? `${value}` : value))
}
