import t, { type Test } from 'tap'
import { treeShape } from '../../../../gpu/index/layout.js'
import { type SearchForm, searchForm, WALK_LIMIT } from '../../../../gpu/index/read/scan.js'
import { FIXED_KEY_TYPES, keyWidth } from '../../../../protocol/types.js'
import { keyOf, ranksOf } from '../../../fixed-keys.js'
import { concat } from '../../../plain-bytes.js'
import type { Random } from '../../../random.js'
import type { ScanRequest } from '../../../reads.js'
import { openDevice } from '../../open-device.js'
import { queries, randomKeys, randomPayload, type Subject, same, seeded, subjectOf } from './subject.js'

const device = await openDevice(t)
const FORMS: readonly SearchForm[] = ['walk', 'breadth-first']

async function compare(t: Test, { reader, arena, model }: Subject, request: ScanRequest, name: string) {
  const expected = await model.scan(request)
  for (const form of FORMS) same(t, await reader.scan(arena, request, form), expected, `${name}: ${form}`)
}

/** Ranges at random: open, closed, inverted, empty, continued from live and from deleted entries, finished. */
function randomRequest(subject: Subject, random: Random): ScanRequest {
  const ranges = random.pick([1, 1, 3, 40])
  const column = () => (random.chance(0.6) ? bounds(subject, random, ranges) : undefined)
  const request = {
    ranges,
    from: column(),
    to: column(),
    fromExclusive: random.chance(0.5),
    toExclusive: random.chance(0.5),
    reverse: random.chance(0.5),
    limit: random.pick([1, 2, 3, 16, 17, 100, 5000]),
  }
  if (random.chance(0.5)) return request
  const near = request.reverse ? { to: undefined } : { from: undefined }
  return { ...request, ...near, tokens: concat(Array.from({ length: ranges }, () => token(subject, random))) }
}

/** Keys to bound ranges with: NaN is refused before a scan. */
function bounds(subject: Subject, random: Random, count: number): Uint8Array {
  const { keyType } = subject.shape
  return concat(ranksOf(keyType, queries(subject, random, count)).map((rank) => keyOf(keyType, rank ?? 0n)))
}

function token({ shape, keys }: Subject, random: Random): Uint8Array {
  const width = keyWidth(shape.keyType) ?? 0
  if (keys.length === 0 || random.chance(0.1)) return new Uint8Array(width + 4).fill(0xff)
  const { rank, entries } = random.pick(keys)
  const sequence = Math.max(0, random.pick(entries).sequence + random.pick([-1, 0, 0, 0, 1]))
  return concat([keyOf(shape.keyType, rank), new Uint8Array(Uint32Array.of(sequence).buffer)])
}

t.test('both forms answer as the model does', async (t) => {
  const random = seeded(t)
  for (const keyType of FIXED_KEY_TYPES) {
    for (const unique of [true, false]) {
      const shape = { keyType, payloadBytes: random.pick([4, 8, 5]), unique, matchFrom: 0 }
      const subject = await subjectOf(device, shape, randomKeys(shape, random, 200), random)
      for (let i = 0; i < 12; i++) {
        const request = randomRequest(subject, random)
        const { from, to, tokens, ...rest } = request
        const given = Object.entries({ from, to, tokens }).flatMap(([name, c]) =>
          c === undefined ? [] : [name],
        )
        await compare(t, subject, request, `${keyType} ${JSON.stringify(rest)} ${given}`)
      }
      subject.arena.destroy()
    }
  }
})

t.test('bounds that meet, pass each other, or leave out all there is', async (t) => {
  const random = seeded(t)
  const shape = { keyType: 'i32', payloadBytes: 4, unique: false, matchFrom: 0 } as const
  const entries = [0, 1, 2].map((sequence) => ({ sequence, payload: randomPayload(shape, random) }))
  const keys = [-20n, -1n, 0n, 1n, 2n, 17n].map((rank) => ({ rank, entries }))
  const subject = await subjectOf(device, shape, keys, random)
  const bounds = [-(2n ** 31n), -21n, -20n, -1n, 0n, 1n, 3n, 17n, 2n ** 31n - 1n]
  const pairs = bounds.flatMap((from) => bounds.map((to) => [from, to] as const))
  for (let ends = 0; ends < 8; ends++) {
    for (const limit of [1, 2, 17, 18, 19]) {
      const request = {
        ranges: pairs.length,
        from: concat(pairs.map(([from]) => keyOf('i32', from))),
        to: concat(pairs.map(([, to]) => keyOf('i32', to))),
        fromExclusive: (ends & 1) !== 0,
        toExclusive: (ends & 2) !== 0,
        reverse: (ends & 4) !== 0,
        limit,
      }
      await compare(t, subject, request, `ends ${ends}, limit ${limit}`)
    }
  }
})

