import t from 'tap'
import { joinShape } from '../../../../gpu/relational/algebra/join-kernels.js'
import type { ColumnShape } from '../../../../gpu/relational/columns.js'
import { makeSimilarTuples, type Run, sameTuples, U32, U32_U32, withBothForms } from './bed.js'
import { join, type Tuple } from './model.js'

/** Tuples of a tile, what it meets at most with pivots as near as they can be, and entries whose results are numbered at a time; as in the kernels. */
const TILE = 2048
const NEAR = 8 * 512
const BATCH = 1024
/** From where on a place behind the tile's begin, and a number of matches, do not fit into an entry. */
const FAR = 32_767
const MORE = 63

const U64_U32: ColumnShape = { keyWords: 2, payloadWords: 1 }

async function check(
  run: Run,
  first: readonly Tuple[],
  second: readonly Tuple[],
  shape: ColumnShape = U32_U32,
): Promise<void> {
  const found = await run(async ({ algebra, scratch, upload }) => {
    const part = await algebra.join(shape, shape, 'search')
    return part.run(scratch, upload(first, shape, { live: true }), upload(second, shape))
  })
  sameTuples(found, join(first, second, shape.payloadWords), joinShape(shape, shape))
}

/** Keys `begin`, `begin + step` and so on, each `times` times. */
function ascending(count: number, { begin = 0, step = 1, times = 1 } = {}): Tuple[] {
  return Array.from({ length: count }, (_, i) => ({
    key: BigInt(begin + step * Math.floor(i / times)),
    payload: BigInt(i),
  }))
}

function keysOf(tuples: readonly Tuple[]): Tuple[] {
  return tuples.map(({ key }) => ({ key, payload: 0n })).sort((a, b) => Number(a.key - b.key))
}

const search = (
  name: string,
  body: (run: Run, test: Parameters<Parameters<typeof withBothForms>[1]>[0]) => Promise<void>,
) => t.test(name, (t) => withBothForms(t, (t, run) => body(run, t), ['subgroups', 'cooperative']))

search('tiles that end beside a boundary', async (run) => {
  for (const count of [31, 33, TILE - 1, TILE, TILE + 1, 2 * TILE + 33]) {
    const first = ascending(count)
    await check(run, first, first)
    await check(run, first, ascending(count, { begin: 1, step: 2 }))
  }
})

search('tiles that meet few and many tuples', async (run) => {
  for (const count of [7, 9, NEAR - 1, NEAR + 1]) {
    // What a tile meets ends where the first key of the next one lies.
    const times = Math.ceil(TILE / count)
    const first = [...ascending(TILE - 1, { times }), ...ascending(40, { begin: count, times: 3 })]
    await check(run, first, ascending(count + 50))
    await check(run, first, ascending(count + 50, { times: 2 }), U64_U32)
  }
})

search('keys alone', async (run) => {
  const [first, second] = [ascending(TILE + 300), ascending(TILE + 300, { begin: 1, step: 2 })].map(keysOf)
  await check(run, first!, second!, U32)
  // Some tiles have keys with several matches, others have none.
  const several = keysOf([...second!, ...ascending(90, { begin: 2 * TILE, times: 3 })])
  await check(run, [...first!, ...keysOf(ascending(TILE, { begin: TILE + 300 }))], several, U32)
})

search('keys that several tiles have', async (run) => {
  const run5 = (count: number) => ascending(count, { begin: 5, times: count })
  const [few, some, many] = [run5(3), run5(TILE + 7), run5(2 * TILE + 100)]
  for (const [first, second] of [
    [few, many],
    [many, few],
    [some, run5(MORE + 4)],
  ] as const) {
    const around = (tuples: readonly Tuple[]) => [
      ...ascending(9, { step: 0 }),
      ...tuples,
      ...ascending(30, { begin: 6 }),
    ]
    await check(run, first, second)
    await check(run, around(first), around(second))
  }
})

