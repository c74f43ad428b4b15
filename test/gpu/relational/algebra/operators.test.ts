import t from 'tap'
import { layOut } from '../../../../gpu/relational/algebra/attributes.js'
import type { Predicate } from '../../../../gpu/relational/algebra/predicate.js'
import { productShape, productWindows } from '../../../../gpu/relational/algebra/product.js'
import { type Projection, planProjection } from '../../../../gpu/relational/algebra/project.js'
import { randomWords, same } from '../../primitives/bed.js'
import { ALL_SHAPES } from '../../primitives/columns.js'
import { makeTuples, type Run, sameTuples, U32, U32_U32, U64_U64, withBothForms, withOneForm } from './bed.js'
import { attributeOf, byKey, select, type Tuple } from './model.js'

const NARROW = layOut(
  [
    { name: 'a', bits: 8 },
    { name: 'b', bits: 24 },
  ],
  [
    { name: 'c', bits: 12 },
    { name: 'd', bits: 20 },
  ],
)
const WIDE = layOut(
  [
    { name: 'a', bits: 20 },
    { name: 'b', bits: 20 },
  ],
  [
    { name: 'c', bits: 32 },
    { name: 'd', bits: 4 },
    { name: 'e', bits: 1 },
  ],
)

/** Lengths beside the boundaries of a word of bits, of a serial tile and of a workgroup's. */
const LENGTHS = [0, 1, 3, 4, 5, 31, 32, 33, 1023, 1024, 1025, 8191, 8192, 8193]

const PREDICATES: readonly Predicate[] = [
  [],
  [{ attribute: 'a', operator: '<', constant: 128 }],
  [{ attribute: 'a', operator: '<', constant: 0 }],
  [{ attribute: 'b', operator: '>', constant: 2 ** 32 - 1 }],
  [
    { attribute: 'c', operator: '<>', constant: 77 },
    { attribute: 'd', operator: '>=', constant: 9 },
  ],
  [
    { attribute: 'a', operator: '>', constant: 1 },
    { attribute: 'b', operator: '<=', constant: 2 ** 23 },
    { attribute: 'c', operator: '>=', constant: 5 },
    { attribute: 'd', operator: '<>', constant: 3 },
    { attribute: 'a', operator: '<>', constant: 200 },
  ],
  [{ attribute: 'a', operator: '=', constant: 127 }],
]

t.test('attributes are packed key first', async (t) => {
  // Figure 1 of the paper: four fields of eight bits in a word.
  const { shape, key } = layOut('abcd'.split('').map((name) => ({ name, bits: 8 })))
  t.same(shape, U32)
  t.same(
    key.map(({ shift }) => shift),
    [24, 16, 8, 0],
  )
  t.same(WIDE.shape, U64_U64)
  t.same(
    WIDE.key.map(({ word, shift }) => [word, shift]),
    [
      [1, 0],
      [0, 0],
    ],
  )
  t.same(
    WIDE.values.map(({ word, shift }) => [word, shift]),
    [
      [3, 0],
      [2, 1],
      [2, 0],
    ],
  )
  t.throws(() => layOut([]), { code: 'BAD_REQUEST' })
  t.throws(() => layOut([{ name: 'a', bits: 33 }]), { code: 'BAD_REQUEST' })
  t.throws(() => layOut([{ name: 'a', bits: 3 }], [{ name: 'a', bits: 3 }]), { code: 'BAD_REQUEST' })
  t.throws(() => layOut('abc'.split('').map((name) => ({ name, bits: 17 }))), { code: 'BAD_REQUEST' })
})

