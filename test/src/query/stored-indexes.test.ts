import t from 'tap'
import type { JoinKind, QueryNode } from '../../../protocol/query/tree.js'
import { prefixTrees } from '../../../src/engine/structures.js'
import { openSharedDevice } from '../../gpu/open-device.js'
import { Random, seedOfRun } from '../../random.js'
import { openEngine } from '../engine/open-engine.js'
import { appendRelation, appendRows } from './append-relation.js'
import { type HostRelation, hostRelation } from './host-relation.js'
import { QueryBed } from './query-bed.js'
import { randomRelation } from './relations.js'

const seed = seedOfRun()
t.comment(`TEST_SEED=${seed}`)
const random = new Random(seed)
const device = await openSharedDevice(t)
const { regionBytes } = device
const OPTIONS = { structures: prefixTrees, openDevice: async () => device }

const scan = (relation: string, as: string): QueryNode => ({ op: 'scan', relation, as })

/** Kernels are those of a structure and a width of keys, so that few are made. */
const [NARROW, WIDE] = random.chance(0.5) ? (['css', 'prefix'] as const) : (['prefix', 'css'] as const)
const structureOf = (column: string) => (column.endsWith('l') || column.endsWith('s') ? WIDE : NARROW)

/** Both, one after the other. */
function joined(one: HostRelation, other: HostRelation): HostRelation {
  const columns = one.columns.map((column, i) => ({
    ...column,
    cells: [...column.cells, ...other.columns[i]!.cells],
  }))
  return hostRelation(one.name, columns)
}

/** With these as the first values of its floats. */
function withFloats({ name, columns }: HostRelation, ...floats: readonly number[]): HostRelation {
  const changed = columns.map((column) =>
    column.name === 'f' ? { ...column, cells: column.cells.map((cell, i) => floats[i] ?? cell) } : column,
  )
  return hostRelation(name, changed)
}

function joinOn(column: string, kind: JoinKind, side: 'left' | 'right'): QueryNode {
  const [left, right] = side === 'right' ? ['q', 'r'] : ['r', 'q']
  const on = [[`${left}.${column}`, `${right}.${column}`]] as const
  const join: QueryNode = {
    op: 'join',
    left: scan(left!, left!),
    right: scan(right!, right!),
    kind,
    on,
    algorithm: 'inlj',
  }
  const names = kind === 'semi' || kind === 'anti' ? [`${left}.id`] : ['q.id', 'r.id', `q.${column}`]
  return {
    op: 'project',
    input: join,
    columns: names.map((name, i) => ({ name: `c${i}`, value: { column: name } })),
  }
}

function sqlOf(column: string, kind: JoinKind, side: 'left' | 'right'): string {
  const [left, right] = side === 'right' ? ['q', 'r'] : ['r', 'q']
  const from = `from ${left} ${kind} join ${right} on ${left}.${column} = ${right}.${column}`
  return kind === 'semi' || kind === 'anti'
    ? `select ${left}.id ${from}`
    : `select q.id, r.id, q.${column} ${from}`
}

t.test('joins with the indexes of their relations', async (t) => {
  const engine = await openEngine(t, OPTIONS)
  const first = randomRelation(random, 'r', 2500)
  const more = withFloats(randomRelation(random, 'r', 300), Number.NaN)
  const q = withFloats(randomRelation(random, 'q', 20), Number.NaN, -0)
  await appendRelation(engine, first)
  await appendRelation(engine, q)
  const plain = await QueryBed.over(engine.queries, [first, q])
  t.teardown(() => plain.oracle.close())
  const columns = ['id', 'u', 'i', 'f', 'ul', 'il', 's', 'nu', 'nil', 'ns', 'nf']
  const cases = columns.map((column) => {
    const side = random.pick(['left', 'right'] as const)
    const kinds = [
      'inner',
      'left',
      'right',
      'full',
      ...(side === 'right' ? (['semi', 'anti'] as const) : []),
    ] as const
    return { column, side, kind: random.pick(kinds) }
  })
  const check = async (bed: QueryBed, what: string, share: number, unused: readonly string[]) => {
    for (const { column, side, kind } of cases.filter(() => random.chance(share))) {
      const query = joinOn(column, kind, side)
      await bed.same(t, `${what}: ${kind} join by ${column} on the ${side}`, query, sqlOf(column, kind, side))
      const { method = '' } = (await bed.explain(query)).inputs[0]!
      t.equal(/^inlj on the index r by /.test(method), !unused.includes(column), method)
    }
  }
  await check(plain, 'without indexes', 0.2, columns)
  for (const column of columns) {
    const structure = structureOf(column)
    const index = { name: `r by ${column}`, relation: 'r', columns: [column], structure }
    device.regionBytes = column === 'id' ? 16 * 1024 : regionBytes
    await engine.createRelationIndex(index)
  }
  t.ok(engine.index('r by id').stats().shards > 1, 'one has several shards')
  // Whether a row has a null or a NaN, which equals itself, is not known where an index lacks rows.
  await check(plain, 'with them', 1, ['nf'])
  await appendRows(engine, more)
  const appended = await QueryBed.over(engine.queries, [joined(first, more), q])
  t.teardown(() => appended.oracle.close())
  await check(appended, 'after an append', 0.5, ['nf', 'f'])
})
