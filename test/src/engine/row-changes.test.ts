import { setImmediate } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { Device } from '../../../gpu/device/device.js'
import { StoredRelation } from '../../../gpu/relational/stored/stored-relation.js'
import { WriteLog } from '../../../persistence/log/write-log.js'
import { WarpdexError } from '../../../protocol/errors.js'
import type { Expression, QueryNode } from '../../../protocol/query/tree.js'
import { unpackColumn } from '../../../protocol/relation-values.js'
import type { Engine } from '../../../src/engine/index.js'
import { prefixTrees } from '../../../src/engine/structures.js'
import { SOFTWARE_COSTS } from '../../../src/query/selection/default-costs.js'
import { Random, seedOfRun } from '../../random.js'
import { reads } from '../../reads.js'
import { separateDevices } from '../../separate-devices.js'
import { appendRelation, appendRows } from '../query/append-relation.js'
import { RandomTrees } from '../query/fuzz/random-tree.js'
import { type Cell, type HostRelation, hostRelation, rowsOf } from '../query/host-relation.js'
import { QueryBed } from '../query/query-bed.js'
import { randomRelation } from '../query/relations.js'
import { openEngine, u32, values } from './open-engine.js'

separateDevices()

const READER = { cancelled: false }
/** With these an index pays for as few rows as a test has. */
const COSTS = {
  ...SOFTWARE_COSTS,
  gather: { word: 0.01, wide: 0.01 },
  write: 0.001,
  predicate: { ...SOFTWARE_COSTS.predicate, expression: 0.001 },
  launch: 0,
  roundTrip: 0,
}
const EMPTY = randomRelation(new Random(1), 'r', 0)
const NAMES = EMPTY.columns.map(({ name }) => name)

/** Rows in a plain array, under the numbers that they must have. */
class Model {
  readonly rows = new Map<number, Cell[]>()
  next = 0
  ids = 0

  add(rows: readonly Cell[][]): void {
    for (const row of rows) this.rows.set(this.next++, row)
  }

  change(where: Where, set?: Update): number {
    const found = [...this.rows].filter(([, row]) => where.holds(row))
    for (const [number] of found) this.rows.delete(number)
    if (set !== undefined) this.add(found.map(([, row]) => set.apply(row)))
    return found.length
  }

  compact(): void {
    const rows = [...this.rows.values()]
    this.rows.clear()
    this.next = 0
    this.add(rows)
  }

  relation(): HostRelation {
    const rows = [...this.rows.values()]
    return hostRelation(
      'r',
      EMPTY.columns.map((column, i) => ({ ...column, cells: rows.map((row) => row[i]!) })),
    )
  }
}

interface Where {
  readonly tree: Expression
  holds(row: readonly Cell[]): boolean
}

interface Update {
  readonly tree: Readonly<Record<string, Expression>>
  apply(row: readonly Cell[]): Cell[]
}

const at = (name: string) => NAMES.indexOf(name)
const col = (column: string): Expression => ({ column })

function randomWhere(random: Random, ids: number): Where {
  const one = random.below(20)
  const id = random.below(ids + 1)
  return random.pick<Where>([
    { tree: { op: '=', args: [col('u'), { value: one }] }, holds: (row) => row[at('u')] === one },
    {
      tree: { op: '<', args: [col('ni'), { value: one - 15 }] },
      holds: (row) => row[at('ni')] !== null && Number(row[at('ni')]) < one - 15,
    },
    {
      tree: {
        op: 'and',
        args: [
          { op: '>=', args: [col('id'), { value: id }] },
          { op: '<', args: [col('id'), { value: id + 70 }] },
        ],
      },
      holds: (row) => Number(row[at('id')]) >= id && Number(row[at('id')]) < id + 70,
    },
    { tree: { op: '=', args: [col('id'), { value: id }] }, holds: (row) => row[at('id')] === id },
    { tree: { op: '=', args: [col('s'), { value: 'ab' }] }, holds: (row) => row[at('s')] === 'ab' },
    {
      tree: { op: 'startsWith', args: [col('ns')], text: 'PROMO' },
      holds: (row) => String(row[at('ns')]).startsWith('PROMO'),
    },
    { tree: { op: 'isNull', args: [col('nil')] }, holds: (row) => row[at('nil')] === null },
    {
      tree: { op: 'in', args: [col('u'), { value: one }, { value: one + 2 }, { value: 3 }] },
      holds: (row) => [one, one + 2, 3].includes(Number(row[at('u')])),
    },
    { tree: { op: '=', args: [col('u'), { value: 99 }] }, holds: () => false },
    ...(random.chance(0.1) ? [{ tree: { value: true }, holds: () => true }] : []),
  ])
}

