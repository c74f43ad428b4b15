import fc from 'fast-check'
import t from 'tap'
import { BitonicSort } from '../../../../bench/papers/he/bitonic.js'
import type { ColumnShape } from '../../../../bench/papers/he/columns.js'
import { anySeed, check, type Run, randomWords, withBothForms } from '../../../gpu/primitives/bed.js'
import {
  ALL_SHAPES,
  anyKeyKind,
  anyShape,
  columnOutputs,
  type HostColumns,
  type KeyKind,
  makeColumns,
  sameColumns,
  sortedColumns,
  uploadColumns,
} from '../../../gpu/primitives/columns.js'

const U32: ColumnShape = { keyWords: 1, payloadWords: 1 }

/** Starts of segments of these lengths, and the end of the last. */
function startsOf(lengths: readonly number[]): Uint32Array {
  const starts = new Uint32Array(lengths.length + 1)
  lengths.forEach((length, i) => {
    starts[i + 1] = starts[i]! + length
  })
  return starts
}

/** Sorts segments of these lengths and compares each with its oracle. With `settledOdd` odd ones have equal keys. */
async function sortAndCompare(
  run: Run,
  kind: KeyKind,
  seed: number,
  lengths: readonly number[],
  shape: ColumnShape,
  settledOdd = false,
): Promise<void> {
  const starts = startsOf(lengths)
  const count = starts[lengths.length]!
  const input = makeColumns(kind, seed, count, shape)
  const wanted = { keys: input.keys.slice(), payloads: input.payloads.slice() }
  lengths.forEach((_, i) => {
    if (settledOdd && i % 2 === 1) sectionOf(input, starts, i, shape).keys.fill(5)
    const sorted = sortedColumns(sectionOf(input, starts, i, shape), shape)
    wanted.keys.set(sorted.keys, starts[i]! * shape.keyWords)
    wanted.payloads.set(sorted.payloads, starts[i]! * shape.payloadWords)
  })
  const found = await run(async ({ device, primitives, recorder, scratch, upload }) => {
    const bitonic = new BitonicSort(device, primitives.strategy, shape)
    const columns = uploadColumns(upload, input, shape)
    const segments = { starts: upload(starts), count: lengths.length, settledOdd }
    bitonic.record(recorder, scratch, columns, count, segments)
    return columnOutputs(columns, count, shape)
  })
  sameColumns(found, wanted)
}

function sectionOf(
  { keys, payloads }: HostColumns,
  starts: Uint32Array,
  i: number,
  { keyWords, payloadWords }: ColumnShape,
): HostColumns {
  const [start, end] = [starts[i]!, starts[i + 1]!]
  return {
    keys: keys.subarray(start * keyWords, end * keyWords),
    payloads: payloads.subarray(start * payloadWords, end * payloadWords),
  }
}

t.test('one segment of every length around a boundary, also longer than workgroup memory', (t) =>
  withBothForms(t, async (_t, run) => {
    const lengths = [0, 1, 2, 3, 4, 5, 7, 8, 9, 255, 256, 257, 1000, 1023, 1024, 1025, 2047, 2048, 2049, 5000]
    for (const length of lengths) await sortAndCompare(run, 'random', length + 1, [length], U32)
  }),
)

t.test('segments that fill windows, cross them and leave them empty', (t) =>
  withBothForms(t, async (_t, run) => {
    for (const lengths of [
      [1024, 1024, 1024],
      [1023, 1024, 1, 1023, 1024],
      [1000, 1024, 1024],
      [1, 3000, 1, 0, 0, 1, 1023],
      [0, 0, 1025, 0, 1025, 0],
      [500, 0, 0, 5000, 500, 24],
    ]) {
      for (const kind of ['random', 'few'] as const) await sortAndCompare(run, kind, 3, lengths, U32)
    }
  }),
)

t.test('columns of every shape', (t) =>
  withBothForms(t, async (_t, run) => {
    for (const shape of ALL_SHAPES) await sortAndCompare(run, 'few', 4, [3, 0, 700, 1100, 20, 600], shape)
  }),
)

t.test('segments that are settled keep their order, however long', (t) =>
  withBothForms(t, async (_t, run) => {
    await sortAndCompare(run, 'random', 5, [700, 100_000, 300, 7, 0, 1024, 1024], U32, true)
  }),
)

t.test('many segments of random lengths', (t) =>
  withBothForms(t, (t, run) =>
    check(
      t,
      fc.record({
        seed: anySeed,
        kind: anyKeyKind,
        shape: anyShape,
        segments: fc.integer({ min: 1, max: 300 }),
        longest: fc.constantFrom(1, 3, 40, 300),
      }),
      ({ seed, kind, shape, segments, longest }) => {
        const lengths = Array.from(randomWords(seed, segments), (word) => word % (longest + 1))
        return sortAndCompare(run, kind, seed, lengths, shape)
      },
      15,
    ),
  ),
)
