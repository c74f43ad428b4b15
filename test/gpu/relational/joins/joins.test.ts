import fc from 'fast-check'
import t from 'tap'
import type { DeviceMemory } from '../../../../gpu/memory/page-run.js'
import { JOIN_ALGORITHMS, type JoinAlgorithm } from '../../../../gpu/relational/joins/join-types.js'
import { JOIN_KINDS, type JoinKind } from '../../../../protocol/query/tree.js'
import { anySeed, check, randomWords } from '../../primitives/bed.js'
import { checkJoin, type HostJoin, joinOnHost, openJoins, uploadSide } from './join-bed.js'

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
  const keys = keysBelow(50, 700, 5)
  for (const algorithm of JOIN_ALGORITHMS) {
    const buffers: DeviceMemory[] = []
    let most = 0
    const { device, joins, openWork } = await openJoins('serial')
    const work = openWork((bytes) => {
      most = Math.max(most, bytes)
    })
    const left = await uploadSide(device, buffers, { keys }, 1)
    const right = await uploadSide(device, buffers, { keys }, 1)
    const { heldBytes } = work.scratch
    const request = { left, right, keyWords: 1, kind: 'full', algorithm, passBytes: 8 * 1000 } as const
    const result = await joins.join(work, request)
    const counted = most
    t.ok(counted > 700 * 8, `${algorithm}: ${counted} bytes to count the pairs`)
    for await (const { count } of result.passes()) t.ok(count <= 1000)
    t.ok(most > counted + 8000, `${most} bytes to write them`)
    result.destroy()
    work.keepOnly([])
    t.equal(work.scratch.heldBytes, heldBytes, 'all is given back')
    work.scratch.release()
    const tight = openWork((bytes) => {
      if (bytes > counted / 2) throw new Error('too much')
    })
    await t.rejects(joins.join(tight, request), { message: 'too much' })
    t.equal(tight.scratch.heldBytes, heldBytes)
    tight.scratch.release()
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

/** What the hash join orders keys of one word by: the finaliser of MurmurHash3. */
function hashOf(key: bigint): number {
  let hash = Number(key)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return hash ^ (hash >>> 16)
}

t.test('partitions of many keys and of several items', async (t) => {
  const join = { keyWords: 1, algorithm: 'hj', passBytes: 8 * 3000 } as const
  const hashed = async (left: bigint[], right: bigint[], kind: JoinKind = 'full') => {
    const { algorithm } = await checkJoin('serial', {
      ...join,
      left: { keys: left },
      right: { keys: right },
      kind,
    })
    return algorithm
  }
  const distinct = keysBelow(2 ** 32, 5000, 23)
  // A key of its own fills most of what is kept of the partition that it is in.
  const often = [...distinct, ...Array<bigint>(900).fill(distinct[7]!)]
  t.equal(await hashed(often, distinct.slice(0, 6000)), 'hj')
  t.equal(await hashed([...often, ...often.slice(-900)], distinct, 'inner'), 'hj')
  t.equal(await hashed([...distinct, ...Array<bigint>(9000).fill(distinct[7]!)], distinct), 'hj', 'probes')
  t.equal(await hashed(skewedKeys(30, 6000, 3), skewedKeys(30, 8000, 4).slice(0, 5000), 'semi'), 'hj')
  t.equal(await hashed([...Array<bigint>(6000).fill(9n), ...distinct], distinct), 'hj')
  const together = keysBelow(2 ** 32, 40_000, 24).filter((key) => (hashOf(key) & 7) === 0)
  t.equal(await hashed(together.slice(0, 1400), together.slice(0, 1500)), 'hj')
  t.equal(await hashed(together, together.slice(1000)), 'smj', 'more different keys than slots')
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
        await checkJoin('serial', { ...join, delta })
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
    t.equal(passes.length, Math.ceil(counted! / 1000))
    t.ok(passes.every((count) => count <= 1000))
  }
})

