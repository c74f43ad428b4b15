import fc from 'fast-check'
import t from 'tap'
import type { Device } from '../../../gpu/device/device.js'
import { KeyNormaliser } from '../../../gpu/keys/normalise.js'
import { RecordSort } from '../../../gpu/keys/sort-records.js'
import type { DeviceMemory } from '../../../gpu/memory/page-run.js'
import { everyOther, seedOfRun } from '../../random.js'
import { anySeed, check, LENGTHS, randomWords, same } from '../primitives/bed.js'
import {
  anyShape,
  type Bed,
  columnOf,
  heapOf,
  longestKeys,
  makeKeys,
  mixedKeys,
  prefixFree,
  withEachStrategy,
} from './bed.js'

/** The stable order of keys by their bytes. */
function orderOf(keys: readonly Uint8Array[]): Uint32Array {
  return Uint32Array.from(keys.keys()).sort((a, b) => Buffer.compare(keys[a]!, keys[b]!) || a - b)
}

function upload(device: Device, buffer: DeviceMemory, words: Uint32Array, offset = 0): void {
  device.upload(buffer, new Uint8Array(words.buffer, words.byteOffset, words.byteLength), offset)
}

/** Sorts the keys of a heap and its records. */
async function sortRecords(
  { device, primitives }: Bed,
  { heap, records }: { heap: Uint32Array; records: Uint32Array },
): Promise<Uint32Array> {
  const sort = new RecordSort(device, primitives)
  const scratch = device.scratch()
  const buffers = { heap: scratch.words(heap.length), records: scratch.words(records.length) }
  upload(device, buffers.heap, heap)
  upload(device, buffers.records, records)
  const count = records.length / 2
  const order = await sort.sort(device.record(), scratch, buffers, count)
  const found = await device.readWords(order, count)
  scratch.release()
  return found
}

async function sortAndCheck(bed: Bed, keys: readonly Uint8Array[]): Promise<void> {
  same(await sortRecords(bed, heapOf(keys, 'terminated')), orderOf(keys))
}

/** Numbers below `count` in a random order. */
function shuffled(count: number, seed: number): Uint32Array {
  const words = randomWords(seed, count)
  return Uint32Array.from(words.keys()).sort((a, b) => words[a]! - words[b]!)
}

const seed = seedOfRun()
t.comment(`TEST_SEED=${seed}`)

t.test('every number of keys around a boundary', (t) =>
  withEachStrategy(t, async (_t, bed) => {
    // Each number with keys of one shape.
    for (const [i, shape] of (['random16', 'extremes'] as const).entries()) {
      for (const count of everyOther(LENGTHS, seed + i)) {
        if (count <= 20_000) await sortAndCheck(bed, makeKeys(shape, count + 1, count))
      }
    }
  }),
)

t.test('keys of every shape', (t) =>
  withEachStrategy(t, (t, bed) =>
    check(
      t,
      fc.record({ shape: anyShape, seed: anySeed, count: fc.integer({ min: 0, max: 2000 }) }),
      ({ shape, seed, count }) => sortAndCheck(bed, makeKeys(shape, seed, count)),
      60,
    ),
  ),
)

t.test('keys of all shapes together, raw ones, and heaps in another order', (t) =>
  withEachStrategy(t, (t, bed) =>
    check(
      t,
      fc.record({ seed: anySeed, count: fc.integer({ min: 0, max: 3000 }) }),
      async ({ seed, count }) => {
        const keys = prefixFree(mixedKeys(seed, count))
        const places = shuffled(keys.length, seed + 1)
        const { heap, records } = heapOf(
          Array.from(places, (place) => keys[place]!),
          'raw',
        )
        const moved = new Uint32Array(records.length)
        places.forEach((place, i) => {
          moved.set(records.subarray(2 * i, 2 * i + 2), 2 * place)
        })
        same(await sortRecords(bed, { heap, records: moved }), orderOf(keys))
      },
      20,
    ),
  ),
)

t.test('what the normal form was recorded for in the same submission', (t) =>
  withEachStrategy(t, async (_t, bed) => {
    const { device, primitives } = bed
    const keys = mixedKeys(12, 5000)
    const { offsets, bytes } = columnOf(keys)
    const scratch = device.scratch()
    const column = { offsets: scratch.words(offsets.length), bytes: scratch.bytes(bytes.length) }
    upload(device, column.offsets, offsets)
    device.upload(column.bytes, bytes)
    const normaliser = new KeyNormaliser(device, primitives, 'terminated')
    const sort = new RecordSort(device, primitives)
    const recorder = device.record()
    const wireKeys = { ...column, count: keys.length, byteLength: bytes.length }
    const normal = normaliser.record(recorder, scratch, wireKeys)
    const order = await sort.sort(recorder, scratch, normal, keys.length)
    same(await device.readWords(order, keys.length), orderOf(keys))
    scratch.release()
  }),
)

