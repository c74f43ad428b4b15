import { LIMITS } from '../../../protocol/limits.js'
import type { DeviceMemory } from '../../memory/page-run.js'
import { evaluateRows } from '../expressions/evaluate.js'
import type { DeviceWork } from '../query/device-work.js'
import type { RowNumbers } from '../query/fetch.js'
import type { Table } from '../query/table.js'
import type { StringDictionary } from '../string-dictionary.js'
import type { TreeProbe } from './tree-index.js'

/** Strings of a dictionary for each row past which most of them would be looked for in vain. */
const MOST_STRINGS_A_ROW = 4
/** Strings that are looked for at most: all of them go to the device. */
const MOST_STRINGS = 2 ** 16

/**
 * The keys of a table's rows as an index has them: the values of a column, or of strings their numbers; nulls are not looked for.
 * @returns undefined where that does not pay: of a dictionary with many more strings than there are rows
 */
export async function treeProbe(
  work: DeviceWork,
  table: Table,
  column: number,
): Promise<TreeProbe | undefined> {
  const { type, dictionary: strings } = table.columns[column]!.source
  if (type === 'string' && (strings === undefined || !paysByStrings(strings, table.rows))) return undefined
  const whole = table.dense(work, column)
  if (whole.validity === undefined) return { keys: whole.values, count: table.rows, strings }
  const [flags] = await evaluateRows(work, { count: table.rows }, [
    (code) => code.computed('u32', `select(0u, 1u, ${code.hasValue({ source: whole, rows: undefined })})`),
  ])
  const { numbers, count } = await selectFlagged(work, flags!.values, table.rows)
  const { values } = table.pick(work, numbers, count).dense(work, column)
  return { keys: values, count, strings, rows: numbers.buffer }
}

/** The positions of the flags that are not 0, ascending, and how many they are. */
async function selectFlagged(
  work: DeviceWork,
  flags: DeviceMemory,
  count: number,
): Promise<{ readonly numbers: RowNumbers; readonly count: number }> {
  const buffer = work.words(count)
  const total = { buffer: work.words(1), index: 0 }
  work.kernels.primitives.compact(work.recorder, work.scratch, flags, count, buffer, total)
  const [selected] = await work.read([total])
  return { numbers: { buffer, outer: false, ascending: true }, count: selected! }
}

/** Whether all strings of a dictionary can be looked for, and are not too many for that; keys have a length that they may have. */
function paysByStrings(strings: StringDictionary, rows: number): boolean {
  const { size } = strings
  if (size > MOST_STRINGS || size > MOST_STRINGS_A_ROW * rows) return false
  for (let code = 0; code < size; code++) if (strings.bytesOf(code) > LIMITS.keyBytes) return false
  return true
}
