import {
  aligned,
  asBytes,
  type Column,
  columnFrom,
  concatenate,
  countOf,
  pickValues,
  sliceColumn,
} from '../../../protocol/columns.js'
import { WarpdexError } from '../../../protocol/errors.js'
import { LIMITS } from '../../../protocol/limits.js'
import { keyWidth, WriteOp } from '../../../protocol/types.js'
import type { IndexStructure, StructureEntries } from '../../index-structure.js'
import { needsSpare } from './renumber.js'

/** Where the columns of `StructureEntries` are read. */
export interface EntrySource {
  readonly meta: StructureEntries['meta']
  /** Names of the columns. */
  readonly names: readonly string[]
  read(name: string): AsyncIterable<Uint8Array>
}

/**
 * Fills an empty structure.
 * @throws WarpdexError `DAMAGED_FILE`, `OUT_OF_DEVICE_MEMORY`
 */
export async function loadEntries(structure: IndexStructure, source: EntrySource): Promise<void> {
  const names = new Set(source.names)
  let coming = source.meta.keys
  for (let group = 0; names.has(`${group}/keys`); group++) {
    const column = async (name: string) => {
      const full = `${group}/${name}`
      return names.has(full) ? readWhole(source.read(full)) : undefined
    }
    const columns = {
      keys: await column('keys'),
      keyOffsets: await column('keyOffsets'),
      payloads: await column('payloads'),
      lists: await column('lists'),
      entries: await column('entries'),
    }
    coming -= await loadGroup(structure, columns, coming)
  }
  await structure.compactIfWorthwhile()
  const { keys, payloads } = structure.stats()
  const { meta } = source
  if (keys === meta.keys && payloads === meta.payloads) return
  throw new WarpdexError(
    'DAMAGED_FILE',
    `the snapshot has ${keys} keys with ${payloads} payloads, not ${meta.keys} with ${meta.payloads}`,
  )
}

type ColumnName = 'keys' | 'keyOffsets' | 'payloads' | 'lists' | 'entries'

/** @param coming keys that the group and those behind it have; returns those of the group */
async function loadGroup(
  structure: IndexStructure,
  columns: Readonly<Record<ColumnName, Uint8Array | undefined>>,
  coming: number,
): Promise<number> {
  const { keys: bytes = new Uint8Array(0), keyOffsets, payloads, lists, entries } = columns
  const { keyType, payloadBytes } = structure.shape
  const keys = columnFrom(bytes, keyWidth(keyType), keyOffsets && aligned(keyOffsets, Uint32Array))
  const words = Math.ceil(payloadBytes / 4)
  const firsts = aligned(payloads ?? new Uint8Array(0), Uint32Array)
  const all = Uint32Array.from({ length: payloadBytes % 4 === 0 ? 0 : firsts.length / words }, (_, i) => i)
  await insert(structure, keys, payloadColumn(firsts, words, 0, all, payloadBytes), coming)
  const count = countOf(keys)
  if (lists === undefined || entries === undefined) return count
  const padded = aligned(entries, Uint32Array)
  const odd = oddKeys(aligned(lists, Uint32Array), padded, 1 + words)
  const further = payloadColumn(padded, 1 + words, 1, odd.further.entries, payloadBytes)
  await insert(structure, pickValues(keys, odd.further.keys), further)
  await structure.renumber({
    keys: pickValues(keys, odd.numbers),
    lists: odd.lists,
    sequences: odd.sequences,
  })
  return count
}

/**
 * Inserts rows in key order, as many at a time as a batch may have.
 * @param coming new keys that these rows and those to come have, where that is known
 */
async function insert(structure: IndexStructure, keys: Column, payloads: Column, coming = 0): Promise<void> {
  const count = countOf(keys)
  for (let start = 0; start < count; start += LIMITS.batchItems) {
    const end = Math.min(count, start + LIMITS.batchItems)
    const prepared = await structure.prepare({
      ops: WriteOp.insert,
      keys: sliceColumn(keys, start, end),
      payloads: sliceColumn(payloads, start, end),
      goesOn: true,
      coming: Math.max(0, coming - end),
      isSorted: true,
    })
    prepared.apply()
    await structure.compactIfWorthwhile({ inBackground: false, goesOn: true })
  }
}

/** The keys whose first payload does not tell all of them. */
interface OddKeys {
  /** Their places in the group. */
  readonly numbers: Uint32Array
  /** As `PayloadLists` has them. */
  readonly lists: Uint32Array
  readonly sequences: Uint32Array
  /** What is to be inserted behind the first payloads: the place of each one's key, and its entry, or NO_ENTRY for one that is there for its extent only. */
  readonly further: { readonly keys: Uint32Array; readonly entries: Uint32Array }
}

/** @param stride words of an entry */
function oddKeys(listed: Uint32Array, entries: Uint32Array, stride: number): OddKeys {
  const count = listed.length / 3
  const payloads = entries.length / stride
  const numbers = new Uint32Array(count)
  const lists = new Uint32Array(2 * count)
  const sequences = Uint32Array.from({ length: payloads }, (_, i) => entries[i * stride]!)
  const further = { keys: new Uint32Array(payloads), entries: new Uint32Array(payloads) }
  let added = 0
  for (let i = 0, first = 0; i < count; i++) {
    const [number, length, next] = [listed[3 * i]!, listed[3 * i + 1]!, listed[3 * i + 2]!]
    numbers[i] = number
    lists[2 * i] = length
    lists[2 * i + 1] = next
    const add = (entry: number): void => {
      further.keys[added] = number
      further.entries[added++] = entry
    }
    for (let entry = first + 1; entry < first + length; entry++) add(entry)
    if (needsSpare(length, next, sequences[first]!)) add(NO_ENTRY)
    first += length
  }
  const { keys: places, entries: taken } = further
  return {
    numbers,
    lists,
    sequences,
    further: { keys: places.subarray(0, added), entries: taken.subarray(0, added) },
  }
}

const NO_ENTRY = 0xffffffff

/**
 * The payloads of entries as a column.
 * @param stride words of an entry, of which the payload begins at number `offset`
 * @param numbers of the entries; NO_ENTRY for one of zeros
 */
function payloadColumn(
  words: Uint32Array,
  stride: number,
  offset: number,
  numbers: Uint32Array,
  payloadBytes: number,
): Column {
  const source = asBytes(words)
  if (offset === 0 && stride * 4 === payloadBytes) return { bytes: source, width: payloadBytes }
  const column = new Uint8Array(numbers.length * payloadBytes)
  for (let i = 0; i < numbers.length; i++) {
    if (numbers[i] === NO_ENTRY) continue
    const start = (numbers[i]! * stride + offset) * 4
    for (let b = 0; b < payloadBytes; b++) column[i * payloadBytes + b] = source[start + b]!
  }
  return { bytes: column, width: payloadBytes }
}

async function readWhole(chunks: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const all: Uint8Array[] = []
  for await (const chunk of chunks) all.push(chunk)
  return concatenate(all)
}
