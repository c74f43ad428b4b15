import type { AbortSignalLike } from '../../../protocol/abort-signal.js'
import type { KeyType } from '../../../protocol/types.js'
import type { Key } from '../keys.js'
import type { Index } from '../remote-index.js'

/** Entries of a page of keys. */
const PAGE_ENTRIES = 1 << 16

export interface Parts {
  /** Keys with which all parts but the first begin. */
  readonly splitAt: readonly Key<KeyType>[]
  /** Of each part. */
  readonly entries: readonly number[]
}

/**
 * Cuts an index into parts of as many entries, or nearly so, since the entries of a key stay together. It reads the keys up to the last part, which is
 * little beside the copy that a split makes.
 * @param most parts; there are fewer where there are fewer keys
 */
export async function equalParts(
  index: Index,
  most: number,
  signal?: AbortSignalLike | undefined,
): Promise<Parts> {
  const [total = 0] = await index.countRanges([{}])
  const keys: Key<KeyType>[] = []
  let seen = 0
  for await (const page of index.keys({ pageSize: PAGE_ENTRIES, signal }).pages()) {
    while (keys.length + 1 < most) {
      const place = Math.ceil((total * (keys.length + 1)) / most) - seen
      if (place >= page.length) break
      keys.push(page.at(place))
    }
    if (keys.length + 1 === most) break
    seen += page.length
  }
  const before = await index.countRanges(keys.map((to) => ({ to, toExclusive: true })))
  // A key with the entries of several parts was found several times.
  const isStart = (i: number) => before[i]! > (before[i - 1] ?? 0)
  const splitAt = keys.filter((_, i) => isStart(i))
  const ends = [...before.filter((_, i) => isStart(i)), total]
  return { splitAt, entries: ends.map((end, i) => end - (ends[i - 1] ?? 0)) }
}
