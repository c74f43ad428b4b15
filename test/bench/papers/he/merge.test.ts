import fc from 'fast-check'
import t from 'tap'
import type { ColumnShape } from '../../../../bench/papers/he/columns.js'
import { Merge } from '../../../../bench/papers/he/merge.js'
import { anySeed, check, type Run, withBothForms } from '../../../gpu/primitives/bed.js'
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

/** Lengths beside the boundaries of an invocation's part, of a serial tile and of a workgroup's. */
const LENGTHS = [0, 1, 7, 8, 9, 255, 256, 257, 511, 512, 513, 2047, 2048, 2049, 4096, 5000]

/** Sorting what one behind the other makes, stably, is merging. */
async function mergeAndCompare(
  run: Run,
  kind: KeyKind,
  seed: number,
  counts: readonly [number, number],
  shape: ColumnShape,
): Promise<void> {
  const [first, second] = counts.map((count, i) =>
    sortedColumns(makeColumns(kind, seed + 10 * i, count, shape), shape),
  ) as [HostColumns, HostColumns]
  const found = await run(async ({ device, primitives, recorder, scratch, upload }) => {
    const merge = new Merge(device, primitives.strategy, shape)
    const merged = merge.record(
      recorder,
      scratch,
      { columns: uploadColumns(upload, first, shape), count: counts[0] },
      { columns: uploadColumns(upload, second, shape), count: counts[1] },
    )
    return columnOutputs(merged, counts[0] + counts[1], shape)
  })
  const both = {
    keys: Uint32Array.of(...first.keys, ...second.keys),
    payloads: Uint32Array.of(...first.payloads, ...second.payloads),
  }
  sameColumns(found, sortedColumns(both, shape))
}

t.test('runs of every length around a boundary', (t) =>
  withBothForms(t, async (_t, run) => {
    for (const count of LENGTHS) {
      for (const other of [0, 1, count, 3000]) {
        await mergeAndCompare(run, 'random', count + 1, [count, other], U32)
        if (other !== count) await mergeAndCompare(run, 'few', count + 1, [other, count], U32)
      }
    }
  }),
)

t.test('columns of every shape', (t) =>
  withBothForms(t, async (_t, run) => {
    for (const shape of ALL_SHAPES) await mergeAndCompare(run, 'few', 5, [3000, 4000], shape)
  }),
)

t.test('keys of every kind', (t) =>
  withBothForms(t, (t, run) =>
    check(
      t,
      fc.record({
        seed: anySeed,
        kind: anyKeyKind,
        shape: anyShape,
        first: fc.integer({ min: 0, max: 6000 }),
        second: fc.integer({ min: 0, max: 6000 }),
      }),
      ({ seed, kind, shape, first, second }) => mergeAndCompare(run, kind, seed, [first, second], shape),
      20,
    ),
  ),
)
