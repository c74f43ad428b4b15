import type { ResultTableRow, ResultTables } from '../../../protocol/traversal.js'

/** A result that is a payload; `explain.wesl` has the same number. */
const PAYLOAD = 0xffffffff

/** Words of a row of `explain.wesl`. */
export const ROW_WORDS = 4

/** Rows that are shown at most. */
const SHOWN_ROWS = 1000

/** The tables of a query from the rows that `explain.wesl` lists. */
export function tablesOf(words: Uint32Array, isThere: boolean): ResultTables {
  const results = new Map<number, number>()
  const levels = new Map<number, number>()
  const predecessors = new Map<number, number>()
  for (let at = 0; at < words.length; at += ROW_WORDS) {
    const [number, level, result] = words.subarray(at, at + ROW_WORDS)
    levels.set(number, level)
    results.set(number, result)
    if (result !== 0 && result !== PAYLOAD) predecessors.set(result, number)
  }
  const row = (number: number): ResultTableRow => ({
    partition: number,
    level: levels.get(number) ?? 0,
    result: shownResult(results.get(number) ?? 0),
    predecessor: predecessors.get(number) ?? null,
  })
  const numbers = [...levels.keys()].sort((one, other) => one - other)
  const says = (number: number) => results.get(number) !== 0 || predecessors.has(number)
  const shown = [...numbers.filter(says), ...numbers.filter((number) => !says(number))].slice(0, SHOWN_ROWS)
  return {
    rows: shown.sort((one, other) => one - other).map(row),
    omitted: numbers.length - shown.length,
    answer: isThere ? answerFrom(results) : null,
  }
}

function shownResult(result: number): ResultTableRow['result'] {
  if (result === PAYLOAD) return 'payload'
  return result === 0 ? null : result
}

/** The partition to which the results lead from the first one on. */
function answerFrom(results: ReadonlyMap<number, number>): number {
  let number = 1
  for (let next = results.get(number); next !== undefined && next !== PAYLOAD && next !== 0; ) {
    number = next
    next = results.get(number)
  }
  return number
}
