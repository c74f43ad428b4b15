import type { ColumnIndex } from '../../../gpu/relational/device-relation.js'
import { bitsFor } from '../../../gpu/relational/query/query-column.js'
import type {
  Condition,
  SelectionCosts,
  ValueSet,
} from '../../../gpu/relational/selection/selection-types.js'
import { partitionPoint } from '../../../protocol/partition-point.js'

/** An index over columns of what is selected from. */
export interface CandidateIndex {
  readonly index: ColumnIndex
  /** Its columns by the numbers that conditions have for them; −1 for those that no condition can mean. */
  readonly columns: readonly number[]
}

/** What is selected from, and what it takes without an index. */
export interface IndexTask {
  readonly rows: number
  /** The share of rows that satisfy some conditions, by their numbers, together. */
  readonly share: (conditions: readonly number[]) => number
  /** So many of the conditions, the first ones, must be looked at; those behind follow from them. */
  readonly required: number
  /** What looking at a condition takes at a number of rows, in nanoseconds. */
  readonly atRows: (condition: number, rows: number) => number
  /** What bringing a number of rows into the form that is wanted takes, in nanoseconds, where the plan without an index does so too. */
  readonly forOutput: (rows: number) => number
  readonly costs: SelectionCosts
  /** What the best plan without an index is estimated to take, in nanoseconds. */
  readonly scan: number
}

/** An index that is to be looked into, and what for. */
export interface IndexChoice {
  readonly index: ColumnIndex
  /** The conditions that it answers: on its leading columns, in the order of these. */
  readonly conditions: readonly number[]
  readonly columns: number
  readonly estimatedRows: number
  /** In nanoseconds, with what the other conditions take for the rows that it gives. */
  readonly cost: number
  /** Rows past which the plan without it is thought to take less. */
  readonly most: number
}

/** Kernels that find keys, and ranges, and bring rows into order (`indexRows`). */
const POINT_KERNELS = 12
const RANGE_KERNELS = 40
/** Times that the host waits for the device: for what was found, and for what other conditions leave of it. */
const ROUND_TRIPS = { alone: 1, withOthers: 2 }
/** Values that are read at random on the way to a key, in as many levels of a tree. */
const LEVELS = 8
/** Words that are written for each row that is found: lists, places, the row itself. */
const ROW_WORDS = 12
/** Words that a pass of a sort writes for a row, and the bits that it sorts by. */
const SORT_WORDS = 4
const SORT_BITS = 8

/**
 * The index with which a selection is estimated to take least (Sitaridi and Ross leave it open; what it costs are numbers of rows that are read at
 * random instead of columns that are read through).
 * @returns undefined where going through the columns takes less
 */
export function chooseIndex(
  conditions: readonly Condition[],
  indexes: readonly CandidateIndex[],
  task: IndexTask,
): IndexChoice | undefined {
  let best: IndexChoice | undefined
  for (const candidate of indexes) {
    const covered = coveredBy(conditions, candidate.columns)
    if (covered.length === 0) continue
    const choice = costed(conditions, candidate, covered, task)
    if (choice.cost < (best?.cost ?? task.scan)) best = choice
  }
  return best
}

/** Conditions on leading columns of an index: each of one value but for the last. */
function coveredBy(conditions: readonly Condition[], columns: readonly number[]): readonly number[] {
  const covered: number[] = []
  for (const column of columns) {
    const number = conditions.findIndex(
      (condition) => condition.kind === 'values' && condition.column === column,
    )
    const set = setOf(conditions[number])
    if (set === undefined || set.nulls) return covered
    covered.push(number)
    if (!isPoint(set)) return covered
  }
  return covered
}

function costed(
  conditions: readonly Condition[],
  { index, columns }: CandidateIndex,
  covered: readonly number[],
  { rows, share, required, atRows, forOutput, costs, scan }: IndexTask,
): IndexChoice {
  const intervals = setOf(conditions[covered.at(-1)!])?.intervals ?? []
  const isPoints = covered.length === columns.length && intervals.every(({ low, high }) => low === high)
  const others = [...conditions.keys()].filter((number) => number < required && !covered.includes(number))
  const finding = intervals.length * LEVELS * costs.gather.word
  const waiting = ROUND_TRIPS[others.length > 0 ? 'withOthers' : 'alone'] * costs.roundTrip
  const fixed = waiting + (isPoints ? POINT_KERNELS : RANGE_KERNELS) * costs.launch + finding
  const sorting = intervals.length === 1 && isPoints ? 0 : Math.ceil(bitsFor(rows) / SORT_BITS) * SORT_WORDS
  const costFor = (found: number) => {
    const row = 2 * costs.gather.word + (ROW_WORDS + sorting) * costs.write
    const looking = others.reduce((sum, number) => sum + atRows(number, found), 0)
    return fixed + found * row + looking + forOutput(found)
  }
  const estimatedRows = rows * share(covered)
  // The more rows, the more it costs.
  const most = partitionPoint(1, rows + 1, (found) => costFor(found) < scan) - 1
  return {
    index,
    conditions: covered,
    columns: columns.length,
    estimatedRows,
    cost: costFor(estimatedRows),
    most,
  }
}

function setOf(condition: Condition | undefined): ValueSet | undefined {
  return condition?.kind === 'values' ? condition.set : undefined
}

function isPoint({ intervals }: ValueSet): boolean {
  return intervals.length === 1 && intervals[0]!.low === intervals[0]!.high
}
