import fc from 'fast-check'
import t from 'tap'
import { Split, type SplitShape } from '../../../../bench/papers/he/split.js'
import {
  anyLength,
  anySeed,
  check,
  LENGTHS,
  type Run,
  randomWords,
  same,
  withBothForms,
} from '../../../gpu/primitives/bed.js'
import {
  columnOutputs,
  makeColumns,
  reordered,
  SOME_SHAPES,
  sameColumns,
  uploadColumns,
} from '../../../gpu/primitives/columns.js'

const SHAPES: readonly SplitShape[] = [...SOME_SHAPES, { keyWords: 2, payloadWords: 1, positions: true }]

const U32: SplitShape = { keyWords: 1, payloadWords: 1 }

/** Where each part starts, and positions in the order of their parts. */
function partition(parts: Uint32Array, fanOut: number): { starts: Uint32Array; order: number[] } {
  const members: number[][] = Array.from({ length: fanOut }, () => [])
  parts.forEach((part, position) => {
    members[part]!.push(position)
  })
  const starts = new Uint32Array(fanOut + 1)
  members.forEach((positions, part) => {
    starts[part + 1] = starts[part]! + positions.length
  })
  return { starts, order: members.flat() }
}

async function splitAndCompare(
  run: Run,
  seed: number,
  parts: Uint32Array,
  fanOut: number,
  shape: SplitShape,
): Promise<void> {
  const count = parts.length
  const given = makeColumns('random', seed, count, shape)
  const input = shape.positions ? { ...given, payloads: Uint32Array.from(parts.keys()) } : given
  const [keys, payloads, starts] = await run(async ({ device, primitives, recorder, scratch, upload }) => {
    const split = new Split(device, primitives, shape)
    const uploaded = uploadColumns(upload, input, shape)
    const columns = shape.positions ? { ...uploaded, payloads: undefined } : uploaded
    const output = split.record(recorder, scratch, columns, upload(parts), count, fanOut)
    return [...columnOutputs(output, count, shape), [output.starts, fanOut + 1]]
  })
  const wanted = partition(parts, fanOut)
  same(starts!, wanted.starts)
  sameColumns([keys!, payloads!], reordered(input, wanted.order, shape))
}

function randomParts(seed: number, count: number, fanOut: number): Uint32Array {
  return randomWords(seed, count).map((word) => word % fanOut)
}

t.test('every length around a boundary', (t) =>
  withBothForms(t, async (_t, run) => {
    for (const count of LENGTHS) {
      if (count < 20_000) await splitAndCompare(run, count + 1, randomParts(count + 1, count, 37), 37, U32)
    }
  }),
)

t.test('every fan-out around a boundary, in one tile and in several', (t) =>
  withBothForms(t, async (_t, run) => {
    for (const fanOut of [1, 2, 3, 15, 16, 17, 255, 256, 257, 2047, 2048, 2049, 4096, 65_537]) {
      for (const count of [1000, 9001]) {
        await splitAndCompare(run, fanOut, randomParts(fanOut, count, fanOut), fanOut, U32)
      }
    }
  }),
)

t.test('columns of every shape', (t) =>
  withBothForms(t, async (_t, run) => {
    for (const shape of SHAPES) {
      for (const fanOut of [100, 5000]) {
        for (const count of [3000, 5000]) {
          await splitAndCompare(run, count, randomParts(count, count, fanOut), fanOut, shape)
        }
      }
    }
  }),
)

t.test('parts of any sizes', (t) =>
  withBothForms(t, (t, run) =>
    check(
      t,
      fc.record({
        count: anyLength.filter((count) => count <= 20_000),
        seed: anySeed,
        fanOut: fc.oneof(fc.integer({ min: 1, max: 40 }), fc.integer({ min: 1, max: 6000 })),
        skew: fc.constantFrom('all in one', 'most in one', 'in order', 'even'),
        shape: fc.constantFrom(...SHAPES),
      }),
      ({ count, seed, fanOut, skew, shape }) => {
        const parts = randomParts(seed, count, fanOut).map((part, i) => {
          if (skew === 'all in one') return seed % fanOut
          if (skew === 'most in one') return i % 50 === 0 ? part : fanOut - 1
          return skew === 'in order' ? Math.floor((i * fanOut) / count) : part
        })
        return splitAndCompare(run, seed, parts, fanOut, shape)
      },
      20,
    ),
  ),
)