function randomUpdate(random: Random): Update {
  const one = random.below(20)
  const word = random.pick(['new', 'ab', 'zz'])
  const withCells = (row: readonly Cell[], cells: Readonly<Record<string, Cell>>) =>
    row.map((cell, i) => (Object.hasOwn(cells, NAMES[i]!) ? cells[NAMES[i]!]! : cell))
  return random.pick<Update>([
    { tree: { u: { value: one } }, apply: (row) => withCells(row, { u: one }) },
    {
      tree: { s: { value: word }, nu: { value: null } },
      apply: (row) => withCells(row, { s: word, nu: null }),
    },
    { tree: { ns: col('s') }, apply: (row) => withCells(row, { ns: row[at('s')]! }) },
    {
      tree: {
        i: { op: 'cast', args: [{ op: '+', args: [col('i'), { value: 1 }] }], type: 'i32' },
        nil: { op: '-', args: [col('i'), { value: 2 }] },
      },
      apply: (row) => withCells(row, { i: Number(row[at('i')]) + 1, nil: BigInt(Number(row[at('i')]) - 2) }),
    },
  ])
}

/** What is read is what the model has: by numbers, by a query, by indexes. */
async function compareRows(t: Test, engine: Engine, model: Model): Promise<void> {
  const wanted = [...model.rows.values()]
  const numbers = [...model.rows.keys()]
  const read: Cell[][] = []
  let step = await engine.queries.start({ op: 'scan', relation: 'r' }, READER)
  for (;;) {
    read.push(...rowsOf([step.batch]))
    const { cursor } = step
    if (!step.more || cursor === undefined) break
    step = { ...(await engine.queries.next(cursor, READER)), cursor }
  }
  t.same(read, wanted, 'a scan')
  const relation = engine.relation('r')
  const pages: Cell[][] = []
  for (let from = 0; ; ) {
    const { batch, columns, total, next } = await relation.read({ columns: [], from, limit: 50 })
    const cells = columns.map(({ name, type }) => unpackColumn(batch.columns.get(name)!, type))
    for (let row = 0; row < batch.rows; row++) pages.push(cells.map((column) => column[row]!))
    from = next
    if (from >= total || batch.rows === 0) break
  }
  t.same(pages, wanted, 'a read')
  t.equal(relation.stats().rows, wanted.length)
  const keys = Array.from({ length: 23 }, (_, u) => u)
  const { payloads } = await reads(engine.index('by u')).getAll(u32(...keys))
  const rows = numbers.filter((_, i) => Number(wanted[i]![at('u')]) < 23)
  const byKey = rows.sort((a, b) => Number(model.rows.get(a)![at('u')]) - Number(model.rows.get(b)![at('u')]))
  t.same(values(payloads), byKey, 'rows of all keys')
}

async function runProgram(t: Test, random: Random, steps: number): Promise<void> {
  const arePlanned = random.chance(0.5)
  t.comment(arePlanned ? 'selections are planned' : 'selections are not planned')
  let device: Device
  const directory = t.testdir()
  const open = () =>
    openEngine(t, {
      directory,
      structures: prefixTrees,
      openDevice: async () => {
        device = await Device.open('software')
        return device
      },
    })
  let engine = await open()
  const model = new Model()
  await appendRelation(engine, EMPTY)
  await engine.createRelationIndex({ name: 'by u', relation: 'r', columns: ['u'] })
  const append = async (rows: number) => {
    const { columns } = randomRelation(random, 'r', rows)
    const first = model.ids
    model.ids += rows
    const own = columns.map((column) =>
      column.name === 'id' ? { ...column, cells: column.cells.map((cell) => Number(cell) + first) } : column,
    )
    await appendRows(engine, hostRelation('r', own))
    model.add(Array.from({ length: rows }, (_, row) => own.map(({ cells }) => cells[row]!)))
  }
  await append(150)
  let writes = 0
  for (let step = 0; step < steps; step++) {
    // As with large relations: selections are planned, and go through indexes.
    if (arePlanned) device!.selectionCosts = COSTS
    const kind = random.below(13)
    if (kind < 3) await append(1 + random.below(90))
    else if (kind < 6) {
      const where = randomWhere(random, model.ids)
      const { deleted } = await engine.changeRows('r', { where: where.tree }, READER)
      t.equal(deleted, model.change(where), JSON.stringify(where.tree))
    } else if (kind < 9) {
      const where = randomWhere(random, model.ids)
      const set = randomUpdate(random)
      const id = { client: 'c', number: ++writes }
      const change = { where: where.tree, set: set.tree }
      const changed = await engine.changeRows('r', change, READER, id)
      const first = model.next
      const rows = model.change(where, set)
      const appended = rows === 0 ? undefined : { first, rows }
      t.same(changed, { deleted: rows, appended }, JSON.stringify(change))
      t.same(await engine.changeRows('r', change, READER, id), changed, 'a repeat is answered as the first')
    } else if (kind === 12) {
      await engine.relation('r').compact()
      model.compact()
    } else if (kind === 9) await engine.relation('r').snapshot()
    else if (kind === 10) {
      await engine.close()
      engine = await open()
    } else {
      device!.gpu.destroy()
      await device!.lost
    }
    if (random.chance(0.3)) await compareRows(t, engine, model)
  }
  await compareRows(t, engine, model)
  await compareQueries(t, engine, model, random)
}

