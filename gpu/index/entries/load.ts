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
import type { IndexStructure, PayloadLists, StructureEntries } from '../../index-structure.js'
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
    const column = async (name: ColumnName) => {
      const full = `${group}/${name}`
      return names.has(full) ? readWhole(source.read(full)) : undefined
    }
    coming -= await loadGroup(structure, column, coming)
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
  column: (name: ColumnName) => Promise<Uint8Array | undefined>,
  coming: number,
): Promise<number> {
  const { keyType, payloadBytes } = structure.shape
  const bytes = (await column('keys')) ?? new Uint8Array(0)
  const offsets = await column('keyOffsets')
  const keys = columnFrom(bytes, keyWidth(keyType), offsets && aligned(offsets, Uint32Array))
  const count = countOf(keys)
  const words = Math.ceil(payloadBytes / 4)
  const payloads = aligned((await column('payloads')) ?? new Uint8Array(0), Uint32Array)
  const all = Uint32Array.from({ length: payloadBytes % 4 === 0 ? 0 : count }, (_, i) => i)
  await insert(structure, keys, payloadColumn(payloads, words, 0, all, payloadBytes), coming)
  const lists = await column('lists')
  const listed = await column('entries')
  if (lists === undefined || listed === undefined) return count
  const entries = aligned(listed, Uint32Array)
  const odd = oddKeys(keys, aligned(lists, Uint32Array), entries, 1 + words)
  await insert(structure, odd.keys, payloadColumn(entries, 1 + words, 1, odd.entries, payloadBytes))
  await structure.renumber(odd.lists)
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

/**
 * The keys whose first payload does not tell all of theirs.
 * @param listed number, payloads and next sequence number of each
 * @param stride words of an entry
 * @returns their lists, and what is to be inserted behind the first payloads: for each its key, and its entry
 */
function oddKeys(
  keys: Column,
  listed: Uint32Array,
  entries: Uint32Array,
  stride: number,
): { lists: PayloadLists; keys: Column; entries: Uint32Array } {
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
    const end = first + length
    // What is inserted for the sake of its extent dies whatever it is.
    const from = needsSpare(length, next, sequences[first]!) ? first : first + 1
    for (let entry = from; entry < end; entry++, added++) {
      further.keys[added] = number
      further.entries[added] = entry
    }
    first = end
  }
  return {
    lists: { keys: pickValues(keys, numbers), lists, sequences },
    keys: pickValues(keys, further.keys.subarray(0, added)),
    entries: further.entries.subarray(0, added),
  }
}

/**
 * The payloads of entries as a column.
 * @param stride words of an entry, of which the payload begins at number `offset`
 * @param numbers of the entries
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
