import t from 'tap'
import { BlockStreaming } from '../../../../gpu/relational/algebra/block-streaming.js'
import { RecursivePartition } from '../../../../gpu/relational/algebra/recursive-partition.js'
import type { KeyKind } from '../../primitives/columns.js'
import { makeTuples, U32, withBothForms } from './bed.js'
import type { Tuple } from './model.js'

const FANS = [5, 4, 3]
const PAIRS = 5 * 4 * 3

/** Keys that both relations have. */
function commonKeys(first: readonly Tuple[], second: readonly Tuple[]): Set<bigint> {
  const keys = new Set(second.map(({ key }) => key))
  return new Set(first.map(({ key }) => key).filter((key) => keys.has(key)))
}

t.test('recursive partitioning keeps matches together, and blocks are streamed', (t) =>
  withBothForms(t, async (t, run, device, { strategy }) => {
    if (strategy === 'serial') return
    const partition = await RecursivePartition.create(device, 1)
    const streaming = await BlockStreaming.create(device)
    for (const kind of ['random', 'few', 'ascending', 'mostlyEqual'] satisfies KeyKind[]) {
      for (const [firstCount, secondCount] of [
        [6000, 5000],
        [0, 10],
        [10, 0],
        [3, 4000],
      ] as const) {
        const [x, y] = [makeTuples(kind, 3, firstCount, U32), makeTuples(kind, 4, secondCount, U32)]
        await run(async ({ upload, scratch }) => {
          const recorder = device.record()
          const [first, second] = [upload(x, U32), upload(y, U32)]
          const pairs = partition.record(recorder, scratch, first, second, FANS)
          const results = scratch.words(2 * PAIRS)
          streaming.record(recorder, first, second, pairs, PAIRS, results)
          recorder.submit()
          const found = await device.readWords(pairs, 4 * PAIRS)
          const streamed = await device.readWords(results, 2 * PAIRS)
          const left = commonKeys(x, y)
          let [firstEnd, secondEnd] = [0, 0]
          for (let i = 0; i < PAIRS; i++) {
            const [a, b, c, d] = found.subarray(4 * i, 4 * i + 4) as unknown as [
              number,
              number,
              number,
              number,
            ]
            if (a === b) continue
            if (a < firstEnd || c < secondEnd) throw new Error(`pair ${i} overlaps the one before it`)
            firstEnd = b
            secondEnd = d
            for (const key of commonKeys(x.slice(a, b), y.slice(c, d))) left.delete(key)
            // Pairs of one block each meet, since nothing else is left of them.
            const isOneBlock = b - a <= 256 && d - c <= 256
            if (streamed[2 * i]! > (isOneBlock ? 0 : b - a + d - c))
              throw new Error(`pair ${i} discards more than it has`)
          }
          t.equal(left.size, 0, `${kind}: all matches are in a pair`)
          return first
        })
      }
    }
  }),
)
