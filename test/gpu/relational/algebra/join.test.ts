import t, { type Test } from 'tap'
import type { Algebra } from '../../../../gpu/relational/algebra/algebra.js'
import { CTA_JOINS, type CtaJoin, joinShape } from '../../../../gpu/relational/algebra/join-kernels.js'
import type { ColumnShape } from '../../../../gpu/relational/columns.js'
import { ALL_SHAPES, type KeyKind } from '../../primitives/columns.js'
import {
  makeSimilarTuples,
  makeTuples,
  type Run,
  sameTuples,
  U32,
  U32_U32,
  U64_U64,
  withBothForms,
} from './bed.js'
import { join, type Tuple } from './model.js'

/** Lengths beside the boundaries of an invocation's part and of the tiles of both strategies. */
const LENGTHS = [0, 1, 14, 15, 16, 255, 256, 257, 511, 512, 513, 3839, 3840, 3841]

interface Case {
  readonly shapes: readonly [ColumnShape, ColumnShape]
  readonly ctaJoin?: CtaJoin
  readonly live?: boolean
}

async function check(
  run: Run,
  [first, second]: readonly [readonly Tuple[], readonly Tuple[]],
  { shapes, ctaJoin, live = false }: Case,
): Promise<void> {
  const found = await run(async ({ algebra, scratch, upload }) => {
    const part = await algebra.join(...shapes, ctaJoin)
    return part.run(scratch, upload(first, shapes[0], { live }), upload(second, shapes[1], { live }))
  })
  const words = joinShape(...shapes).payloadWords - shapes[0].payloadWords
  sameTuples(found, join(first, second, words), joinShape(...shapes))
}

/** Every algorithm where there is one. */
function algorithms(t: Test): readonly CtaJoin[] {
  return t.name === 'serial' ? ['hash'] : CTA_JOINS
}

t.test('the example of Table 1', (t) =>
  withBothForms(t, async (t, run) => {
    // The letters a to f are 10 to 15.
    const tuples = (...pairs: readonly (readonly [number, number])[]) =>
      pairs.map(([key, payload]) => ({ key: BigInt(key), payload: BigInt(payload) }))
    const found = await run(async ({ algebra, scratch, upload }) => {
      const part = await algebra.join(U32_U32, U32_U32)
      const x = upload(tuples([2, 11], [3, 10], [4, 10]), U32_U32)
      return part.run(scratch, x, upload(tuples([0, 10], [2, 15], [3, 12]), U32_U32))
    })
    const pair = (first: number, second: number) => (BigInt(first) << 32n) | BigInt(second)
    t.same(found, [
      { key: 2n, payload: pair(11, 15) },
      { key: 3n, payload: pair(10, 12) },
    ])
  }),
)

t.test('relations of every length around a boundary', (t) =>
  withBothForms(t, async (_t, run) => {
    for (const [i, length] of LENGTHS.entries()) {
      for (const other of [0, length, 3000]) {
        const pair = [
          makeSimilarTuples(i + 1, length, 2000, U32_U32),
          makeSimilarTuples(i + 70, other, 2000, U32),
        ] as const
        await check(run, pair, { shapes: [U32_U32, U32], live: i % 2 === 1 })
      }
    }
  }),
)

t.test('every CTA join, keys of every kind', (t) =>
  withBothForms(t, async (t, run) => {
    const kinds: KeyKind[] = ['random', 'mostlyEqual', 'few']
    const even = Array.from({ length: 3000 }, (_, i) => ({ key: BigInt(2 * i), payload: 5n }))
    const odd = even.map(({ key, payload }) => ({ key: key + 1n, payload }))
    for (const ctaJoin of algorithms(t)) {
      for (const kind of kinds) {
        const pair = [makeTuples(kind, 3, 90, U32_U32), makeTuples(kind, 4, 120, U32_U32)] as const
        await check(run, pair, { shapes: [U32_U32, U32_U32], ctaJoin })
      }
      const similar = [
        makeSimilarTuples(5, 2500, 2500, U64_U64),
        makeSimilarTuples(6, 2000, 2500, U32_WIDE),
      ] as const
      // Only these look at the words of a key.
      if (['search', 'hash'].includes(ctaJoin)) {
        await check(run, similar, { shapes: [U64_U64, U32_WIDE], ctaJoin })
      }
      for (const pair of [
        [even, odd],
        [even, even],
        [even.slice(0, 5), even],
      ] as const) {
        await check(run, pair, { shapes: [U32_U32, U32_U32], ctaJoin })
      }
    }
  }),
)