t.test('columns of attributes become tuples and come back', (t) =>
  withOneForm(t, async (t, run) => {
    const layout = layOut(
      'abcdef'.split('').map((name) => ({ name, bits: 6 })),
      [{ name: 'x', bits: 32 }],
    )
    const rows = 1001
    const values = new Map(
      'abcdefx'
        .split('')
        .map((name, i) => [name, randomWords(i + 1, rows).map((word) => word >>> (name === 'x' ? 0 : 26))]),
    )
    const found = await run(async ({ device, algebra, recorder, scratch, put }) => {
      const packing = await algebra.packing()
      const columns = new Map([...values].map(([name, words]) => [name, put(words)]))
      const tuples = packing.recordPack(recorder, scratch, columns, rows, layout)
      const reading = device.record()
      const unsorted = packing.recordPack(reading, scratch, columns, rows, layout, true)
      const unpacked = ['a', 'e', 'f', 'x'].map((name) =>
        packing.recordUnpack(reading, scratch, unsorted, layout, name),
      )
      const read = await device.submitAndRead(
        reading,
        unpacked.map((buffer) => ({ buffer, bytes: 4 * rows })),
      )
      for (const [i, name] of ['a', 'e', 'f', 'x'].entries()) {
        same(new Uint32Array(read[i]!.buffer, read[i]!.byteOffset, rows), values.get(name)!)
      }
      t.throws(() => packing.recordPack(recorder, scratch, new Map(), rows, layout), { code: 'BAD_REQUEST' })
      return tuples
    })
    const number = (names: string, i: number) =>
      names.split('').reduce((sum, name) => (sum << 6n) | BigInt(values.get(name)![i]!), 0n)
    const wanted = Array.from({ length: rows }, (_, i) => ({
      key: (number('abcde', i) << 32n) | number('f', i),
      payload: number('x', i),
    }))
    sameTuples(found, wanted.sort(byKey), layout.shape)
  }),
)

t.test('SELECT', (t) =>
  withBothForms(t, async (t, run) => {
    const check = async (
      tuples: readonly Tuple[],
      layout: typeof NARROW,
      predicate: Predicate,
      live = false,
    ) => {
      const found = await run(async ({ algebra, recorder, scratch, upload }) => {
        const part = await algebra.select(layout.shape)
        return part.record(recorder, scratch, upload(tuples, layout.shape, { live }), layout, predicate)
      })
      sameTuples(found, select(tuples, layout, predicate), layout.shape)
    }
    for (const length of LENGTHS) {
      await check(
        makeTuples('random', length + 1, length, NARROW.shape),
        NARROW,
        PREDICATES[1]!,
        length % 2 === 0,
      )
    }
    for (const predicate of PREDICATES) {
      await check(makeTuples('random', 9, 3000, NARROW.shape), NARROW, predicate)
      await check(makeTuples('few', 9, 3000, WIDE.shape), WIDE, predicate, true)
    }
    await t.rejects(check([], NARROW, [{ attribute: 'x', operator: '=', constant: 1 }]), {
      code: 'BAD_REQUEST',
    })
    await t.rejects(check([], NARROW, [{ attribute: 'a', operator: '=', constant: -1 }]), {
      code: 'BAD_REQUEST',
    })
  }),
)

t.test('SELECT over so many tuples that sums of tiles are summed, too, or scanned', (t) =>
  withBothForms(
    t,
    async (_t, _run, device, { algebra }) => {
      const rows = 257 * 8192 + 5
      const scratch = device.scratch()
      const keys = scratch.words(rows)
      device.upload(keys, new Uint8Array(Uint32Array.from({ length: rows }, (_, i) => i).buffer))
      const layout = layOut([
        { name: 'high', bits: 20 },
        { name: 'low', bits: 12 },
      ])
      const part = await algebra.select(U32)
      const recorder = device.record()
      const tuples = { shape: U32, columns: { keys, payloads: undefined }, rows, order: 'tuple' } as const
      const { columns, count } = part.record(recorder, scratch, tuples, layout, [
        { attribute: 'low', operator: '=', constant: 77 },
      ])
      const wanted = Uint32Array.from({ length: Math.ceil((rows - 77) / 4096) }, (_, i) => 4096 * i + 77)
      const [found, counted] = await device.submitAndRead(recorder, [
        { buffer: columns.keys, bytes: wanted.byteLength },
        { buffer: count!.buffer, bytes: 4, offset: 4 * count!.index },
      ])
      same(new Uint32Array(counted!.buffer, counted!.byteOffset, 1), Uint32Array.of(wanted.length))
      same(new Uint32Array(found!.buffer, found!.byteOffset, wanted.length), wanted)
      scratch.release()
    },
    ['subgroups', 'cooperative'],
  ),
)

