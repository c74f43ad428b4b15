import t from 'tap'
import type { SetOperation } from '../../../../gpu/relational/algebra/set-operators.js'
import type { ColumnShape } from '../../../../gpu/relational/columns.js'
import { ALL_SHAPES, type KeyKind } from '../../primitives/columns.js'
import { makeSimilarTuples, makeTuples, type Run, sameTuples, U32_U32, withBothForms } from './bed.js'
import { byTuple, combine, type Tuple } from './model.js'

const OPERATIONS: readonly SetOperation[] = ['intersect', 'difference', 'union']

/** Lengths beside the boundaries of fours, words of bits, rounds, and the tiles of all strategies, one of which both relations share. */
const LENGTHS = [
  0, 1, 3, 4, 5, 31, 32, 33, 511, 512, 513, 1023, 1024, 1025, 3839, 3840, 3841, 7679, 7680, 7681,
]

interface Case {
  readonly shape: ColumnShape
  readonly by: 'key' | 'tuple'
  readonly live?: boolean
}

async function check(
  run: Run,
  operation: SetOperation,
  [first, second]: readonly [readonly Tuple[], readonly Tuple[]],
  { shape, by, live = false }: Case,
): Promise<void> {
  const found = await run(async ({ algebra, recorder, scratch, upload }) => {
    const part = await algebra.setOperator({ operation, shape, by })
    const order = by === 'tuple' && !live ? 'tuple' : 'key'
    return part.record(
      recorder,
      scratch,
      upload(first, shape, { live, order }),
      upload(second, shape, { order }),
    )
  })
  const sorted = by === 'tuple' ? [first, second].map((tuples) => [...tuples].sort(byTuple)) : [first, second]
  sameTuples(found, combine(operation, sorted[0]!, sorted[1]!, by), shape)
}

t.test('the examples of Table 1', (t) =>
  withBothForms(t, async (_t, run) => {
    // The letters a, b and c are 10, 11 and 12.
    const tuples = (...pairs: readonly (readonly [number, number])[]) =>
      pairs.map(([key, payload]) => ({ key: BigInt(key), payload: BigInt(payload) })).sort(byTuple)
    const x = tuples([3, 10], [4, 10], [2, 11])
    const y = tuples([0, 10], [2, 11], [3, 12])
    const cases = [
      ['intersect', 'tuple', y, tuples([2, 11])],
      ['union', 'tuple', y, tuples([3, 10], [4, 10], [2, 11], [0, 10], [3, 12])],
      ['difference', 'key', tuples([4, 10], [3, 10]), tuples([2, 11])],
    ] as const
    for (const [operation, by, second, wanted] of cases) {
      const found = await run(async ({ algebra, recorder, scratch, upload }) => {
        const part = await algebra.setOperator({ operation, shape: U32_U32, by })
        return part.record(recorder, scratch, upload(x, U32_U32), upload(second, U32_U32))
      })
      sameTuples(found, wanted, U32_U32)
    }
  }),
)

t.test('relations of every length around a boundary', (t) =>
  withBothForms(t, async (_t, run) => {
    for (const [i, length] of LENGTHS.entries()) {
      for (const other of [i % 2 === 0 ? 0 : 3000, length]) {
        const pair = [
          makeSimilarTuples(i + 1, length, 5000, U32_U32),
          makeSimilarTuples(i + 70, other, 5000, U32_U32),
        ] as const
        await check(run, OPERATIONS[i % 3]!, pair, { shape: U32_U32, by: 'key', live: i % 2 === 1 })
      }
    }
  }),
)

t.test('keys that all match, that never do, and that repeat', (t) =>
  withBothForms(t, async (_t, run) => {
    const kinds: KeyKind[] = ['random', 'few', 'mostlyEqual', 'equal', 'ascending']
    const even = Array.from({ length: 5000 }, (_, i) => ({ key: BigInt(2 * i), payload: 0n }))
    const odd = even.map(({ key, payload }) => ({ key: key + 1n, payload }))
    for (const operation of OPERATIONS) {
      await check(run, operation, [even, odd], { shape: U32_U32, by: 'key' })
      await check(run, operation, [even, even], { shape: U32_U32, by: 'key' })
      await check(run, operation, [even.slice(0, 2000), odd.slice(3000)], { shape: U32_U32, by: 'key' })
      for (const kind of kinds) {
        const pair = [makeTuples(kind, 3, 6000, U32_U32), makeTuples(kind, 4, 5000, U32_U32)] as const
        await check(run, operation, pair, { shape: U32_U32, by: 'key' })
      }
    }
  }),
)

t.test('a relation of which most lies between few tuples of the other', (t) =>
  withBothForms(t, async (_t, run) => {
    const tuples = (keys: readonly number[]) => keys.map((key) => ({ key: BigInt(key), payload: 0n }))
    const last = 2 ** 32 - 1
    const dense = tuples([...Array.from({ length: 9000 }, (_, i) => 2 * i), last])
    const sparse = [
      tuples([0, last]),
      tuples(Array.from({ length: 250 }, (_, i) => 73 * i)),
      tuples([
        ...Array.from({ length: 10 }, (_, i) => i),
        ...Array.from({ length: 11 }, (_, i) => 17_000 + i),
      ]),
    ]
    for (const [i, few] of sparse.entries()) {
      for (const operation of OPERATIONS) {
        const pair =
          (i + OPERATIONS.indexOf(operation)) % 2 === 0 ? ([dense, few] as const) : ([few, dense] as const)
        await check(run, operation, pair, { shape: U32_U32, by: 'key' })
      }
      await check(run, 'union', [dense, few], { shape: U32_U32, by: 'key', live: true })
      await check(run, 'union', [few, dense], { shape: U32_U32, by: 'key', live: true })
      await check(run, 'intersect', [few, dense], { shape: U32_U32, by: 'key', live: true })
    }
    for (const operation of OPERATIONS) {
      await check(run, operation, [tuples([0]), []], { shape: U32_U32, by: 'key' })
      await check(run, operation, [[], tuples([0])], { shape: U32_U32, by: 'key' })
    }
  }),
)

t.test('tuples of more than two words, by key and by tuple', (t) =>
  withBothForms(t, async (_t, run) => {
    for (const [i, shape] of ALL_SHAPES.filter(
      ({ keyWords, payloadWords }) => keyWords + payloadWords > 2,
    ).entries()) {
      const pair = [
        makeSimilarTuples(i + 1, 5000, 3000, shape),
        makeSimilarTuples(i + 9, 4000, 3000, shape),
      ] as const
      await check(run, OPERATIONS[i % 3]!, pair, { shape, by: 'key', live: true })
      await check(run, OPERATIONS[(i + 1) % 3]!, pair, { shape, by: 'tuple', live: i % 2 === 1 })
    }
  }),
)