/** Queries of any kind give what DuckDB gives of the rows that are left. */
async function compareQueries(t: Test, engine: Engine, model: Model, random: Random): Promise<void> {
  const other = randomRelation(random, 'q', 30)
  await appendRelation(engine, other)
  const relations = [model.relation(), other]
  const bed = await QueryBed.over(engine.queries, relations)
  const trees = new RandomTrees(random, relations)
  for (let i = 0; i < 15; i++) {
    const { tree, sql, ordered } = trees.query(1 + random.below(3))
    const { difference, rows } = await bed.compare(tree, sql, ordered)
    t.equal(difference, undefined, `${rows} rows${difference === undefined ? '' : ` of ${sql}`}`)
  }
  bed.close()
}

t.test('a kept result says that what it was made of has changed', async (t) => {
  const engine = await openEngine(t)
  await appendRelation(engine, randomRelation(new Random(2), 'r', 40))
  await appendRelation(engine, randomRelation(new Random(3), 'q', 40))
  const keep = (relation: string, name: string) =>
    engine.queries.keep({ op: 'scan', relation }, { name, seconds: 60 }, READER)
  await keep('r', 'kept')
  await keep('kept', 'of kept')
  await keep('q', 'other')
  const older = () => engine.relations().flatMap(({ name, kept }) => (kept?.isOlder === true ? [name] : []))
  t.same(older(), [])
  await engine.changeRows('r', { where: { op: '=', args: [col('id'), { value: 99 }] } }, READER)
  t.same(older(), [], 'nothing was deleted')
  await engine.changeRows('r', { where: { op: '=', args: [col('id'), { value: 9 }] } }, READER)
  t.same(older(), ['kept', 'of kept'])
  await keep('of kept', 'of kept')
  t.same(older(), ['kept', 'of kept'], 'what was made of an older one is older')
  await keep('r', 'kept')
  await keep('kept', 'of kept')
  t.same(older(), [])
  await keep('of kept', 'of kept')
  t.same(older(), [])
  await engine.dropRelation('q')
  t.same(older(), ['other'])
})

t.test(
  'a change that cannot be logged is none, and one that cannot be applied is made again from the log',
  async (t) => {
    const engine = await openEngine(t, { structures: prefixTrees })
    await appendRelation(engine, randomRelation(new Random(5), 'r', 100))
    await engine.createRelationIndex({ name: 'by id', relation: 'r', columns: ['id'] })
    const isId = (value: number) => ({ where: { op: '=', args: [col('id'), { value }] } })
    const rowOf = async (id: number) => values((await reads(engine.index('by id')).getAll(u32(id))).payloads)
    const { append } = WriteLog.prototype
    let fails = true
    t.intercept(WriteLog.prototype, 'append', {
      value(this: WriteLog, ...given: Parameters<WriteLog['append']>) {
        if (fails) return Promise.reject(new WarpdexError('DISK_FULL', 'on purpose'))
        return append.apply(this, given)
      },
    })
    const update = { ...isId(7), set: { id: { value: 1000 } } }
    await t.rejects(engine.changeRows('r', isId(7), READER), { code: 'DISK_FULL' })
    await t.rejects(engine.changeRows('r', update, READER), { code: 'DISK_FULL' })
    await t.rejects(engine.relation('r').compact(), { code: 'DISK_FULL' })
    t.same(await rowOf(7), [7])
    t.match(engine.relation('r').stats(), { rows: 100, numbering: 0 })
    fails = false
    const { prepare } = StoredRelation.prototype
    let isFirst = true
    t.intercept(StoredRelation.prototype, 'prepare', {
      async value(this: StoredRelation, ...given: Parameters<StoredRelation['prepare']>) {
        const prepared = await prepare.apply(this, given)
        if (!isFirst) return prepared
        isFirst = false
        const apply = () => {
          throw new Error('on purpose')
        }
        return { ...prepared, apply }
      },
    })
    t.same(await engine.changeRows('r', update, READER), { deleted: 1, appended: { first: 100, rows: 1 } })
    t.same([await rowOf(7), await rowOf(1000)], [[], [100]])
    t.match(engine.relation('r').stats(), { rows: 100, deletedRows: 1 })
  },
)