t.test('SELECT where pieces have as many tuples as are kept at once, and one more', (t) =>
  withBothForms(t, async (_t, run) => {
    const layout = layOut(
      [
        { name: 'high', bits: 26 },
        { name: 'low', bits: 6 },
      ],
      [{ name: 'value', bits: 32 }],
    )
    const tuples = Array.from({ length: 3000 }, (_, i) => ({ key: BigInt(i), payload: BigInt(7 * i) }))
    for (const constant of [16, 17]) {
      const predicate: Predicate = [{ attribute: 'low', operator: '<', constant }]
      const found = await run(async ({ algebra, recorder, scratch, upload }) =>
        (await algebra.select(U32_U32)).record(recorder, scratch, upload(tuples, U32_U32), layout, predicate),
      )
      sameTuples(found, select(tuples, layout, predicate), U32_U32)
    }
  }),
)

t.test('SELECT over wide shapes', (t) =>
  withBothForms(t, async (_t, run) => {
    for (const shape of [U64_U64, { keyWords: 2, payloadWords: 0 } as const]) {
      const layout = layOut(
        Array.from({ length: shape.keyWords }, (_, i) => ({ name: `k${i}`, bits: 32 })),
        Array.from({ length: shape.payloadWords }, (_, i) => ({ name: `p${i}`, bits: 32 })),
      )
      const attribute = shape.payloadWords > 0 ? 'p0' : 'k0'
      const predicate: Predicate = [{ attribute, operator: '>', constant: 2 ** 31 }]
      const tuples = makeTuples('random', 4, 9000, shape)
      const found = await run(async ({ algebra, recorder, scratch, upload }) =>
        (await algebra.select(shape)).record(recorder, scratch, upload(tuples, shape), layout, predicate),
      )
      sameTuples(found, select(tuples, layout, predicate), shape)
    }
  }),
)

/** The projected tuples by the plain model. */
function project(tuples: readonly Tuple[], from: typeof NARROW, projection: Projection): Tuple[] {
  const { to, keepsOrder } = planProjection(from, projection)
  const all = [...projection.key, ...(projection.values ?? [])]
  const projected = tuples.map((tuple) => {
    let [key, payload] = [0n, 0n]
    for (const [i, field] of [...to.key, ...to.values].entries()) {
      const { from: name, compute = { multiplier: 1, addend: 0 } } = all[i]!
      const value =
        BigInt(attributeOf(tuple, from, name)) * BigInt(compute.multiplier) + BigInt(compute.addend)
      const bits = value & ((1n << BigInt(field.bits)) - 1n)
      if (field.word < 2) key |= bits << BigInt(32 * field.word + field.shift)
      else payload |= bits << BigInt(32 * (field.word - 2) + field.shift)
    }
    return { key, payload }
  })
  return keepsOrder ? projected : projected.sort(byKey)
}

const PROJECTIONS: readonly Projection[] = [
  { key: [{ from: 'a' }] },
  { key: [{ from: 'a' }, { from: 'b' }], values: [{ from: 'd' }, { from: 'c' }] },
  {
    key: [{ from: 'b' }, { from: 'a' }],
    values: [{ from: 'c', bits: 32, compute: { multiplier: 3, addend: 7 } }],
  },
  {
    key: [
      { from: 'd', name: 'x' },
      { from: 'b', name: 'y', bits: 5 },
    ],
    values: [{ from: 'a', bits: 32 }],
  },
]

async function checkProjection(
  run: Run,
  from: typeof NARROW,
  projection: Projection,
  length: number,
  live: boolean,
) {
  const plan = planProjection(from, projection)
  const tuples = makeTuples('random', length + 3, length, from.shape)
  const found = await run(async ({ algebra, recorder, scratch, upload }) => {
    const part = await algebra.project(from.shape, plan.to.shape)
    return part.record(recorder, scratch, upload(tuples, from.shape, { live }), plan)
  })
  sameTuples(found, project(tuples, from, projection), plan.to.shape)
}

