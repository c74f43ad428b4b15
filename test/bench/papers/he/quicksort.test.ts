import fc from 'fast-check'
import t from 'tap'
import { type ColumnShape, sortColumns } from '../../../../bench/papers/he/columns.js'
import { Quicksort } from '../../../../bench/papers/he/quicksort.js'
import { anyLength, anySeed, check, type Run, withBothForms } from '../../../gpu/primitives/bed.js'
import {
  anyKeyKind,
  columnOutputs,
  KEY_KINDS,
  type KeyKind,
  makeColumns,
  SOME_SHAPES,
  sameColumns,
  sortedColumns,
  uploadColumns,
} from '../../../gpu/primitives/columns.js'

const U32: ColumnShape = { keyWords: 1, payloadWords: 1 }

/** Sorts by quicksort and by radix sort; the input stays as it is. */
async function sortAndCompare(
  run: Run,
  kind: KeyKind,
  seed: number,
  count: number,
  shape: ColumnShape,
): Promise<void> {
  const input = makeColumns(kind, seed, count, shape)
  const found = await run(async ({ device, primitives, recorder, scratch, upload }) => {
    const quicksort = new Quicksort(device, primitives, shape)
    const columns = uploadColumns(upload, input, shape)
    const sorted = quicksort.record(recorder, scratch, columns, count)
    const again = sortColumns(primitives, recorder, scratch, columns, count, shape)
    return [sorted, again, columns].flatMap((columns) => columnOutputs(columns, count, shape))
  })
  const wanted = sortedColumns(input, shape)
  sameColumns(found.slice(0, 2), wanted)
  sameColumns(found.slice(2, 4), wanted)
  sameColumns(found.slice(4, 6), input)
}

t.test('every length around a boundary', (t) =>
  withBothForms(t, async (_t, run) => {
    // Parts of 256 keys on average, in workgroup memory up to 1024; samples of one key in 16.
    for (const count of [0, 1, 1023, 1024, 1025, 1280, 1281, 16_384, 16_385]) {
      await sortAndCompare(run, 'random', count + 1, count, U32)
    }
  }),
)

t.test('keys of every kind, with a sample that is a quicksort of its own', (t) =>
  withBothForms(t, async (_t, run) => {
    for (const kind of KEY_KINDS) await sortAndCompare(run, kind, 6, 17_000, U32)
  }),
)

t.test('columns of every shape', (t) =>
  withBothForms(t, async (_t, run) => {
    for (const shape of SOME_SHAPES) await sortAndCompare(run, 'mostlyEqual', 7, 6000, shape)
  }),
)

t.test('random columns', (t) =>
  withBothForms(t, (t, run) =>
    check(
      t,
      fc.record({
        seed: anySeed,
        kind: anyKeyKind,
        shape: fc.constantFrom(...SOME_SHAPES),
        count: anyLength.filter((count) => count <= 10_000),
      }),
      ({ seed, kind, shape, count }) => sortAndCompare(run, kind, seed, count, shape),
      12,
    ),
  ),
)
