import fc from 'fast-check'
import t from 'tap'
import {
  JOIN_ALGORITHMS,
  JOIN_KINDS,
  type JoinAlgorithm,
  type JoinPredicate,
} from '../../../../gpu/relational/joins/join-types.js'
import { anySeed, check, randomWords } from '../../primitives/bed.js'
import { checkJoin, type HostJoin, joinOnDevice, joinOnHost, openJoins, uploadSide } from './join-bed.js'

/** Lengths of the left and the right side beside those of nodes, chunks, tiles, partitions and blocks. */
const LENGTHS = [
  [0, 0],
  [0, 5],
  [5, 0],
  [1, 1],
  [31, 33],
  [32, 1024],
  [1025, 32],
  [2047, 2049],
  [4097, 2048],
  [300, 5000],
] as const

const EQUAL: JoinPredicate = { type: 'equal' }

/** Random keys below a bound. */
function keysBelow(bound: number, count: number, seed: number): bigint[] {
  return Array.from(randomWords(seed, count), (word) => BigInt(word % bound))
}

/** Keys of which so many of a hundred are one and the same (He §5.1). */
function skewedKeys(percent: number, count: number, seed: number): bigint[] {
  return Array.from(randomWords(seed, count), (word) => (word % 100 < percent ? 1n : BigInt(word)))
}

function ascending(keys: bigint[]): bigint[] {
  return keys.sort((a, b) => (a < b ? -1 : Number(a > b)))
}

t.test('lengths around tiles, nodes and chunks', async (t) => {
  for (const algorithm of JOIN_ALGORITHMS) {
    for (const [left, right] of LENGTHS) {
      const outcome = await checkJoin(algorithm === 'hj' ? 'cooperative' : 'serial', {
        left: { keys: keysBelow(3000, left, left + 1) },
        right: { keys: keysBelow(3000, right, right + 7) },
        keyWords: 1,
        algorithm,
      })
      t.equal(outcome.counted, outcome.pairs.length)
    }
  }
})

t.test('what a join takes counts with the memory that it is given', async (t) => {
  const { device, joins } = await openJoins('serial')
  const keys = keysBelow(50, 700, 5)
  for (const algorithm of JOIN_ALGORITHMS) {
    const buffers: GPUBuffer[] = []
    const left = await uploadSide(device, buffers, { keys }, 1)
    const right = await uploadSide(device, buffers, { keys }, 1)
    let most = 0
    const scratch = device.scratch((bytes) => {
      most = Math.max(most, bytes)
    })
    scratch.words(1000)
    const { heldBytes } = scratch
    const request = {
      left,
      right,
      keyWords: 1,
      kind: 'full',
      algorithm,
      passBytes: 8 * 1000,
      scratch,
    } as const
    const result = await joins.join(request)
    const counted = most
    t.ok(counted > 4000 + 700 * 8, `${algorithm}: ${counted} bytes to count the pairs`)
    for await (const { count } of result.passes()) t.ok(count <= 1000)
    t.ok(most > counted + 8000, `${most} bytes to write them`)
    result.destroy()
    t.equal(scratch.heldBytes, heldBytes, 'all is given back')
    scratch.release()
    const tight = device.scratch((bytes) => {
      if (bytes > counted / 2) throw new Error('too much')
    })
    await t.rejects(joins.join({ ...request, scratch: tight }), { message: 'too much' })
    for (const buffer of buffers) buffer.destroy()
  }
})

t.test('one key in all rows, in some, in none', async () => {
  for (const algorithm of JOIN_ALGORITHMS) {
    for (const percent of [0, 30, 100]) {
      const join = { keyWords: 1, algorithm } as const
      const [many, few] = [skewedKeys(percent, 3000, 3), skewedKeys(percent, 20, 4)]
      await checkJoin('serial', { ...join, left: { keys: few }, right: { keys: many } })
      await checkJoin('serial', { ...join, left: { keys: many }, right: { keys: few } })
    }
  }
})

t.test('partitions of several chunks and of several items', async (t) => {
  const join = { keyWords: 1, algorithm: 'hj', passBytes: 8 * 3000 } as const
  for (const build of ['left', 'right'] as const) {
    for (const percent of [0, 30, 100]) {
      const [many, few] = [skewedKeys(percent, 3000, 3), skewedKeys(percent, 20, 4)]
      const { algorithm } = await checkJoin('serial', {
        ...join,
        left: { keys: few },
        right: { keys: many },
        kind: 'full',
        tuning: { build, partitionBits: 1 },
      })
      t.equal(algorithm, 'hj')
    }
  }
  const left = { keys: keysBelow(9000, 9000, 23) }
  const right = { keys: keysBelow(9000, 5000, 24) }
  const { algorithm } = await checkJoin('serial', { ...join, left, right, tuning: { partitionBits: 1 } })
  t.equal(algorithm, 'hj')
})