t.test('PROJECT', (t) =>
  withOneForm(t, async (t, run) => {
    for (const projection of PROJECTIONS) {
      await checkProjection(run, NARROW, projection, 1001, false)
      await checkProjection(run, WIDE, projection, 1002, true)
    }
    for (const length of [0, 1, 2, 3, 4, 5])
      await checkProjection(run, NARROW, PROJECTIONS[2]!, length, length > 2)
    t.ok(planProjection(NARROW, PROJECTIONS[1]!).keepsOrder)
    t.notOk(planProjection(NARROW, PROJECTIONS[2]!).keepsOrder)
    t.throws(() => planProjection(NARROW, { key: [{ from: 'z' }] }), { code: 'BAD_REQUEST' })
  }),
)

t.test('the examples of Table 1', (t) =>
  withBothForms(t, async (t, run) => {
    // (3, True, a), (4, True, a), (2, False, b), the second and third field packed; a is 10 and b 11.
    const layout = layOut(
      [{ name: '0', bits: 32 }],
      [
        { name: '1', bits: 1 },
        { name: '2', bits: 31 },
      ],
    )
    const tuple = (key: number, flag: number, letter: number) => ({
      key: BigInt(key),
      payload: BigInt(flag * 2 ** 31 + letter),
    })
    const x = [tuple(2, 0, 11), tuple(3, 1, 10), tuple(4, 1, 10)]
    const projection = { key: [{ from: '0' }], values: [{ from: '2' }] }
    const plan = planProjection(layout, projection)
    const projected = await run(async ({ algebra, recorder, scratch, upload }) =>
      (await algebra.project(layout.shape, plan.to.shape)).record(
        recorder,
        scratch,
        upload(x, layout.shape),
        plan,
      ),
    )
    t.same(projected, [tuple(2, 0, 11), tuple(3, 0, 10), tuple(4, 0, 10)])
    const selected = await run(async ({ algebra, recorder, scratch, upload }) =>
      (await algebra.select(layout.shape)).record(recorder, scratch, upload(x, layout.shape), layout, [
        { attribute: '0', operator: '=', constant: 2 },
      ]),
    )
    t.same(selected, [tuple(2, 0, 11)])
  }),
)

t.test('PRODUCT', (t) =>
  withOneForm(t, async (t, run) => {
    const shapes = ALL_SHAPES.flatMap((a) => ALL_SHAPES.map((b) => [a, b] as const)).filter(
      ([a, b]) => a.payloadWords + b.keyWords + b.payloadWords <= 2,
    )
    const check = async (
      shape: (typeof shapes)[number],
      counts: readonly number[],
      live: boolean,
      most?: number,
    ) => {
      const [x, y] = shape.map((one, i) => makeTuples('random', i + 5, counts[i]!, one)) as [Tuple[], Tuple[]]
      const into = productShape(...shape)
      const wanted = x.flatMap(({ key, payload }) =>
        y.map((other) => ({
          key,
          payload:
            (payload << BigInt(32 * (into.payloadWords - shape[0].payloadWords))) |
            (other.key << BigInt(32 * shape[1].payloadWords)) |
            other.payload,
        })),
      )
      const windows = most === undefined ? [undefined] : [...productWindows(x.length, y.length, most)]
      const found: Tuple[] = []
      for (const window of windows) {
        found.push(
          ...(await run(async ({ algebra, recorder, scratch, upload }) => {
            const part = await algebra.product(...shape)
            return part.record(recorder, scratch, upload(x, shape[0], { live }), upload(y, shape[1]), window)
          })),
        )
      }
      sameTuples(found, wanted, into)
    }
    for (const shape of shapes) await check(shape, [37, 41], false)
    for (const counts of [
      [0, 5],
      [5, 0],
      [1, 1],
      [1, 1000],
      [1000, 1],
      [3, 3],
    ])
      await check([U32, U32], counts, true)
    await check([U32_U32, U32], [60, 70], false, 999)
    t.throws(() => productShape(U64_U64, U32), { code: 'BAD_REQUEST' })
    await t.rejects(
      run(async ({ algebra, recorder, scratch, upload }) => {
        const part = await algebra.product(U32, U32)
        const tuples = { ...upload([], U32), rows: 2 ** 17 }
        return part.record(recorder, scratch, tuples, tuples)
      }),
      { code: 'OUT_OF_DEVICE_MEMORY' },
    )
  }),
)
