import t, { type Test } from 'tap'
import { BlockStreaming } from '../../../../bench/papers/diamos/block-streaming.js'
import { PAIR_WORDS, RecursivePartition } from '../../../../bench/papers/diamos/recursive-partition.js'
import { ONE_STRATEGY, type Run, withEachStrategy } from '../../../gpu/primitives/bed.js'
import { type KeyKind, makeColumns } from '../../../gpu/primitives/columns.js'
import { type HostTuples, tuplesOf, upload } from './model.js'

const FANS = [5, 4, 3]
const PAIRS = 5 * 4 * 3

function commonKeys(first: Uint32Array, second: Uint32Array): Set<number> {
  const keys = new Set(second)
  return new Set([...first].filter((key) => keys.has(key)))
}

async function check(t: Test, run: Run, first: HostTuples, second: HostTuples): Promise<void> {
  const [pairs, streamed] = await run((bed) => {
    const { device, recorder, scratch } = bed
    const [x, y] = [upload(bed, first), upload(bed, second)]
    const pairs = new RecursivePartition(device).record(recorder, scratch, x, y, FANS)
    const results = scratch.words(2 * PAIRS)
    new BlockStreaming(device).record(recorder, x, y, pairs, PAIRS, results)
    return [
      [pairs, PAIR_WORDS * PAIRS],
      [results, 2 * PAIRS],
    ]
  })
  const left = commonKeys(first.keys, second.keys)
  let [firstEnd, secondEnd] = [0, 0]
  for (let i = 0; i < PAIRS; i++) {
    const [a, b, c, d] = Array.from(pairs!.subarray(PAIR_WORDS * i, PAIR_WORDS * (i + 1)))
    if (a === b) continue
    if (a! < firstEnd || c! < secondEnd) throw new Error(`pair ${i} overlaps the one before it`)
    firstEnd = b!
    secondEnd = d!
    for (const key of commonKeys(first.keys.slice(a, b), second.keys.slice(c, d))) left.delete(key)
    // Pairs of one block each meet, since nothing else is left of them.
    const isOneBlock = b! - a! <= 256 && d! - c! <= 256
    const most = isOneBlock ? 0 : b! - a! + d! - c!
    if (streamed![2 * i]! > most) throw new Error(`pair ${i} discards more than it has`)
  }
  t.equal(left.size, 0, 'all matches are in a pair')
}

t.test('recursive partitioning keeps matches together, and blocks are streamed', (t) =>
  withEachStrategy(
    t,
    async (t, run) => {
      const shape = { keyWords: 1, payloadWords: 0 } as const
      for (const kind of ['random', 'few', 'ascending', 'mostlyEqual'] satisfies KeyKind[]) {
        for (const [firsts, seconds] of [
          [6000, 5000],
          [0, 10],
          [10, 0],
          [3, 4000],
        ] as const) {
          const first = tuplesOf(makeColumns(kind, 3, firsts, shape).keys)
          await check(t, run, first, tuplesOf(makeColumns(kind, 4, seconds, shape).keys))
        }
      }
    },
    ONE_STRATEGY,
  ),
)
