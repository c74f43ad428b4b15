import fc from 'fast-check'
import t from 'tap'
import { KeyNormaliser, mostHeapWords, type NormalForm } from '../../../gpu/keys/normalise.js'
import { KeyRestorer } from '../../../gpu/keys/restore.js'
import { anySeed, check, LENGTHS, same } from '../primitives/bed.js'
import {
  anyShape,
  type Bed,
  type Column,
  columnOf,
  heapOf,
  longestKeys,
  makeKeys,
  mixedKeys,
  prefixFree,
  withEachStrategy,
} from './bed.js'

const FORMS = ['terminated', 'raw'] as const

/** Words that nobody should have written. */
const UNTOUCHED = 0x7e577e57

interface Found {
  readonly heap: Uint32Array
  readonly records: Uint32Array
  readonly restored: Column
}

/** Normalises keys and restores the first `live` of them, with room for `mostBytes`. */
async function thereAndBack(
  { device, primitives, strategy }: Bed,
  form: NormalForm,
  { offsets, bytes }: Column,
  live: number,
  mostBytes: number,
): Promise<Found> {
  const normaliser = new KeyNormaliser(device, primitives, form)
  const restorer = new KeyRestorer(device, primitives, form, strategy)
  const count = offsets.length - 1
  const scratch = device.scratch()
  const upload = (column: Uint8Array) => {
    const buffer = scratch.bytes(column.byteLength)
    device.upload(buffer, column)
    return buffer
  }
  const keys = { offsets: upload(bytesOf(offsets)), bytes: upload(bytes), count, byteLength: bytes.length }
  const recorder = device.record()
  const { heap, records, heapWords } = normaliser.record(recorder, scratch, keys)
  const liveCount = { buffer: upload(bytesOf(Uint32Array.of(UNTOUCHED, live))), index: 1 }
  const restored = restorer.record(
    recorder,
    scratch,
    { heap, records },
    count,
    mostBytes,
    live === count ? undefined : liveCount,
  )
  const wholeBytes = Math.ceil(mostBytes / 4) * 4
  const [words, ...columns] = await device.submitAndRead(recorder, [
    { buffer: heapWords.buffer, offset: 4 * heapWords.index, bytes: 4 },
    { buffer: records, bytes: 8 * count },
    { buffer: restored.offsets, bytes: 4 * (count + 1) },
    { buffer: restored.bytes, bytes: wholeBytes },
  ])
  const heapRead = await device.readWords(heap, wordsOf(words!)[0]!)
  scratch.release()
  return {
    heap: heapRead,
    records: wordsOf(columns[0]!),
    restored: { offsets: wordsOf(columns[1]!), bytes: columns[2]! },
  }
}

async function checkKeys(
  bed: Bed,
  form: NormalForm,
  keys: readonly Uint8Array[],
  live = keys.length,
  mostBytes?: number,
): Promise<void> {
  const column = columnOf(keys)
  const total = column.offsets[live]!
  const room = mostBytes ?? total
  const { heap, records, restored } = await thereAndBack(bed, form, column, live, room)
  const wanted = heapOf(keys, form)
  same(records, wanted.records)
  same(heap, wanted.heap)
  const most = mostHeapWords(form, keys.length, column.bytes.length)
  if (heap.length > most) throw new Error(`${heap.length} words where ${most} were the most`)
  same(
    restored.offsets,
    column.offsets.map((offset) => Math.min(offset, total)),
  )
  const written = Math.min(total, room)
  same(restored.bytes.subarray(0, written), column.bytes.subarray(0, written))
  if (room >= total) same(restored.bytes.subarray(total, -(-total & ~3)), new Array(-total & 3).fill(0))
}

function bytesOf(words: Uint32Array): Uint8Array {
  return new Uint8Array(words.buffer, words.byteOffset, words.byteLength)
}

function wordsOf(bytes: Uint8Array): Uint32Array {
  return new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 4)
}

