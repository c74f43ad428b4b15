import fc from 'fast-check'
import t from 'tap'
import {
  type PairReduction,
  type Reduction,
  SegmentedReduce,
} from '../../../gpu/relational/segmented-reduce.js'
import { anySeed, check, LENGTHS, type Run, randomWords, same, withBothForms } from '../primitives/bed.js'

type IntegerReduction = Exclude<Reduction, 'floatSum'>
const REDUCTIONS: readonly IntegerReduction[] = ['sum', 'wideSum', 'min', 'max', 'count']

/** The words that a segment is reduced to. */
const ORACLES: Readonly<Record<IntegerReduction, (values: Uint32Array) => readonly number[]>> = {
  sum: (values) => [values.reduce((sum, value) => (sum + value) >>> 0, 0)],
  wideSum: (values) => {
    // Below 2^53 as long as there are fewer than 2^21 values.
    const sum = values.reduce((sum, value) => sum + value, 0)
    return [sum % 2 ** 32, Math.floor(sum / 2 ** 32)]
  },
  min: (values) => [values.reduce((least, value) => Math.min(least, value), 2 ** 32 - 1)],
  max: (values) => [values.reduce((most, value) => Math.max(most, value), 0)],
  count: (values) => [values.length],
}

const words = (reduction: Reduction) => (reduction === 'wideSum' || reduction === 'floatSum' ? 2 : 1)

function startsOf(lengths: readonly number[]): number[] {
  let start = 0
  return lengths.map((length) => {
    start += length
    return start - length
  })
}

function reduceWords(
  run: Run,
  values: Uint32Array,
  lengths: readonly number[],
  reductions: readonly Reduction[],
): Promise<Uint32Array[]> {
  return run(async ({ device, primitives, recorder, scratch, upload }) => {
    const reduce = new SegmentedReduce(device, primitives)
    const segments = { starts: upload(Uint32Array.from(startsOf(lengths))), count: lengths.length }
    const column = upload(values)
    return reductions.map((reduction) => {
      const output = scratch.words(lengths.length * words(reduction))
      reduce.record(recorder, scratch, column, values.length, segments, reduction, output)
      return [output, lengths.length * words(reduction)]
    })
  })
}

async function reduceAndCompare(
  run: Run,
  seed: number,
  lengths: readonly number[],
  reductions: readonly IntegerReduction[] = REDUCTIONS,
): Promise<void> {
  const count = lengths.reduce((sum, length) => sum + length, 0)
  const values = randomWords(seed, count)
  const starts = startsOf(lengths)
  const found = await reduceWords(run, values, lengths, reductions)
  reductions.forEach((reduction, i) => {
    const wanted = lengths.flatMap((length, s) =>
      ORACLES[reduction](values.subarray(starts[s], starts[s]! + length)),
    )
    same(found[i]!, wanted)
  })
}

t.test('one segment of every length around a boundary', (t) =>
  withBothForms(t, async (_t, run) => {
    for (const count of LENGTHS) {
      if (count < 20_000) await reduceAndCompare(run, count + 1, [count])
    }
  }),
)

t.test('segments that end at boundaries, and empty ones', (t) =>
  withBothForms(t, async (_t, run) => {
    for (const lengths of [
      [],
      [0],
      [0, 0, 0, 5, 0, 0],
      [16, 16, 16],
      [15, 17, 16, 1, 31],
      [4096, 4096],
      [4095, 1, 4096, 1],
      [1024, 0, 1024, 2048, 0, 0, 4096],
      [1, 4095, 8192, 0, 1],
      [3, 13_000, 0, 1, 1, 9000],
      [...new Array<number>(5000).fill(1), ...new Array<number>(9000).fill(0), 5000],
    ]) {
      await reduceAndCompare(run, lengths.length + 1, lengths)
    }
  }),
)

t.test('more tiles under one segment than a workgroup has invocations', (t) =>
  withBothForms(t, (_t, run) => reduceAndCompare(run, 7, [5, 258 * 4096, 77], ['wideSum', 'max'])),
)

t.test('segments of random lengths', (t) =>
  withBothForms(t, (t, run) =>
    check(
      t,
      fc.record({
        seed: anySeed,
        segments: fc.integer({ min: 1, max: 2000 }),
        longest: fc.constantFrom(1, 2, 10, 100, 1000),
      }),
      ({ seed, segments, longest }) => {
        const total = Math.min(segments, Math.ceil(50_000 / longest))
        return reduceAndCompare(
          run,
          seed,
          Array.from(randomWords(seed, total), (word) => (word % 7 === 0 ? 0 : word % (longest + 1))),
        )
      },
      15,
    ),
  ),
)

