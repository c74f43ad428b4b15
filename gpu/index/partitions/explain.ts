import type { ResultTableRow, ResultTables } from '../../../protocol/traversal.js'
import type { Device, Kernels } from '../../device/device.js'
import type { Arena } from '../arena.js'
import type { TreeShape } from '../layout.js'
import type { PartitionLists, PartitionTable } from './partitions.js'
import type { KeyColumn } from './result-table.js'
import type { Speculative } from './speculative.js'

/** A result that is a payload; `explain.wesl` has the same number. */
const PAYLOAD = 0xffffffff

const ROW_WORDS = 4

/** Rows that are shown at most. */
const SHOWN_ROWS = 1000

/** Makes the tables of one query that people see (Volk, Tables 1 and 2). */
export class TableExplainer {
  readonly #device: Device
  readonly #word: number
  readonly #speculative: Speculative
  readonly #kernels: Kernels<'list_results'>

  constructor(device: Device, { word, conditions }: TreeShape, speculative: Speculative) {
    this.#device = device
    this.#word = word
    this.#speculative = speculative
    this.#kernels = device.kernels('index/partitions/explain', ['list_results'], conditions)
  }

  /**
   * The tables of the first of some queries.
   * @param isThere whether the index has its key
   */
  async tables(
    arena: Arena,
    table: PartitionTable,
    lists: PartitionLists,
    queries: KeyColumn,
    isThere: boolean,
  ): Promise<ResultTables> {
    const { live, byLevel } = lists
    const scratch = this.#device.scratch()
    try {
      const [results, rows] = [scratch.words(table.count), scratch.words(ROW_WORDS * live)]
      const recorder = this.#device.record()
      const piece = { queries, word: this.#word, first: 0, length: 1, results }
      this.#speculative.record(recorder, arena, table, lists, piece)
      const [roots, numbers] = [table.roots.buffer, table.numbers.buffer]
      const buffers = { ...arena.bindings, results, roots, numbers, byLevel, rows }
      recorder.dispatch(this.#kernels.list_results, buffers, { count: live }, live)
      const words = { buffer: rows, bytes: 4 * ROW_WORDS * live }
      const [column] = await this.#device.submitAndRead(recorder, [words])
      return tablesOf(new Uint32Array(column.buffer, column.byteOffset, ROW_WORDS * live), isThere)
    } finally {
      scratch.release()
    }
  }
}

function tablesOf(words: Uint32Array, isThere: boolean): ResultTables {
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