t.test('keys at both ends, and bands that reach past them', async () => {
  for (const keyWords of [1, 2] as const) {
    const last = 2n ** BigInt(32 * keyWords) - 1n
    const near = [0n, 1n, 2n, 5n, 2n ** 31n, 2n ** 32n - 2n, 2n ** 32n - 1n, last - 7n, last - 1n, last]
    const keys = [...near, ...near.slice(3, 6)]
    for (const algorithm of JOIN_ALGORITHMS) {
      const join = { keyWords, algorithm, left: { keys }, right: { keys: [...near].reverse() } }
      await checkJoin('serial', join)
      if (algorithm === 'hj') continue
      for (const delta of [0n, 6n, 2n ** 32n, last]) {
        await checkJoin('serial', { ...join, predicate: { type: 'band', delta } })
      }
    }
  }
})

t.test('several passes return every pair once', async (t) => {
  for (const algorithm of JOIN_ALGORITHMS) {
    const left = { keys: [...keysBelow(200, 900, 5), ...Array<bigint>(100).fill(7n)] }
    const right = { keys: keysBelow(200, 1100, 6) }
    const passBytes = 8 * 1000
    const { passes, counted } = await checkJoin('serial', { left, right, keyWords: 1, algorithm, passBytes })
    t.equal(passes.length, Math.ceil(counted / 1000))
    t.ok(passes.every((count) => count <= 1000))
  }
})

t.test('more pairs than places are counted for together', async (t) => {
  const left = { keys: [...keysBelow(200, 900, 5), ...Array<bigint>(100).fill(7n)] }
  const right = { keys: keysBelow(200, 1100, 6) }
  const join = { left, right, keyWords: 1, passBytes: 8 * 700 } as const
  for (const algorithm of JOIN_ALGORITHMS) {
    await checkJoin('serial', { ...join, algorithm, kind: 'full', tuning: { slicePairs: 1300 } })
  }
  const same = { keys: Array<bigint>(70_000).fill(9n) }
  const { device, joins } = await openJoins('serial')
  const buffers: GPUBuffer[] = []
  const side = await uploadSide(device, buffers, same, 1)
  const result = await joins.join({ left: side, right: side, keyWords: 1, algorithm: 'hj', passBytes: 8000 })
  t.equal(result.pairs, 70_000 ** 2)
  t.equal(result.choice.algorithm, 'smj')
  for await (const { count } of result.passes()) {
    t.equal(count, 1000)
    break
  }
  result.destroy()
  for (const buffer of buffers) buffer.destroy()
})

t.test('every kind, with row numbers of its own', async () => {
  const rows = (count: number, seed: number) =>
    Array.from({ length: count }, (_, i) => ({ i, by: randomWords(seed + i, 1)[0]! }))
      .sort((a, b) => a.by - b.by)
      .map(({ i }) => 3 * i + 1)
  for (const algorithm of JOIN_ALGORITHMS) {
    for (const kind of JOIN_KINDS) {
      const left = { keys: keysBelow(400, 300, 8), rows: rows(300, 1) }
      const right = { keys: keysBelow(400, 350, 9), rows: rows(350, 2) }
      await checkJoin('serial', { left, right, keyWords: 1, kind, algorithm, passBytes: 8 * 100 })
      await checkJoin('serial', { left, right: { keys: [] }, keyWords: 1, kind, algorithm })
      await checkJoin('serial', { left: { keys: [] }, right, keyWords: 1, kind, algorithm })
    }
  }
})

t.test('rows that match are marked on both sides if asked for', async (t) => {
  const { device, joins } = await openJoins('serial')
  const buffers: GPUBuffer[] = []
  const host = { left: { keys: keysBelow(300, 200, 21) }, right: { keys: keysBelow(300, 150, 22) } }
  const left = await uploadSide(device, buffers, host.left, 1)
  const right = await uploadSide(device, buffers, host.right, 1)
  const pairs = joinOnHost({ ...host, keyWords: 1 })
  for (const algorithm of JOIN_ALGORITHMS) {
    const result = await joins.join({
      left,
      right,
      keyWords: 1,
      algorithm,
      passBytes: 8 * 30,
      marks: ['left', 'right'],
    })
    for await (const _ of result.passes());
    for (const [i, side] of (['left', 'right'] as const).entries()) {
      const words = await device.readWords(result.marks[side]!, Math.ceil(host[side].keys.length / 32))
      const rows = host[side].keys.flatMap((_, row) => ((words[row >>> 5]! >>> (row & 31)) & 1 ? [row] : []))
      t.same(
        rows,
        [...new Set(pairs.map((pair) => pair[i]!))].sort((a, b) => a - b),
      )
    }
    result.destroy()
  }
  for (const buffer of buffers) buffer.destroy()
})