t.test('an index finds the rows that are left', async (t) => {
  const device = await Device.open('software')
  const engine = await openEngine(t, { structures: prefixTrees, openDevice: async () => device })
  device.selectionCosts = COSTS
  await appendRelation(engine, randomRelation(new Random(6), 'r', 3000))
  await engine.createRelationIndex({ name: 'by id', relation: 'r', columns: ['id'] })
  const isOneOf = (...ids: number[]): Expression => ({
    op: 'in',
    args: [col('id'), ...ids.map((value) => ({ value }))],
  })
  const planOf = async (condition: Expression) => {
    const input: QueryNode = { op: 'scan', relation: 'r' }
    const { selection, rows } = await engine.queries.explain({ op: 'where', input, condition }, READER)
    return { plan: selection?.plan, rows }
  }
  t.same(await planOf(isOneOf(5, 7)), { plan: 'index by id', rows: 2 })
  const where = { op: '<', args: [col('id'), { value: 6 }] }
  t.match(await engine.changeRows('r', { where }, READER), { deleted: 6 })
  t.same(await planOf(isOneOf(5, 7)), { plan: 'index by id', rows: 1 })
  const change = { where: isOneOf(5, 7, 2999), set: { u: { value: 1 } } }
  t.same(await engine.changeRows('r', change, READER), { deleted: 2, appended: { first: 3000, rows: 2 } })
  t.same(values((await reads(engine.index('by id')).getAll(u32(7, 2999))).payloads), [3000, 3001])
})

t.test('a compaction beside reads and writes', async (t) => {
  const engine = await openEngine(t, { structures: prefixTrees })
  await appendRelation(engine, randomRelation(new Random(4), 'r', 500))
  await engine.createRelationIndex({ name: 'by id', relation: 'r', columns: ['id'] })
  const relation = engine.relation('r')
  const remove = (from: number, to: number) => {
    const where: Expression = {
      op: 'and',
      args: [
        { op: '>=', args: [col('id'), { value: from }] },
        { op: '<', args: [col('id'), { value: to }] },
      ],
    }
    return engine.changeRows('r', { where }, READER)
  }
  await remove(0, 300)
  const page = await relation.read({ columns: ['id'], from: 0, limit: 350 })
  t.match(page, { batch: { rows: 50 }, next: 350, total: 500, numbering: 0 })
  const known = engine.index('by id').handle
  const done = relation.compact()
  const meanwhile = [remove(300, 310), relation.read({ columns: ['id'], from: 0, limit: 400 })] as const
  await done
  t.match(await meanwhile[0], { deleted: 10 })
  t.match(await meanwhile[1], { batch: { rows: 90 } }, 'a read sees the rows before it or after it')
  t.match(relation.stats(), { rows: 190, numbering: 1 })
  await t.rejects(relation.read({ columns: ['id'], from: page.next, limit: 10, numbering: 0 }), {
    code: 'VERSION_GONE',
    message: /other numbers since a compaction/,
  })
  t.throws(() => engine.openedIndex(known), { code: 'INDEX_CHANGED' }, 'who goes through an index is told')
  const { payloads } = await reads(engine.index('by id')).getAll(u32(305, 310, 499))
  t.same(values(payloads), [0, 189])
  const { batch } = await relation.read({ columns: ['id'], from: 189, limit: 1, numbering: 1 })
  t.same(values(batch.columns.get('id')!.values), [499])
})

t.test('a relation of which most was deleted is compacted by itself', async (t) => {
  const engine = await openEngine(t)
  const rows = 2 ** 17
  const ids = { name: 'id', type: 'u32', nullable: false } as const
  const numbered = hostRelation('n', [{ ...ids, cells: Array.from({ length: rows }, (_, i) => i) }])
  await appendRelation(engine, numbered)
  const below = (value: number) => ({ where: { op: '<', args: [col('id'), { value }] } })
  await engine.changeRows('n', below(rows / 2 - 1), READER)
  t.match(engine.relation('n').stats(), { numbering: 0, deletedRows: rows / 2 - 1 })
  await engine.changeRows('n', below(rows / 2), READER)
  while (engine.relation('n').stats().numbering === 0) await setImmediate()
  t.match(engine.relation('n').stats(), { numbering: 1, rows: rows / 2 })
})

const seed = seedOfRun()
t.comment(`TEST_SEED=${seed}`)
t.test('rows that were appended, deleted and updated are those of a plain array', async (t) => {
  await runProgram(t, new Random(seed), 40)
})
