import t from 'tap'
import { type JoinKind, relation } from '../../../../clients/sdk/index.js'
import { qError } from '../../../../protocol/query/explanation.js'
import { Random, seedOfRun } from '../../../random.js'
import type { Cell, HostRelation } from '../host-relation.js'
import { EstimateBed } from './estimate-bed.js'
import { randomRelation } from './random-relations.js'

const seed = seedOfRun()
t.comment(`TEST_SEED=${seed}`)
const random = new Random(seed)
const a = randomRelation(random, 'a', 40_000)
const b = randomRelation(random, 'b', 10_000)
const c = randomRelation(random, 'c', 300)
const bed = new EstimateBed([a, b, c])

function cellsOf({ columns }: HostRelation, name: string): readonly Cell[] {
  return columns.find((column) => column.name === name)!.cells
}

function countsOf(cells: readonly Cell[]): Map<Cell, number> {
  const counts = new Map<Cell, number>()
  for (const cell of cells) counts.set(cell, (counts.get(cell) ?? 0) + 1)
  return counts
}

/** The rows of a join by keys, of which null equals nothing. */
function joinRows(kind: JoinKind, left: readonly Cell[], right: readonly Cell[]): number {
  const [ofLeft, ofRight] = [countsOf(left), countsOf(right)]
  ofLeft.delete(null)
  ofRight.delete(null)
  let [pairs, matchedLeft, matchedRight] = [0, 0, 0]
  for (const [cell, count] of ofLeft) {
    const other = ofRight.get(cell) ?? 0
    pairs += count * other
    if (other > 0) matchedLeft += count
  }
  for (const [cell, count] of ofRight) if (ofLeft.has(cell)) matchedRight += count
  const [aloneLeft, aloneRight] = [left.length - matchedLeft, right.length - matchedRight]
  switch (kind) {
    case 'inner':
      return pairs
    case 'left':
      return pairs + aloneLeft
    case 'right':
      return pairs + aloneRight
    case 'full':
      return pairs + aloneLeft + aloneRight
    case 'semi':
      return matchedLeft
    case 'anti':
      return aloneLeft
  }
}

/** Of estimates that were wrong by 1.5 at most over many seeds. */
const MOST_WRONG = 3

t.test('joins by equal keys', async (t) => {
  const columns = ['id', 'few', 'many', 'part', 'zipf', 'half', 'hole', 'text', 'run']
  for (const [left, right] of [
    [a, b],
    [b, a],
    [a, c],
    [c, a],
    [b, c],
  ] as const) {
    for (const column of columns) {
      const [l, r] = [`${left.name}_${column}`, `${right.name}_${column}`]
      for (const kind of ['inner', 'left', 'full', 'semi', 'anti'] as const) {
        const rows = joinRows(kind, cellsOf(left, l), cellsOf(right, r))
        const estimated = bed.rows(
          relation(left.name).join(relation(right.name), { on: [[l, r]], kind }).tree,
        )
        const what = `${kind} join by ${l} and ${r}: ${Math.round(estimated)} for ${rows}`
        // What matches nothing is what is left of a side: known as well as what is taken from it.
        if (kind === 'anti') t.ok(Math.abs(estimated - rows) <= 0.4 * left.rows, what)
        else t.ok(qError(estimated, rows) <= MOST_WRONG, what)
      }
    }
  }
})

/** Pairs with left ≤ right ≤ left + width. */
function bandPairs(left: readonly Cell[], right: readonly Cell[], width: number): number {
  const sorted = Float64Array.from(
    right.filter((cell) => cell !== null),
    Number,
  ).sort()
  const below = (value: number) => {
    let [low, high] = [0, sorted.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if (sorted[middle]! < value) low = middle + 1
      else high = middle
    }
    return low
  }
  return left.reduce<number>((sum, cell) => {
    return cell === null ? sum : sum + below(Number(cell) + width + 1) - below(Number(cell))
  }, 0)
}

t.test('joins by a band', async (t) => {
  for (const [left, right] of [
    [a, b],
    [b, a],
    [a, c],
    [c, b],
  ] as const) {
    for (const column of ['id', 'few', 'many', 'zipf', 'hole', 'run']) {
      for (const width of [0, 3, 100, 100_000]) {
        const names = { left: `${left.name}_${column}`, right: `${right.name}_${column}` }
        const rows = bandPairs(cellsOf(left, names.left), cellsOf(right, names.right), width)
        const band = { ...names, width }
        const estimated = bed.rows(relation(left.name).join(relation(right.name), { band }).tree)
        const what = `${names.left} ≤ ${names.right} ≤ + ${width}: ${Math.round(estimated)} for ${rows}`
        t.ok(qError(estimated, rows) <= MOST_WRONG, what)
      }
    }
  }
})