/** The words of what a segment of u64 is reduced to. */
const PAIR_ORACLES: Readonly<Record<PairReduction, (values: BigUint64Array) => readonly bigint[]>> = {
  min: (values) =>
    wordsOf(
      values.reduce((least, value) => (value < least ? value : least), 2n ** 64n - 1n),
      2,
    ),
  max: (values) =>
    wordsOf(
      values.reduce((most, value) => (value > most ? value : most), 0n),
      2,
    ),
  longSum: (values) =>
    wordsOf(
      values.reduce((sum, value) => sum + value, 0n),
      3,
    ),
  signedLongSum: (values) =>
    wordsOf(
      values.reduce((sum, value) => sum + BigInt.asIntN(64, value), 0n),
      3,
    ),
}

function wordsOf(value: bigint, words: number): bigint[] {
  return Array.from({ length: words }, (_, i) => BigInt.asUintN(32, value >> BigInt(32 * i)))
}

/** Words that a result takes; of the sums' the last one means nothing. */
const pairWords = (reduction: PairReduction) => (reduction === 'min' || reduction === 'max' ? 2 : 4)

const PAIR_LENGTHS = [0, 3, 13_000, 0, 1, 1, 4096, 1000, 9000]

async function reducePairs(
  run: Run,
  pairs: Uint32Array,
  reductions: readonly PairReduction[],
): Promise<void> {
  const values = new BigUint64Array(pairs.buffer)
  const starts = startsOf(PAIR_LENGTHS)
  const found = await run(async ({ device, primitives, recorder, scratch, upload }) => {
    const reduce = new SegmentedReduce(device, primitives)
    const segments = { starts: upload(Uint32Array.from(starts)), count: starts.length }
    const column = upload(pairs)
    const outputs = []
    for (const reduction of reductions) {
      const output = scratch.words(starts.length * pairWords(reduction))
      await reduce.recordPairs(recorder, scratch, column, values.length, segments, reduction, output)
      outputs.push([output, starts.length * pairWords(reduction)] as const)
    }
    return outputs
  })
  reductions.forEach((reduction, i) => {
    const words = pairWords(reduction)
    PAIR_LENGTHS.forEach((length, s) => {
      const wanted = PAIR_ORACLES[reduction](values.subarray(starts[s]!, starts[s]! + length)).map(Number)
      same(found[i]!.subarray(s * words, s * words + wanted.length), wanted)
    })
  })
}

t.test('pairs of words: u64 and i64', (t) =>
  withBothForms(t, async (_t, run) => {
    const count = PAIR_LENGTHS.reduce((sum, length) => sum + length)
    const random = randomWords(3, 2 * count)
    await reducePairs(run, random, ['min', 'max', 'longSum', 'signedLongSum'])
    // Carries from every word into the next one, and borrows.
    const edges = random.map((word, i) =>
      word % 3 === 0 ? 0xffffffff : word % 3 === 1 ? (i % 2) * 2 ** 31 : 1,
    )
    await reducePairs(run, edges, ['longSum', 'signedLongSum'])
    await reducePairs(run, new Uint32Array(2 * count).fill(0xffffffff), ['longSum', 'signedLongSum'])
  }),
)

t.test('sums of floats keep what single ones would lose', (t) =>
  withBothForms(t, async (t, run) => {
    const count = PAIR_LENGTHS.reduce((sum, length) => sum + length)
    const values = Float32Array.from(
      randomWords(5, count),
      (word, i) => (i % 2 === 0 ? 1e7 : -1e7) + word / 2 ** 32,
    )
    const [found] = await reduceWords(run, new Uint32Array(values.buffer), PAIR_LENGTHS, ['floatSum'])
    const sums = new Float32Array(found!.buffer, found!.byteOffset, found!.length)
    const starts = startsOf(PAIR_LENGTHS)
    PAIR_LENGTHS.forEach((length, i) => {
      const summed = values.subarray(starts[i]!, starts[i]! + length)
      const wanted = summed.reduce((sum, value) => sum + value, 0)
      t.ok(Math.abs(sums[2 * i]! - wanted) <= 1e-6 * Math.abs(wanted), `${sums[2 * i]} is about ${wanted}`)
      // What goes on in the second float is what a double has beyond the first.
      const size = summed.reduce((sum, value) => sum + Math.abs(value), 0)
      t.ok(Math.abs(sums[2 * i]! + sums[2 * i + 1]! - wanted) <= 1e-12 * size)
    })
  }),
)