/** Keys of two words alone. */
const U32_WIDE: ColumnShape = { keyWords: 2, payloadWords: 0 }

t.test('a run of equal keys that is longer than a tile', (t) =>
  withBothForms(t, async (t, run) => {
    const run5 = (count: number) => Array.from({ length: count }, (_, i) => ({ key: 5n, payload: BigInt(i) }))
    const around = (tuples: readonly Tuple[]) => [
      ...makeTuples('few', 1, 3, U32_U32).map(({ payload }) => ({ key: 4n, payload })),
      ...tuples,
      { key: 6n, payload: 7n },
    ]
    for (const ctaJoin of algorithms(t)) {
      await check(run, [around(run5(3)), around(run5(5000))], { shapes: [U32_U32, U32_U32], ctaJoin })
      await check(run, [around(run5(5000)), around(run5(3))], { shapes: [U32_U32, U32_U32], ctaJoin })
    }
  }),
)

t.test('relations of several shapes', (t) =>
  withBothForms(t, async (t, run) => {
    const pairs = ALL_SHAPES.flatMap((a) => ALL_SHAPES.map((b) => [a, b] as const))
    const joinable = pairs.filter(
      ([a, b]) => a.keyWords === b.keyWords && a.payloadWords + b.payloadWords <= 2,
    )
    for (const [i, shapes] of joinable.filter((_, i) => i % 3 === 0).entries()) {
      const pair = [
        makeSimilarTuples(i + 1, 1500, 900, shapes[0]),
        makeSimilarTuples(i + 9, 1400, 900, shapes[1]),
      ] as const
      await check(run, pair, { shapes, live: true })
    }
    t.throws(() => joinShape(U32, U64_U64), { code: 'BAD_REQUEST' })
    t.throws(() => joinShape(U64_U64, U64_U64), { code: 'BAD_REQUEST' })
  }),
)

async function inPasses(
  algebra: Algebra,
  bed: Parameters<Parameters<Run>[0]>[0],
  tuples: readonly Tuple[],
  most: number,
) {
  const part = await algebra.join(U32_U32, U32)
  const passes: number[] = []
  const keys: number[] = []
  for await (const pass of part.passes(bed.upload(tuples, U32_U32), bed.upload(tuples, U32), most)) {
    passes.push(pass.rows)
    keys.push(...(await bed.device.readWords(pass.columns.keys, pass.rows)))
  }
  return { passes, keys }
}

t.test('results in passes, and results that are too large', (t) =>
  withBothForms(t, async (t, run, device, { algebra }) => {
    const tuples = makeTuples('few', 3, 300, U32_U32)
    const wanted = join(tuples, tuples, 0)
    await run(async (bed) => {
      const { passes, keys } = await inPasses(algebra, bed, tuples, 1000)
      t.same(
        keys,
        wanted.map(({ key }) => Number(key)),
      )
      t.equal(passes.length, Math.ceil(wanted.length / 1000))
      return bed.upload([], U32)
    })
    const many = Array.from({ length: 70_000 }, () => ({ key: 1n, payload: 0n }))
    await t.rejects(
      run(async ({ algebra, scratch, upload }) =>
        (await algebra.join(U32, U32)).run(scratch, upload(many, U32), upload(many, U32)),
      ),
      { code: 'OUT_OF_DEVICE_MEMORY' },
    )
    device.check()
  }),
)
