import t, { type Test } from 'tap'
import type { DeviceRelation } from '../../../../gpu/relational/device-relation.js'
import { type ColumnFacts, learnFacts } from '../../../../gpu/relational/order/column-facts.js'
import { DeviceWork } from '../../../../gpu/relational/query/device-work.js'
import { QueryKernels } from '../../../../gpu/relational/query/query-kernels.js'
import { Table, type TableColumn } from '../../../../gpu/relational/query/table.js'
import type { ColumnType } from '../../../../protocol/column-types.js'
import { asBytes } from '../../../../protocol/columns.js'
import { type Cell, type HostColumn, hostRelation, uploadRelation } from '../../../src/query/host-relation.js'
import { openDevice } from '../../open-device.js'

const device = await openDevice(t)
const kernels = await QueryKernels.create(device)

function workFor(test: Test): DeviceWork {
  const scratch = device.scratch()
  test.teardown(() => scratch.release())
  return new DeviceWork(device, kernels, scratch)
}

async function factsOf(
  work: DeviceWork,
  columns: readonly TableColumn[],
  rows: number,
): Promise<ColumnFacts[]> {
  await learnFacts(work, [{ columns, rows }])
  return columns.map((column) => work.facts.of(column))
}

async function upload(columns: readonly HostColumn[]): Promise<DeviceRelation> {
  return { ...(await uploadRelation(device, hostRelation('r', columns))), facts: new Map() }
}

function column(type: ColumnType, cells: readonly Cell[]): HostColumn {
  return { name: type, type, nullable: cells.includes(null), cells }
}

const SIGN = 1n << 31n
const WIDE_SIGN = 1n << 63n

t.test('facts of columns of every type', async (t) => {
  const cases: readonly (readonly [ColumnType, readonly Cell[], object])[] = [
    ['u32', [], { bits: 0, ascending: true, unique: true, nulls: false }],
    ['u32', [7], { bits: 0, common: 7n, ascending: true, unique: true }],
    ['u32', [16, 17, 19], { bits: 2, common: 16n, ascending: true, unique: true }],
    ['u32', [16, 17, 17], { bits: 1, common: 16n, ascending: true, unique: false }],
    ['u32', [17, 16], { ascending: false, unique: false }],
    ['i32', [-2, 0, 5], { bits: 32, common: 0n, ascending: true, unique: true }],
    ['i32', [4, 6], { bits: 2, common: SIGN | 4n, ascending: true }],
    ['u64', [1n, 1n << 40n], { bits: 41, ascending: true, unique: true }],
    ['u64', [(1n << 40n) + 1n, (1n << 41n) + 0n], { ascending: true }],
    ['u64', [1n << 40n, 1n], { ascending: false }],
    ['i64', [-1n, 1n], { bits: 64, ascending: true }],
    ['i64', [5n, 5n, 5n], { bits: 0, common: WIDE_SIGN | 5n, ascending: true, unique: false }],
    ['f32', [-1.5, -0, 0, 2], { ascending: true, unique: false }],
    ['f32', [-1.5, 0, 2, NaN], { ascending: true, unique: true }],
    ['f32', [NaN, NaN], { bits: 0, ascending: true, unique: false }],
    ['f32', [NaN, 1], { ascending: false }],
    ['string', ['a', 'b', 'b'], { bits: 1, ascending: true, unique: false }],
    ['u32', [8, null, 9], { bits: 1, common: 8n, nulls: true, ascending: false, unique: false }],
    ['u32', [null, null], { bits: 0, common: 0n, nulls: true, ascending: false }],
  ]
  for (const [type, cells, wanted] of cases) {
    const relation = await upload([column(type, cells)])
    const work = workFor(t)
    work.facts.add(relation)
    const [facts] = await factsOf(work, Table.ofRelation(relation).columns, relation.rows)
    t.match(facts, wanted, `${type} ${cells.join()}`)
  }
})

t.test('a nullable column without nulls is known to have none', async (t) => {
  const relation = await upload([{ ...column('u32', [3, 2, 1]), nullable: true }])
  const work = workFor(t)
  work.facts.add(relation)
  const [facts] = await factsOf(work, Table.ofRelation(relation).columns, 3)
  t.match(facts, { nulls: false, bits: 2, ascending: false })
})

t.test('many rows', async (t) => {
  const rows = 100_000
  for (const place of [0, 1, 255, 256, 8191, 65_536, rows - 1]) {
    const cells = Array.from({ length: rows }, (_, i) => 2 * i)
    if (place > 0) cells[place]! -= 2
    const relation = await upload([column('u32', cells)])
    const work = workFor(t)
    work.facts.add(relation)
    const [tied] = await factsOf(work, Table.ofRelation(relation).columns, rows)
    t.match(tied, { bits: 18, ascending: true, unique: place === 0 }, `ties at ${place}`)
  }
})

t.test('what is known of a relation bounds rows chosen of it, and is read once', async (t) => {
  const relation = await upload([column('u32', [4, 5, 7])])
  const first = workFor(t)
  first.facts.add(relation)
  const table = Table.ofRelation(relation)
  await factsOf(first, table.columns, 3)
  const work = workFor(t)
  work.facts.add(relation)
  const buffer = work.upload(asBytes(Uint32Array.of(2, 0)))
  const picked = (numbers: object) => table.pick(work, { buffer, outer: false, ...numbers }, 2).columns
  work.readColumns = async () => {
    throw new Error('nothing is to be read')
  }
  const [any] = await factsOf(work, picked({}), 2)
  t.match(any, { bits: 2, common: 4n, nulls: false, ascending: false, unique: false })
  const [ascending] = await factsOf(work, picked({ ascending: true }), 2)
  t.match(ascending, { nulls: false, ascending: true, unique: true })
  const [outer] = await factsOf(work, picked({ outer: true, ascending: true }), 2)
  t.match(outer, { nulls: true, ascending: false, unique: false })
})

t.test("a column that is no relation's is measured where that is worth a round trip", async (t) => {
  const rows = 2 ** 18
  const cells = Array.from({ length: rows }, (_, i) => 1024 + (i % 4))
  const relation = await upload([column('u32', cells)])
  const work = workFor(t)
  const table = Table.ofRelation(relation)
  t.match(await factsOf(work, table.columns, 8), [{ bits: 32, common: 0n }])
  t.match(await factsOf(work, table.columns, rows), [{ bits: 2, common: 1024n, ascending: false }])
  const buffer = work.upload(asBytes(Uint32Array.from(cells, (_, i) => (i % 2) * 4 + 1)))
  const chosen = table.pick(work, { buffer, outer: true }, rows).columns
  t.match(await factsOf(work, chosen, rows), [{ bits: 0, common: 1025n, nulls: false, ascending: true }])
})
