import { setTimeout } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { WarpdexError } from '../../../protocol/errors.js'
import { LIMITS } from '../../../protocol/limits.js'
import type { Expression, QueryNode } from '../../../protocol/query/tree.js'
import { Random, seedOfRun } from '../../random.js'
import { QueryBed } from './query-bed.js'
import { randomRelation } from './relations.js'

const col = (column: string): Expression => ({ column })
const scan = (relation: string, as: string): QueryNode => ({ op: 'scan', relation, as })
const pick = (input: QueryNode, ...names: string[]): QueryNode => ({
  op: 'project',
  input,
  columns: names.map((name) => ({ name, value: col(name) })),
})
const product: QueryNode = { op: 'product', left: scan('r', 'a'), right: scan('r', 'b') }
const READER = { cancelled: false }

t.test('queries within their memory, and past it', async (t) => {
  const { queryPassBytes, queryQueuedBytes, queryBatchBytes } = LIMITS
  t.teardown(() => Object.assign(LIMITS, { queryPassBytes, queryQueuedBytes, queryBatchBytes }))
  Object.assign(LIMITS, { queryPassBytes: 8 * 2500, queryQueuedBytes: 100_000, queryBatchBytes: 20_000 })
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  const bed = await QueryBed.open(t, [randomRelation(new Random(seed), 'r', 140)], 2 ** 20)

  await t.test('products and joins in passes', async (t) => {
    const few: Expression = { op: '<', args: [col('a.u'), col('b.i')] }
    const query = pick({ op: 'where', input: product, condition: few }, 'a.id', 'b.ns')
    await bed.same(t, 'product', query, 'select a.id, b.ns from r a, r b where a.u < b.i')
    const join: QueryNode = {
      op: 'join',
      left: scan('r', 'a'),
      right: scan('r', 'b'),
      kind: 'full',
      on: [['a.nu', 'b.u']],
    }
    const sql = 'select a.id, b.id, b.ns from r a full join r b on a.nu = b.u'
    await bed.same(t, 'join', pick(join, 'a.id', 'b.id', 'b.ns'), sql)
  })

  await t.test('what takes all of a product is refused', async (t) => {
    const by = [{ column: 'a.id' }]
    const larger: QueryNode = { op: 'product', left: product, right: scan('r', 'c') }
    await t.rejects(bed.batches({ op: 'orderBy', input: larger, by }), {
      code: 'TOO_LARGE',
      message: /device memory/,
    })
    const counted: QueryNode = {
      op: 'groupBy',
      input: { op: 'limit', input: product, rows: 10_000 },
      keys: [],
      aggregates: [{ name: 'n', function: 'count' }],
    }
    t.equal((await bed.rows(counted))[0]![0], 10_000, 'the rest is not made')
  })

  await t.test('a result that is not read holds the query up, and may be ended', async (t) => {
    const { cursor, more } = await bed.queries.start(product, READER)
    t.ok(more)
    await t.rejects(bed.queries.next(cursor!, { ...READER, owner: 'another' }), { code: 'BAD_REQUEST' })
    t.ok((await bed.queries.next(cursor!, READER)).more)
    bed.queries.end(cursor!, READER)
    await t.rejects(bed.queries.next(cursor!, READER), { code: 'BAD_REQUEST', message: /no result/ })
    const narrowed = await bed.queries.start(product, READER)
    const refused = (relation: string) => {
      throw new WarpdexError('UNAUTHORISED', `no ${relation}`)
    }
    await t.rejects(bed.queries.next(narrowed.cursor!, { ...READER, authorise: refused }), {
      code: 'UNAUTHORISED',
      message: 'no r',
    })
    await t.rejects(bed.queries.next(narrowed.cursor!, READER), { code: 'BAD_REQUEST', message: /no result/ })
    const closed = await bed.queries.start(product, READER)
    bed.queries.close()
    const readOn = async () => {
      while ((await bed.queries.next(closed.cursor!, READER)).more);
    }
    await t.rejects(readOn(), { code: 'SHUTTING_DOWN', message: /ask again when it is back/ })
    const owned = await bed.queries.start(product, { ...READER, owner: 7 })
    bed.queries.endAll(7)
    await t.rejects(bed.queries.next(owned.cursor!, { ...READER, owner: 7 }), { code: 'BAD_REQUEST' })
    // One that leaves while the first rows are made is not waited for.
    const gone = { cancelled: false }
    const starting = bed.queries.start(product, gone)
    const { queryCursors } = LIMITS
    Object.assign(LIMITS, { queryCursors: 1 })
    gone.cancelled = true
    await t.rejects(starting, { code: 'CANCELLED' })
    const next = await bed.queries.start(product, READER)
    bed.queries.end(next.cursor!, READER)
    Object.assign(LIMITS, { queryCursors })
    let asked = 0
    const reader = {
      get cancelled() {
        return ++asked > 3
      },
    }
    await t.rejects(
      bed.queries.start(
        {
          op: 'groupBy',
          input: pick(product, 'a.id'),
          keys: [],
          aggregates: [{ name: 'n', function: 'count' }],
        },
        reader,
      ),
      { code: 'CANCELLED' },
    )
  })
})