t.test('sides that are sorted already', async () => {
  for (const algorithm of ['inlj', 'smj', undefined] as const) {
    const left = { keys: ascending(keysBelow(2000, 3000, 11)) }
    const right = { keys: ascending(keysBelow(2000, 2500, 12)) }
    await checkJoin('serial', { left, right, keyWords: 1, ...(algorithm && { algorithm }) })
  }
})

t.test('an index that is kept', async (t) => {
  const { device, joins } = await openJoins('serial')
  const buffers: GPUBuffer[] = []
  const right = { keys: keysBelow(500, 2000, 13) }
  const side = await uploadSide(device, buffers, right, 1)
  const index = await joins.createIndex(side, 1)
  for (const predicate of [EQUAL, { type: 'band', delta: 3n } as const]) {
    for (const seed of [14, 15]) {
      const left = { keys: keysBelow(600, 700, seed) }
      const probe = await uploadSide(device, buffers, left, 1)
      const result = await joins.join({
        left: probe,
        right: { ...side, index },
        keyWords: 1,
        predicate,
        algorithm: 'inlj',
        passBytes: 2 ** 26,
      })
      t.equal(result.choice.build, 'right')
      t.equal(result.pairs, joinOnHost({ left, right, keyWords: 1, predicate }).length)
      result.destroy()
    }
  }
  index.destroy()
  for (const buffer of buffers) buffer.destroy()
})

t.test('every way to search an index and to order its probes', async () => {
  const left = { keys: keysBelow(5000, 3000, 16) }
  const right = { keys: keysBelow(4000, 2500, 17) }
  const join = { left, right, keyWords: 1, algorithm: 'inlj' } as const
  for (const search of ['buckets', 'binary', 'sequential', 'array'] as const) {
    await checkJoin('serial', { ...join, tuning: { search } })
  }
  for (const orderedBytes of [1, 2, 5]) await checkJoin('serial', { ...join, tuning: { orderedBytes } })
  const one = { keys: Array<bigint>(40).fill(3n) }
  await checkJoin('serial', { ...join, right: one, tuning: { orderedBytes: 1 } })
})

t.test('one match each, with and without a scan', async () => {
  const left = { keys: keysBelow(2 ** 32, 5000, 18) }
  const right = { keys: left.keys.filter((_, i) => i % 3 > 0).reverse() }
  for (const algorithm of JOIN_ALGORITHMS) {
    for (const scansSingle of [false, true]) {
      const join = {
        left,
        right,
        keyWords: 1,
        algorithm,
        tuning: { scansSingle },
        passBytes: 8 * 1500,
      } as const
      await checkJoin('serial', { ...join, kind: 'right' })
      await checkJoin('cooperative', join)
    }
  }
})

t.test('random joins by every algorithm and strategy', async (t) => {
  const anySide = fc.record({
    count: fc.oneof(fc.integer({ min: 0, max: 40 }), fc.integer({ min: 0, max: 3000 })),
    seed: anySeed,
    bound: fc.constantFrom(1, 10, 3000, 2 ** 32),
  })
  await check(
    t,
    fc.record({
      left: anySide,
      right: anySide,
      algorithm: fc.constantFrom<JoinAlgorithm>(...JOIN_ALGORITHMS),
      kind: fc.constantFrom(...JOIN_KINDS),
      keyWords: fc.constantFrom<1 | 2>(1, 2),
      delta: fc.constantFrom(undefined, 0n, 5n, 2n ** 33n),
      strategy: fc.constantFrom<'serial' | 'cooperative'>('serial', 'cooperative'),
      passPairs: fc.constantFrom(7, 1000, 2 ** 23),
    }),
    async ({ left, right, strategy, passPairs, delta, algorithm, ...rest }) => {
      const keys = ({ bound, count, seed }: typeof left) => keysBelow(bound, count, seed)
      const isBand = delta !== undefined && algorithm !== 'hj'
      const host: HostJoin = {
        ...rest,
        algorithm,
        left: { keys: keys(left) },
        right: { keys: keys(right) },
        predicate: isBand ? { type: 'band', delta } : EQUAL,
      }
      const few = joinOnHost({ ...host, kind: 'inner' }).length
      // Neither thousands of passes nor millions of pairs.
      if (few > 200_000) return
      await checkJoin(strategy, { ...host, passBytes: 8 * Math.max(passPairs, Math.ceil(few / 20)) })
    },
    24,
  )
})

t.test('what cannot be done is refused', async (t) => {
  const sides = { left: { keys: [1n] }, right: { keys: [1n] }, keyWords: 1 } as const
  const band = { type: 'band', delta: 1n } as const
  const refused = { code: 'BAD_REQUEST' }
  await t.rejects(joinOnDevice('serial', { ...sides, algorithm: 'hj', predicate: band }), refused)
  await t.rejects(joinOnDevice('serial', { ...sides, predicate: { type: 'band', delta: -1n } }), refused)
  await t.rejects(joinOnDevice('serial', { ...sides, passBytes: 7 }), refused)
})