search('places and numbers of matches that do not fit into an entry', async (run) => {
  for (const far of [FAR - 1, FAR, FAR + 1]) {
    const second = [...ascending(far), ...ascending(3 * (MORE + 1), { begin: far, times: MORE - 1 })]
    await check(run, [...ascending(3), ...ascending(6, { begin: far, times: 2 })], second)
  }
  for (const times of [MORE - 1, MORE, MORE + 1]) {
    await check(run, ascending(90, { times: 2 }), ascending(40 * times, { times }))
  }
})

search('passes over tiles with more entries than are numbered at a time', async (run, t) => {
  for (const [times, shape] of [
    [1, U32_U32],
    [3, U32_U32],
    [1, U32],
  ] as const) {
    const first = shape === U32 ? keysOf(ascending(TILE + 100)) : ascending(TILE + 100)
    const second = keysOf(ascending(times * (TILE + 100), { times }))
    const wanted = join(first, second, 0)
    await run(async ({ algebra, device, upload }) => {
      const part = await algebra.join(shape, U32, 'search')
      const found: number[] = []
      for await (const { columns, rows } of part.passes(
        upload(first, shape),
        upload(second, U32),
        BATCH + 77,
      )) {
        const keys = await device.readWords(columns.keys, rows)
        const payloads = columns.payloads && (await device.readWords(columns.payloads, rows))
        for (const [i, key] of keys.entries()) found.push(key, payloads?.[i] ?? 0)
      }
      t.same(
        found,
        wanted.flatMap(({ key, payload }) => [Number(key), Number(payload)]),
      )
      return upload([], U32)
    })
  }
})

search('a tile with nearly as many results as a word counts', async (run, t) => {
  // Four less than 2^32, of which one workgroup of 64 writes a part.
  const [firsts, seconds] = [2046, 2_099_202]
  const [rows, parts] = [500, 64]
  for (const start of [0, 3 * seconds - 250, firsts * seconds - rows]) {
    const found = await run(async ({ algebra, recorder, scratch, upload, put }) => {
      const part = await algebra.join(U32_U32, U32, 'search')
      const first = upload(
        Array.from({ length: firsts }, (_, i) => ({ key: 7n, payload: BigInt(i) })),
        U32_U32,
      )
      const keys = put(new Uint32Array(seconds).fill(7))
      const second = {
        shape: U32,
        columns: { keys, payloads: undefined },
        rows: seconds,
        order: 'tuple',
      } as const
      const counted = part.recordCount(recorder, scratch, first, second)
      return part.recordWrite(recorder, scratch, counted, { start, rows, parts })
    })
    const wanted = Array.from({ length: rows }, (_, i) => ({
      key: 7n,
      payload: BigInt(Math.floor((start + i) / seconds)),
    }))
    sameTuples(found, wanted, U32_U32)
  }
  await run(async ({ algebra, upload, put }) => {
    const keys = put(new Uint32Array(2 ** 21).fill(7))
    const second = {
      shape: U32,
      columns: { keys, payloads: undefined },
      rows: 2 ** 21,
      order: 'tuple',
    } as const
    const first = { ...second, rows: TILE }
    const part = await algebra.join(U32, U32, 'search')
    await t.rejects(part.passes(first, second, 1000).next(), {
      code: 'OUT_OF_DEVICE_MEMORY',
      message: /^the join has at least 4294967295 tuples/,
    })
    return upload([], U32)
  })
})

search('random relations of different sizes', async (run) => {
  for (const [seed, firsts, seconds, range] of [
    [1, 5000, 5000, 6000],
    [2, 3000, 9000, 2000],
    [3, 9000, 700, 30_000],
    [4, 100, 20_000, 50_000],
  ] as const) {
    await check(
      run,
      makeSimilarTuples(seed, firsts, range, U32_U32),
      makeSimilarTuples(seed + 9, seconds, range, U32_U32),
    )
  }
})