t.test('no ranges, and a tree without keys', async (t) => {
  const shape = { keyType: 'f64', payloadBytes: 8, unique: false, matchFrom: 0 } as const
  const subject = await subjectOf(device, shape, [], seeded(t))
  await compare(t, subject, { ranges: 0, limit: 10 }, 'no ranges')
  await compare(t, subject, { ranges: 3, limit: 10, from: new Uint8Array(24) }, 'no keys')
  await compare(t, subject, { ranges: 1, limit: 10, reverse: true }, 'no keys, in reverse')
})

t.test('a bound that is NaN is above every number', async (t) => {
  const random = seeded(t)
  const shape = { keyType: 'f32', payloadBytes: 4, unique: true, matchFrom: 0 } as const
  const subject = await subjectOf(device, shape, randomKeys(shape, random, 50), random)
  const nan = new Uint8Array(Float32Array.of(NaN).buffer)
  const all = await subject.model.scan({ ranges: 1, limit: 100 })
  for (const form of FORMS) {
    const from = await subject.reader.scan(subject.arena, { ranges: 1, limit: 100, from: nan }, form)
    t.equal(from.offsets[1], 0)
    const to = await subject.reader.scan(subject.arena, { ranges: 1, limit: 100, to: nan }, form)
    same(t, to, all)
  }
})

t.test('pages of a long list, from its middle and through gaps, in both directions', async (t) => {
  const random = seeded(t)
  const shape = { keyType: 'u64', payloadBytes: 4, unique: false, matchFrom: 0 } as const
  const length = 100_000
  const payload = (i: number) => new Uint8Array(Uint32Array.of(i).buffer)
  const dense = Array.from({ length }, (_, i) => ({ sequence: i, payload: payload(i) }))
  const sparse = dense.map((entry) => ({
    ...entry,
    // A run of dead entries longer than any page, and single ones all over.
    dead: (entry.sequence > 20_000 && entry.sequence < 60_000) || random.chance(0.3),
  }))
  for (const entries of [dense, sparse]) {
    const one = [{ sequence: 0, payload: payload(1) }]
    const keys = [
      { rank: 1n, entries: one },
      { rank: 2n, entries },
      { rank: 3n, entries: one },
    ]
    const { reader, arena, model } = await subjectOf(device, shape, keys, random)
    for (const reverse of [false, true]) {
      for (const start of [20_000, 50_000, 99_999]) {
        const tokens = concat([keyOf('u64', 2n), payload(start)])
        for (const [limit, form] of [
          [1, 'walk'],
          [300, 'walk'],
          [1, 'breadth-first'],
          [1000, 'breadth-first'],
          [1 << 18, 'breadth-first'],
        ] as const) {
          const request = { ranges: 1, tokens, reverse, limit }
          const name = `from ${start}${reverse ? ' in reverse' : ''}, ${limit} entries, ${form}`
          same(t, await reader.scan(arena, request, form), await model.scan(request), name)
        }
      }
      let tokens = concat([keyOf('u64', reverse ? 3n : 1n), payload(0)])
      let seen = 0
      for (;;) {
        const page = await reader.scan(arena, { ranges: 1, tokens, reverse, limit: 7777 })
        seen += page.offsets[1]
        tokens = page.tokens
        if (page.more[0] === 0) break
      }
      t.equal(seen, entries.filter((entry) => !('dead' in entry && entry.dead)).length + 1)
    }
    arena.destroy()
  }
})

t.test('the form follows from the adapter and the limit', (t) => {
  const gpu = { name: 'a GPU', driver: '', software: false, bindingBytes: 2 ** 31 }
  const shape = { payloadBytes: 4, unique: true, matchFrom: 0 }
  const fixed = treeShape({ ...shape, keyType: 'u32' })
  const variable = treeShape({ ...shape, keyType: 'string' })
  t.equal(searchForm(gpu, fixed, WALK_LIMIT), 'walk')
  t.equal(searchForm(gpu, fixed, WALK_LIMIT + 1), 'breadth-first')
  t.equal(searchForm({ ...gpu, software: true }, fixed, WALK_LIMIT + 1), 'walk')
  t.equal(searchForm(gpu, variable, WALK_LIMIT + 1), 'walk')
  t.end()
})