t.test('queries within the memory of all', async (t) => {
  const { queryQueuedBytes, queryBatchBytes, queryFreeBytes, queryWaitSeconds } = LIMITS
  const limits = { queryQueuedBytes, queryBatchBytes, queryFreeBytes, queryWaitSeconds }
  t.teardown(() => Object.assign(LIMITS, limits))
  Object.assign(LIMITS, { queryQueuedBytes: 20_000, queryBatchBytes: 10_000, queryFreeBytes: 2 ** 16 })
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  // The order of all pairs takes between 1 MiB and this.
  const memory = { each: 1.5 * 2 ** 20, all: 1.5 * 2 ** 20 }
  const bed = await QueryBed.open(t, [randomRelation(new Random(seed), 'r', 140)], memory)
  const { queries } = bed
  const by = [{ column: 'a.id', descending: true }, { column: 'b.id' }]
  const large: QueryNode = { op: 'orderBy', input: pick(product, 'a.id', 'b.id'), by }
  const same = (t: Test, name: string) =>
    bed.same(t, name, large, 'select a.id, b.id from r a, r b order by a.id desc, b.id', true)
  /** A large query whose rows lie there, since nobody reads on. */
  const unread = async () => {
    const { cursor } = await queries.start(large, READER)
    return cursor!
  }
  const isWaiting = async () => {
    while (queries.figures.waiting === 0) await setTimeout(1)
  }

  await t.test('one that needs more than is left waits until others have ended', async (t) => {
    const cursor = await unread()
    const waits = same(t, 'the second')
    await isWaiting()
    await bed.same(
      t,
      'a small one',
      pick({ op: 'limit', input: scan('r', 'a'), rows: 3 }, 'a.id'),
      'select id from r limit 3',
    )
    t.equal(queries.figures.waiting, 1)
    queries.end(cursor, READER)
    await waits
    t.match(queries.figures, { running: 0, waiting: 0, bytes: 0 })
  })

  await t.test(
    'it is refused when that takes too long, and leaves the line when nobody wants it',
    async (t) => {
      const cursor = await unread()
      const reader = { cancelled: false }
      const left = queries.start(large, reader)
      await isWaiting()
      reader.cancelled = true
      await t.rejects(left, { code: 'CANCELLED' })
      Object.assign(LIMITS, { queryWaitSeconds: 0.01 })
      await t.rejects(queries.start(large, READER), {
        code: 'OVERLOADED',
        message: /1572864 bytes .* ask again .*--query-memory-in-all/,
      })
      Object.assign(LIMITS, { queryWaitSeconds })
      queries.end(cursor, READER)
    },
  )

  await t.test('many at a time all end, kept and explained ones too', async (t) => {
    const kept = bed.keep(pick(large, 'a.id'), 'kept')
    const explained = bed.explain(large)
    await Promise.all(Array.from({ length: 6 }, (_, i) => same(t, `number ${i}`)))
    await kept
    t.equal((await explained).rows, 140 * 140)
    t.match(queries.figures, { running: 0, waiting: 0, bytes: 0 })
  })
})
