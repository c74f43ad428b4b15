import { LIMITS } from '../../../protocol/limits.js'
import { between } from '../expressions/value-sets.js'
import type { DeviceWork } from '../query/device-work.js'
import { valueWords } from '../query/query-column.js'
import type { Table } from '../query/table.js'
import type { StringDictionary } from '../string-dictionary.js'
import type { TreeProbe } from './tree-index.js'

/** Strings of a dictionary for each row past which most of them would be looked for in vain. */
const MOST_STRINGS_A_ROW = 4
/** Strings that are looked for at most: all of them go to the device. */
const MOST_STRINGS = 2 ** 16

/** The plan of a selection by one condition. */
const ONE_KERNEL = { kernels: [{ groups: [[0]], hands: 'rows' }] } as const

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
  const present = between(0n, 2n ** BigInt(32 * valueWords(type)) - 1n)
  const conditions = [{ kind: 'values', column: 0, set: present }] as const
  const { selections } = work.kernels
  const { rows, count } = await selections.run(work, [whole], table.rows, conditions, ONE_KERNEL, {
    kind: 'rows',
  })
  const numbers = { buffer: rows!, outer: false, ascending: true }
  const { values } = table.pick(work, numbers, count).dense(work, column)
  return { keys: values, count, strings, rows: rows! }
}

/** Whether all strings of a dictionary can be looked for, and are not too many for that; keys have a length that they may have. */
function paysByStrings(strings: StringDictionary, rows: number): boolean {
  const { size } = strings
  if (size > MOST_STRINGS || size > MOST_STRINGS_A_ROW * rows) return false
  for (let code = 0; code < size; code++) if (strings.bytesOf(code) > LIMITS.keyBytes) return false
  return true
}