t.test('more pairs than places are counted for together', async (t) => {
  const left = { keys: [...keysBelow(200, 900, 5), ...Array<bigint>(100).fill(7n)] }
  const right = { keys: keysBelow(200, 1100, 6) }
  const join = { left, right, keyWords: 1, passBytes: 8 * 700 } as const
  for (const algorithm of JOIN_ALGORITHMS)
    await checkJoin('serial', { ...join, algorithm, kind: 'full' }, 1300)
  const same = { keys: Array<bigint>(70_000).fill(9n) }
  const { device, joins, openWork } = await openJoins('serial')
  const work = openWork()
  const buffers: DeviceMemory[] = []
  const side = await uploadSide(device, buffers, same, 1)
  const request = { left: side, right: side, keyWords: 1, algorithm: 'hj', passBytes: 8000 } as const
  const result = await joins.join(work, request)
  t.equal(result.pairs, 70_000 ** 2)
  t.equal(result.choice.algorithm, 'smj')
  for await (const { count } of result.passes()) {
    t.equal(count, 1000)
    break
  }
  result.destroy()
  work.scratch.release()
  for (const buffer of buffers) buffer.destroy()
})

t.test('every kind', async (t) => {
  for (const algorithm of JOIN_ALGORITHMS) {
    for (const kind of JOIN_KINDS) {
      const left = { keys: keysBelow(400, 300, 8) }
      const right = { keys: keysBelow(400, 350, 9) }
      const { counted } = await checkJoin('serial', {
        left,
        right,
        keyWords: 1,
        kind,
        algorithm,
        passBytes: 8 * 100,
      })
      t.equal(counted === undefined, kind === 'semi' || kind === 'anti')
      await checkJoin('serial', { left, right: { keys: [] }, keyWords: 1, kind, algorithm })
      await checkJoin('serial', { left: { keys: [] }, right, keyWords: 1, kind, algorithm })
    }
  }
})

t.test('keys of which each is there once, in any order', async () => {
  const all = [...new Set(keysBelow(2 ** 32, 5000, 18))]
  const some = all.filter((_, i) => i % 3 > 0)
  for (const algorithm of JOIN_ALGORITHMS) {
    for (const [left, right] of [
      [all, some.toReversed()],
      [ascending([...all, ...some]), ascending([...some])],
      [[...some, ...some], all],
    ] as const) {
      const join = { left: { keys: left }, right: { keys: right }, keyWords: 1, algorithm } as const
      await checkJoin('serial', { ...join, kind: 'right', passBytes: 8 * 1500 })
      for (const kind of ['inner', 'full'] as const) await checkJoin('cooperative', { ...join, kind })
    }
  }
})

t.test('sides that are sorted already', async () => {
  for (const algorithm of ['inlj', 'smj', undefined] as const) {
    const left = { keys: ascending(keysBelow(2000, 3000, 11)) }
    const right = { keys: ascending(keysBelow(2000, 2500, 12)) }
    await checkJoin('serial', { left, right, keyWords: 1, ...(algorithm && { algorithm }) })
  }
})

t.test('keys that differ in few of their bits', async () => {
  for (const keyWords of [1, 2] as const) {
    const common = 2n ** BigInt(32 * keyWords - 1)
    for (const [bound, keyBits] of [
      [1, 0],
      [200, 8],
      [4000, 12],
    ] as const) {
      const keys = (count: number, seed: number) => keysBelow(bound, count, seed).map((key) => key + common)
      for (const algorithm of JOIN_ALGORITHMS) {
        const sides = { left: { keys: keys(300, 25) }, right: { keys: keys(500, 26) } }
        await checkJoin('serial', { ...sides, keyWords, keyBits, algorithm })
      }
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
        delta: isBand ? delta : undefined,
      }
      const few = joinOnHost({ ...host, kind: 'inner' }).length
      // Neither thousands of passes nor millions of pairs.
      if (few > 200_000) return
      await checkJoin(strategy, { ...host, passBytes: 8 * Math.max(passPairs, Math.ceil(few / 20)) })
    },
    24,
  )
})
