import { valueAt } from '../../protocol/columns.js'
import { WarpdexError } from '../../protocol/errors.js'
import type { KeyType, PayloadKind } from '../../protocol/types.js'
import type { Index, Keys, NextResult } from '../sdk/index.js'
import type { PayloadSpace } from './payload-space.js'
import type { KeyColumn, ScanAnswer } from './target.js'

/** An entry that a walk came by: the 32-bit words of its key, and its payload. */
interface WalkedEntry {
  readonly words: Uint32Array
  readonly row: Uint8Array
}

/** Where walks of a batch go on; walk `numbers[i]` from key i. */
interface Positions {
  readonly numbers: readonly number[]
  readonly keys: Keys<KeyType>
  readonly sequences: Uint32Array | undefined
}

/**
 * Walks from each key: to its first payload by a get, and from there on from entry to entry by getNexts. Those of a batch share a request a step.
 * @param limit entries of a walk at most
 */
export async function walk(
  index: Index,
  payloads: PayloadSpace,
  from: KeyColumn,
  limit: number,
): Promise<ScanAnswer> {
  const { count, width } = from
  const walks = Array.from({ length: count }, (): WalkedEntry[] => [])
  const ended = new Set<number>()
  const first = await index.getMany(from.keys, { sequences: true })
  const row = payloads.rows(first.payloads)
  for (const [i, entries] of walks.entries()) {
    const words = from.words.slice(i * width, (i + 1) * width)
    if (first.has(i)) entries.push({ words, row: row(i) })
  }
  let at: Positions = {
    numbers: limit > 1 ? [...walks.keys()] : [],
    keys: from.keys,
    sequences: first.sequences,
  }
  while (at.numbers.length > 0) {
    const next = await index.getNextMany(at.keys, { sequences: at.sequences })
    const row = payloads.rows(next.payloads)
    const going: number[] = []
    for (const [i, number] of at.numbers.entries()) {
      if (next.has(i)) {
        walks[number].push({ words: keyWords(next, i, width), row: row(i) })
        if (walks[number].length < limit) going.push(i)
      } else ended.add(number)
    }
    at = goOn(at, next, going)
  }
  return answerOf(walks, width, ended)
}

/** @param going which of the positions' walks go on */
function goOn(
  { numbers }: Positions,
  next: NextResult<KeyType, PayloadKind>,
  going: readonly number[],
): Positions {
  // Those of columns that are whole go out as they came.
  if (going.length === numbers.length) return { numbers, keys: next.keys, sequences: next.sequences }
  return {
    numbers: going.map((i) => numbers[i]),
    keys: going.map((i) => next.key(i)),
    sequences: Uint32Array.from(going, (i) => next.sequences[i]),
  }
}

/** @throws WarpdexError `INTERNAL` for a key that no load test has stored */
function keyWords({ keys }: NextResult<KeyType, PayloadKind>, i: number, width: number): Uint32Array {
  const key = ArrayBuffer.isView(keys)
    ? new Uint8Array(keys.buffer, keys.byteOffset + 4 * width * i, 4 * width)
    : valueAt(keys, i)
  if (key.byteLength === 4 * width) return new Uint32Array(key.slice().buffer)
  throw new WarpdexError('INTERNAL', 'the index has keys of other lengths, which no load test has stored')
}

/** What walks came by, as scans from the same keys would have it. */
function answerOf(
  walks: readonly (readonly WalkedEntry[])[],
  width: number,
  ended: ReadonlySet<number>,
): ScanAnswer {
  const entries = walks.flat()
  const words = new Uint32Array(width * entries.length)
  for (const [i, entry] of entries.entries()) words.set(entry.words, width * i)
  const offsets = new Uint32Array(walks.length + 1)
  for (const [i, { length }] of walks.entries()) offsets[i + 1] = offsets[i] + length
  return { offsets, words, row: (entry) => entries[entry].row, more: (i) => !ended.has(i) }
}
