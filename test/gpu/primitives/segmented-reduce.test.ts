import fc from 'fast-check'
import t from 'tap'
import type { KeyWords, PairReduction, Reduction } from '../../../gpu/primitives/primitives.js'
import { anySeed, check, LENGTHS, type Run, randomWords, same, withBothForms } from './bed.js'

const REDUCTIONS: readonly Reduction[] = ['sum', 'wideSum', 'min', 'max', 'count']

/** The words that a segment is reduced to. */
const ORACLES: Readonly<Record<Reduction, (values: Uint32Array) => readonly number[]>> = {
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

const words = (reduction: Reduction) => (reduction === 'wideSum' ? 2 : 1)

async function reduceAndCompare(
  run: Run,
  seed: number,
  lengths: readonly number[],
  reductions: readonly Reduction[] = REDUCTIONS,
): Promise<void> {
  const count = lengths.reduce((sum, length) => sum + length, 0)
  const values = randomWords(seed, count)
  let start = 0
  const starts = lengths.map((length) => {
    start += length
    return start - length
  })
  const found = await run(async ({ primitives, recorder, scratch, upload }) => {
    const reduce = await primitives.segmentedReduce()
    const segments = { starts: upload(Uint32Array.from(starts)), count: lengths.length }
    const column = upload(values)
    return reductions.map((reduction) => {
      const output = scratch.words(lengths.length * words(reduction))
      reduce.record(recorder, scratch, column, count, segments, reduction, output)
      return [output, lengths.length * words(reduction)]
    })
  })
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

/** Starts of the runs of equal neighbours. */
function runStarts(keys: Uint32Array, keyWords: KeyWords): number[] {
  const count = keys.length / keyWords
  const key = (i: number) => keys.subarray(i * keyWords, (i + 1) * keyWords).join()
  return Array.from({ length: count }, (_, i) => i).filter((i) => i === 0 || key(i) !== key(i - 1))
}

t.test('runs of equal keys, and the sums of their values', (t) =>
  withBothForms(t, (t, run) =>
    check(
      t,
      fc.record({
        seed: anySeed,
        count: fc.constantFrom(0, 1, 255, 257, 4095, 4097, 10_000),
        keyWords: fc.constantFrom(1 as const, 2 as const),
        change: fc.constantFrom(1, 3, 100, 2 ** 31),
      }),
      async ({ seed, count, keyWords, change }) => {
        let key = 0
        const keys = randomWords(seed, count * keyWords)
          .map((word) => (word % change === 0 ? 1 : 0))
          .map((step) => {
            key += step
            return key
          })
        const values = randomWords(seed + 1, count)
        const [starts, runs, sums] = await run(async ({ primitives, recorder, scratch, upload }) => {
          const found = (await primitives.keyRuns(keyWords)).record(recorder, scratch, upload(keys), count)
          const sums = scratch.words(count)
          const reduce = await primitives.segmentedReduce()
          reduce.record(recorder, scratch, upload(values), count, found, 'sum', sums)
          return [
            [found.starts, count],
            [found.deviceCount.buffer, 1],
            [sums, count],
          ]
        })
        const wanted = runStarts(keys, keyWords)
        same(runs!, [wanted.length])
        same(starts!.subarray(0, wanted.length), wanted)
        same(
          sums!.subarray(0, wanted.length),
          wanted.flatMap((start, i) => ORACLES.sum(values.subarray(start, wanted[i + 1] ?? count))),
        )
      },
      15,
    ),
  ),
)

const MODULUS = 2n ** 64n

/** What a segment of u64 is reduced to. */
const PAIR_ORACLES: Readonly<Record<Exclude<PairReduction, 'floatSum'>, (values: BigUint64Array) => bigint>> =
  {
    sum: (values) => values.reduce((sum, value) => (sum + value) % MODULUS, 0n),
    min: (values) => values.reduce((least, value) => (value < least ? value : least), MODULUS - 1n),
    max: (values) => values.reduce((most, value) => (value > most ? value : most), 0n),
  }

async function reducePairs(
  run: Run,
  pairs: Uint32Array,
  lengths: readonly number[],
  reductions: readonly PairReduction[],
): Promise<Uint32Array[]> {
  let start = 0
  const starts = lengths.map((length) => {
    start += length
    return start - length
  })
  return run(async ({ primitives, recorder, scratch, upload }) => {
    const reduce = await primitives.segmentedReduce()
    const segments = { starts: upload(Uint32Array.from(starts)), count: lengths.length }
    const column = upload(pairs)
    const outputs = []
    for (const reduction of reductions) {
      const output = scratch.words(lengths.length * 2)
      await reduce.recordPairs(recorder, scratch, column, start, segments, reduction, output)
      outputs.push([output, lengths.length * 2] as const)
    }
    return outputs
  })
}

const PAIR_LENGTHS = [0, 3, 13_000, 0, 1, 1, 4096, 1000, 9000]

t.test('pairs of words: u64', (t) =>
  withBothForms(t, async (_t, run) => {
    const pairs = randomWords(3, 2 * PAIR_LENGTHS.reduce((sum, length) => sum + length))
    const values = new BigUint64Array(pairs.buffer)
    const reductions = ['sum', 'min', 'max'] as const
    const found = await reducePairs(run, pairs, PAIR_LENGTHS, reductions)
    reductions.forEach((reduction, i) => {
      let start = 0
      const wanted = PAIR_LENGTHS.map((length) => {
        start += length
        return PAIR_ORACLES[reduction](values.subarray(start - length, start))
      })
      same(found[i]!, new Uint32Array(BigUint64Array.from(wanted).buffer))
    })
  }),
)

t.test('sums of floats keep what single ones would lose', (t) =>
  withBothForms(t, async (t, run) => {
    const count = 27_101
    const values = Float32Array.from(
      randomWords(5, count),
      (word, i) => (i % 2 === 0 ? 1e7 : -1e7) + word / 2 ** 32,
    )
    const pairs = new Uint32Array(2 * count)
    new Uint32Array(values.buffer).forEach((bits, i) => {
      pairs[2 * i] = bits
    })
    const [found] = await reducePairs(run, pairs, PAIR_LENGTHS, ['floatSum'])
    const sums = new Float32Array(found!.buffer, found!.byteOffset, found!.length)
    let start = 0
    PAIR_LENGTHS.forEach((length, i) => {
      start += length
      const wanted = values.subarray(start - length, start).reduce((sum, value) => sum + value, 0)
      t.ok(Math.abs(sums[2 * i]! - wanted) <= 1e-6 * Math.abs(wanted), `${sums[2 * i]} is about ${wanted}`)
    })
  }),
)
