import t from 'tap'
import type { QueryExplanation } from '../../../protocol/query/explanation.js'
import type { Expression, QueryNode } from '../../../protocol/query/tree.js'
import { hostRelation } from './host-relation.js'
import { QueryBed } from './query-bed.js'

const ROWS = 4096

const col = (column: string): Expression => ({ column })
const scan: QueryNode = { op: 'scan', relation: 'r' }
const small: Expression = { op: '<', args: [col('word'), { value: 1000 }] }
const sum: QueryNode = {
  op: 'groupBy',
  input: scan,
  keys: [],
  aggregates: [{ name: 's', function: 'sum', value: { op: '*', args: [col('word'), col('wide')] } }],
}

t.test('explain says what operators read and write', async (t) => {
  const column = <T>(make: (row: number) => T) => Array.from({ length: ROWS }, (_, row) => make(row))
  const relation = hostRelation('r', [
    { name: 'word', type: 'u32', nullable: false, cells: column((row) => (row * 2731) % ROWS) },
    { name: 'wide', type: 'u64', nullable: false, cells: column((row) => BigInt(row)) },
    { name: 'nul', type: 'u32', nullable: true, cells: column((row) => (row % 3 === 0 ? null : row)) },
  ])
  const bed = await QueryBed.open(t, [relation], undefined, true)
  const perRow = async (query: QueryNode) => {
    // Once before, so that what is found out about columns is known.
    await bed.explain(query)
    const { bytesRead, bytesWritten } = await bed.explain(query)
    return { read: bytesRead / ROWS, written: bytesWritten / ROWS }
  }

  const summed = await perRow(sum)
  t.equal(summed.read, 12, 'a sum reads its two columns once')
  t.ok(summed.written < 1, 'and writes a state')
  t.equal((await perRow({ ...sum, input: { op: 'where', input: scan, condition: small } })).read, 12)

  const product: Expression = { op: '+', args: [col('word'), col('nul')] }
  const project: QueryNode = { op: 'project', input: scan, columns: [{ name: 'p', value: product }] }
  t.strictSame(await perRow(project), { read: 4 + 4 + 1 / 8, written: 8 + 1 / 8 }, 'a bit for nulls')

  const selected = await perRow({ op: 'where', input: scan, condition: small })
  t.ok(selected.read >= 4 && selected.written >= (1000 / ROWS) * 4, 'a selection writes what has passed')
  t.ok(selected.written < 8, 'and no room that it had beside')

  const sorted = await perRow({ op: 'orderBy', input: scan, by: [{ column: 'word' }] })
  t.ok(sorted.read >= 2 * 12 && sorted.written >= 2 * 8, 'a sort goes through its keys for each byte')

  const sides = { left: { ...scan, as: 'a' }, right: { ...scan, as: 'b' } } as const
  for (const algorithm of ['inlj', 'smj', 'hj'] as const) {
    const joined = await perRow({ op: 'join', ...sides, on: [['a.word', 'b.word']], algorithm })
    t.ok(joined.read >= 8, `${algorithm} reads the keys of both sides`)
    t.ok(joined.written >= 8, `${algorithm} writes pairs`)
  }

  const scanned: QueryExplanation = await bed.explain(scan)
  t.match(scanned, { bytesRead: 0, bytesWritten: 0 }, 'a scan hands its columns on as they are')
})
