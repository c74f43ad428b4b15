import type { Column } from '../../../protocol/columns.js'
import { LIMITS } from '../../../protocol/limits.js'
import type { StringDictionary } from '../device-relation.js'
import type { TreeProbe } from '../joins/tree-index.js'
import type { DeviceWork } from './device-work.js'
import { type KeyedSide, withoutNulls } from './join-keys.js'
import type { Table } from './table.js'

/** The rows of a table that look for theirs in an index over a column of the other side. */
export interface ProbeSide extends Pick<KeyedSide, 'without'> {
  readonly probe: TreeProbe & { readonly rowBound: number }
}

/** Strings of a dictionary for each row past which most of them would be looked for in vain. */
const MOST_STRINGS_A_ROW = 4
/** Strings that are looked for at most: all of them go to the device. */
const MOST_STRINGS = 2 ** 16

/**
 * The keys of a table's rows as an index has them: the values of a column, or of strings their numbers.
 * @returns undefined where that does not pay: of a dictionary with many more strings than there are rows
 */
export async function treeProbe(
  work: DeviceWork,
  table: Table,
  column: number,
): Promise<ProbeSide | undefined> {
  const { type, dictionary } = table.columns[column]!.source
  if (type === 'string' && !paysByStrings(dictionary, table.rows)) return undefined
  const strings = dictionary && encoded(dictionary)
  if (type === 'string' && strings === undefined) return undefined
  const { keys, numbers, without } = await withoutNulls(work, table.choose([column]))
  const { values } = keys.dense(work, 0)
  work.submit()
  const rows = numbers === undefined ? {} : { rows: numbers.buffer }
  return { probe: { keys: values, count: keys.rows, rowBound: table.rows, strings, ...rows }, without }
}

/** The buffers of a side. */
export function probeBuffers({ probe, without }: ProbeSide): readonly GPUBuffer[] {
  return [probe.keys, probe.rows ?? [], without?.numbers.buffer ?? []].flat()
}

function paysByStrings(dictionary: StringDictionary | undefined, rows: number): boolean {
  const size = dictionary?.size ?? 0
  return size <= MOST_STRINGS && size <= MOST_STRINGS_A_ROW * rows
}

/** The strings of a dictionary as keys; undefined where one is longer than keys may be. */
function encoded(
  dictionary: StringDictionary,
): { readonly keys: Column; readonly count: number } | undefined {
  const { bytes, offsets } = dictionary.utf8()
  const count = dictionary.size
  for (let code = 0; code < count; code++) {
    if (offsets[code + 1]! - offsets[code]! > LIMITS.keyBytes) return undefined
  }
  return {
    keys: { bytes: bytes.subarray(0, offsets[count]), offsets: offsets.subarray(0, count + 1) },
    count,
  }
}
