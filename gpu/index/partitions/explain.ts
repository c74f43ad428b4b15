import type { ResultTableRow, ResultTables } from '../../../protocol/traversal.js'

/** A result that is a payload; `explain.wesl` has the same number. */
const PAYLOAD = 0xffffffff

/** Words of a row of `explain.wesl`. */
export const ROW_WORDS = 4

/** Rows that are shown at most. */
const SHOWN_ROWS = 1000

/** The tables of a query from the rows that `explain.wesl` lists. */
export function tablesOf(words: Uint32Array): ResultTables {
  const rows: ResultTableRow[] = []
  for (let at = ROW_WORDS; at < words.length; at += ROW_WORDS) {
    const [partition, level, result, predecessor] = words.subarray(at, at + ROW_WORDS)
    if (partition === 0) continue
    rows.push({
      partition,
      level,
      result: result === PAYLOAD ? 'payload' : result || null,
      predecessor: predecessor || null,
    })
  }
  rows.sort((one, other) => one.partition - other.partition)
  const says = ({ result, predecessor }: ResultTableRow) => result !== null || predecessor !== null
  const shown = [...rows.filter(says), ...rows.filter((row) => !says(row))].slice(0, SHOWN_ROWS)
  return {
    rows: shown.sort((one, other) => one.partition - other.partition),
    omitted: rows.length - shown.length,
    answer: words[0] || null,
  }
}
