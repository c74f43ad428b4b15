import t from 'tap'
import { checkQuery } from '../../../../protocol/query/check-query.js'
import type { Expression, QueryNode } from '../../../../protocol/query/tree.js'
import { Random, seedOfRun } from '../../../random.js'
import { type Cell, type HostRelation, schemaOf } from '../host-relation.js'
import { QueryBed } from '../query-bed.js'
import { FAULT, isGiven, outcomeOf } from './fault-model.js'
import { FaultyConditions, faultyRelation } from './faulty-conditions.js'

const ROWS = 40
const CONDITIONS = 18
const INPUT: QueryNode = { op: 'scan', relation: 'r' }

/** Few of these rows, so that conditions with faults come to be answered. */
const some = (rows: number): Expression => ({ op: '<', args: [{ column: 'id' }, { value: rows }] })

function rowsOf({ rows, columns }: HostRelation): Cell[][] {
  return Array.from({ length: rows }, (_, row) => columns.map(({ cells }) => cells[row]!))
}

async function outcome(rows: Promise<Cell[][]>): Promise<Cell[][] | typeof FAULT> {
  try {
    return await rows
  } catch (error) {
    const { code, message } = error as { readonly code?: string; readonly message: string }
    if (code === 'BAD_REQUEST' && /^query.*: .*overflow/.test(message)) return FAULT
    throw error
  }
}

t.test('a row is a fault if its outcome depends on one', async (t) => {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  const random = new Random(seed)
  const relation = faultyRelation(random, ROWS)
  const bed = await QueryBed.open(t, [relation])
  const rows = rowsOf(relation)
  const conditions = new FaultyConditions(random)
  let faults = 0
  for (let i = 0; i < CONDITIONS; i++) {
    const parts = [conditions.conjunction(1 + (i % 4), i % 3), some(1 + random.below(ROWS))]
    if (random.chance(0.5)) parts.reverse()
    const condition: Expression = { op: 'and', args: parts }
    const where: QueryNode = { op: 'where', input: INPUT, condition }
    const checked = checkQuery(where, () => schemaOf(relation))
    if (checked.op !== 'where') throw new Error('not a selection')
    const given = rows.map((row) => isGiven(checked.condition, row))
    const isFault = given.includes(FAULT)
    const wanted = isFault ? FAULT : rows.filter((_, row) => given[row] === true)
    if (isFault) faults++
    t.same(await outcome(bed.rows(where)), wanted, `rows: ${JSON.stringify(condition)}`)
    if (i % 3 > 0) continue
    const aggregates = [{ name: 'n', function: 'count' as const }]
    const counted: QueryNode = { op: 'groupBy', input: where, keys: [], aggregates }
    t.same(await outcome(bed.rows(counted)), isFault ? FAULT : [[wanted === FAULT ? 0 : wanted.length]])
  }
  t.ok(faults > 0 && faults < CONDITIONS, `${faults} of ${CONDITIONS} are faults`)
})

t.test('values of a projection', async (t) => {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  const random = new Random(seed)
  const relation = faultyRelation(random, 12)
  const bed = await QueryBed.open(t, [relation])
  const conditions = new FaultyConditions(random)
  for (let i = 0; i < 16; i++) {
    const value = i % 2 === 0 ? conditions.condition(3) : conditions.number()
    const project: QueryNode = {
      op: 'project',
      input: { op: 'where', input: INPUT, condition: some(1 + random.below(12)) },
      columns: [{ name: 'x', value }],
    }
    const checked = checkQuery(project, () => schemaOf(relation))
    if (checked.op !== 'project') throw new Error('not a projection')
    const few = await bed.rows(project.input)
    const found = few.map((row) => outcomeOf(checked.values[0]!, row))
    const wanted = found.includes(FAULT) ? FAULT : found.map((cell) => [cell])
    t.same(await outcome(bed.rows(project)), wanted, JSON.stringify(value))
  }
})