t.test('every length of keys around a boundary', (t) =>
  withEachStrategy(t, async (_t, bed) => {
    const lengths = [...Array(20).keys(), 63, 64, 65, 255, 256, 257, 258]
    for (const filling of [0x00, 0x61, 0xff]) {
      const keys = lengths.map((length) => Buffer.alloc(length, filling))
      for (const form of FORMS) {
        await checkKeys(bed, form, keys)
        // Alone, a key neither borrows a word from its neighbours nor hides behind them.
        for (const key of keys.slice(0, 10)) await checkKeys(bed, form, [key])
      }
    }
  }),
)

t.test('one zero at each place of a key that starts at each byte of a word', (t) =>
  withEachStrategy(t, async (_t, bed) => {
    const keys: Uint8Array[] = []
    for (let length = 1; length <= 13; length++) {
      for (let zero = 0; zero < length; zero++) keys.push(Buffer.alloc(length, 'z').fill(0, zero, zero + 1))
    }
    for (const form of FORMS) await checkKeys(bed, form, keys)
  }),
)

t.test('the longest keys', (t) =>
  withEachStrategy(t, async (_t, bed) => {
    for (const form of FORMS) await checkKeys(bed, form, longestKeys())
  }),
)

t.test('every number of keys around a boundary', (t) =>
  withEachStrategy(t, async (_t, bed) => {
    for (const count of LENGTHS) {
      if (count > 20_000) continue
      await checkKeys(bed, 'terminated', makeKeys('anyLength', count + 1, count))
    }
    for (const form of FORMS) await checkKeys(bed, form, makeKeys('empty', 1, 70_000))
  }),
)

t.test('keys of every shape, there and back', (t) =>
  withEachStrategy(t, (t, bed) =>
    check(
      t,
      fc.record({
        shape: anyShape,
        seed: anySeed,
        count: fc.integer({ min: 0, max: 700 }),
        form: fc.constantFrom(...FORMS),
      }),
      ({ shape, seed, count, form }) => {
        const keys = makeKeys(shape, seed, count)
        return checkKeys(bed, form, form === 'raw' ? prefixFree(keys) : keys)
      },
      50,
    ),
  ),
)

t.test('fewer records than there may be, and room for fewer bytes than they have', (t) =>
  withEachStrategy(t, (t, bed) =>
    check(
      t,
      fc.record({
        seed: anySeed,
        count: fc.integer({ min: 0, max: 300 }),
        fraction: fc.integer({ min: 0, max: 100 }),
        room: fc.integer({ min: 0, max: 130 }),
        form: fc.constantFrom(...FORMS),
      }),
      ({ seed, count, fraction, room, form }) => {
        const keys = mixedKeys(seed, count)
        const live = Math.floor((count * fraction) / 100)
        const bytes = columnOf(keys).offsets[live]!
        return checkKeys(bed, form, keys, live, Math.floor((bytes * room) / 100))
      },
      30,
    ),
  ),
)

t.test('the normal form keeps the order, and no key is a prefix of another', async (t) => {
  await check(
    t,
    fc.tuple(anySeed, fc.integer({ min: 2, max: 60 })),
    async ([seed, count]) => {
      const keys = mixedKeys(seed, count)
      const { heap, records } = heapOf(keys, 'terminated')
      const wordsFrom = (i: number) => heap.subarray(records[2 * i]!, records[2 * i + 2] ?? heap.length)
      for (let i = 1; i < count; i++) {
        const order = Math.sign(Buffer.compare(keys[i - 1]!, keys[i]!))
        if (compareWords(wordsFrom(i - 1), wordsFrom(i)) !== order) throw new Error(`keys ${i - 1} and ${i}`)
      }
    },
    50,
  )
})

/** Compares as far as both have words; past the shorter one's end nothing decides. */
function compareWords(a: Uint32Array, b: Uint32Array): number {
  for (let i = 0; i < Math.min(a.length, b.length); i++) {
    if (a[i] !== b[i]) return Math.sign(a[i]! - b[i]!)
  }
  return 0
}