t.test('groups of ties of each size around the largest that is settled at once', (t) =>
  withEachStrategy(t, async (_t, bed) => {
    const heads = [1, 2, 14, 15, 16, 17, 18, 31, 32, 33, 255, 256, 257]
    const keys = heads.flatMap((size, head) =>
      Array.from({ length: size }, (_, i) => Buffer.from(`head ${head + 10}: the same for all, ${i % 20}`)),
    )
    await sortAndCheck(bed, keys)
    const apart = Array.from(shuffled(keys.length, 7), (i) => keys[i]!)
    await sortAndCheck(bed, apart)
  }),
)

t.test('the longest keys, and tens of thousands of equal keys', (t) =>
  withEachStrategy(t, async (_t, bed) => {
    await sortAndCheck(bed, longestKeys())
    await sortAndCheck(bed, [...makeKeys('empty', 1, 30_000), ...makeKeys('duplicates', 5, 40_000)])
  }),
)

t.test('chains of thousands of prefixes take few rounds, whatever their order', (t) =>
  withEachStrategy(t, async (t, bed) => {
    const ascending = Array.from({ length: 3000 }, (_, length) => Buffer.alloc(length, 'a'))
    const zeros = ascending.map(({ length }) => Buffer.alloc(length))
    const apart = Array.from(shuffled(ascending.length, 3), (i) => ascending[i]!)
    for (const keys of [ascending, ascending.toReversed(), apart, zeros]) {
      const rounds = t.capture(bed.device, 'submitAndRead', bed.device.submitAndRead)
      await sortAndCheck(bed, keys)
      // Pivots are random: five rounds are to be expected, and forty not in the life of this test.
      t.ok(rounds().length < 40, 'few rounds')
    }
  }),
)

t.test('twenty thousand keys that share 4,000 bytes take as few rounds as short ones', (t) =>
  withEachStrategy(
    t,
    async (t, bed) => {
      const { device, primitives } = bed
      const count = 20_000
      const sharedWords = 1000
      // Two words of tail and one of end; the same tails come again, so that some keys are equal.
      const words = sharedWords + 3
      const tails = randomWords(17, count).map((word) => (word >>> 8) % 60_000)
      const heap = await device.allocate(count * words * 4, 'keys')
      const piece = 10_000
      const keys = new Uint32Array(piece * words).fill(0x61626364)
      for (let first = 0; first < count; first += piece) {
        for (let i = 0; i < piece; i++) {
          const tail = tails[first + i]!
          keys.set([0x65656565 + (tail % 3), 0x01010101 + tail, 0], i * words + sharedWords)
        }
        upload(device, heap, keys, first * words * 4)
      }
      const lengths = (4 * (sharedWords + 2) + 2) * 0x10000 + 4 * (sharedWords + 2)
      const records = await device.allocate(count * 8, 'records')
      upload(
        device,
        records,
        Uint32Array.from({ length: 2 * count }, (_, i) => (i % 2 === 0 ? (i / 2) * words : lengths)),
      )
      const scratch = device.scratch()
      const sort = new RecordSort(device, primitives)
      const rounds = t.capture(device, 'submitAndRead', device.submitAndRead)
      const order = await sort.sort(device.record(), scratch, { heap, records }, count)
      t.ok(rounds().length <= 2, 'two rounds')
      const wanted = Uint32Array.from(tails.keys()).sort(
        (a, b) => (tails[a]! % 3) - (tails[b]! % 3) || tails[a]! - tails[b]! || a - b,
      )
      same(await device.readWords(order, count), wanted)
      scratch.release()
      heap.destroy()
      records.destroy()
      // The strategies differ in nothing that depends on how long keys are.
    },
    ['serial'],
  ),
)

t.test('random keys are in order after one round', (t) =>
  withEachStrategy(t, async (t, bed) => {
    const { heap, records } = heapOf(makeKeys('random16', 9, 100_000), 'terminated')
    const rounds = t.capture(bed.device, 'submitAndRead', bed.device.submitAndRead)
    await sortRecords(bed, { heap, records })
    // And another that reads the order.
    t.equal(rounds().length, 1 + 1)
  }),
)
