import { joinColumns } from '../../protocol/columns.js'
import { badRequest } from '../../protocol/errors.js'
import { titleOf } from '../../protocol/shown.js'
import type { KeyType } from '../../protocol/types.js'
import { ANYTHING, type Bounds, checkOptions, FLAG, type Kinds } from './call-options.js'
import type { IndexCalls, KnownIndex } from './index-calls.js'
import type { KeyEnd, KeyPrefix } from './keys.js'
import { rangeOf, type ScanCall } from './ranges.js'
import { readBigNumbers } from './reply.js'

/** A range of keys: from `from` to `to`, of which an absent one leaves that end open, or all that begin with `prefix`. */
export interface KeyRange<K extends KeyType> {
  readonly from?: KeyEnd<K> | undefined
  readonly to?: KeyEnd<K> | undefined
  readonly fromExclusive?: boolean | undefined
  readonly toExclusive?: boolean | undefined
  /** A text, bytes, or leading parts of a tuple. */
  readonly prefix?: KeyPrefix<K> | undefined
}

const KEY_RANGE: Kinds<KeyRange<KeyType>> = {
  from: ANYTHING,
  to: ANYTHING,
  fromExclusive: FLAG,
  toExclusive: FLAG,
  prefix: ANYTHING,
}

/** How many entries each range has. Ranges whose ends are alike share requests. */
export async function countRanges<K extends KeyType>(
  calls: IndexCalls,
  ranges: readonly KeyRange<K>[],
  version: number | undefined,
  known: KnownIndex,
  bounds: Bounds,
): Promise<number[]> {
  if (!Array.isArray(ranges)) {
    throw badRequest(`countRanges takes a list of ranges, such as [{ from, to }], not ${titleOf(ranges)}`)
  }
  const alike = new Map<string, { readonly numbers: number[]; readonly asked: ScanCall[] }>()
  for (const [number, range] of ranges.entries()) {
    checkOptions(range, KEY_RANGE, 'countRanges', 'field')
    const asked = rangeOf(range, 0, known)
    const { fromExclusive, toExclusive, columns } = asked
    const isOpen = columns.from === undefined && columns.to === undefined
    const ends = [columns.from !== undefined, columns.to !== undefined, !!fromExclusive, !!toExclusive]
    // One without ends is asked for by itself: there is no column to have one for each.
    const kind = isOpen ? `all ${number}` : ends.join()
    const group = alike.get(kind) ?? { numbers: [], asked: [] }
    alike.set(kind, group)
    group.numbers.push(number)
    group.asked.push(asked)
  }
  const counts = new Array<number>(ranges.length).fill(0)
  const asking = Array.from(alike.values(), async ({ numbers, asked }) => {
    const found = await calls.ask(known, { ...joined(asked), version }, bounds, (parts) =>
      readBigNumbers(parts, 'counts'),
    )
    for (const [i, number] of numbers.entries()) counts[number] = Number(found[i])
  })
  await Promise.all(asking)
  return counts
}

/** One call for all of these ranges. */
function joined(ranges: readonly ScanCall[]) {
  const [{ fromExclusive, toExclusive }] = ranges
  const ends = (name: 'from' | 'to') => {
    const columns = ranges.flatMap(({ columns }) => columns[name] ?? [])
    return columns.length === 0 ? undefined : joinColumns(columns)
  }
  const columns = { from: ends('from'), to: ends('to') }
  return { op: 'countRanges', count: ranges.length, fromExclusive, toExclusive, columns } as const
}

/**
 * Deletes all that a range holds, as a whole.
 * @returns how many entries went
 */
export function deleteRange<K extends KeyType>(
  calls: IndexCalls,
  range: KeyRange<K>,
  known: KnownIndex,
  bounds: Bounds,
): Promise<number> {
  checkOptions(range, KEY_RANGE, 'deleteRange', 'field')
  const { fromExclusive, toExclusive, columns } = rangeOf(range, 0, known)
  const ends = { fromExclusive, toExclusive, columns }
  // It is the same write however often it is sent.
  const call = { op: 'deleteRange', count: 1, ...ends, writeId: calls.connection.newWriteId() } as const
  const send = (known: KnownIndex) => calls.request(known, call, bounds)
  return calls.run(known, send).then((reply) => Number(readBigNumbers([{ reply, asked: call }], 'counts')[0]))
}
