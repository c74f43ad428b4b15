import t from 'tap'
import { DeviceWork } from '../../../../gpu/relational/query/device-work.js'
import { QueryKernels } from '../../../../gpu/relational/query/query-kernels.js'
import { Table } from '../../../../gpu/relational/query/table.js'
import type {
  Condition,
  Selected,
  SelectionOutput,
} from '../../../../gpu/relational/selection/selection-types.js'
import { asBytes } from '../../../../protocol/columns.js'
import { checkQuery } from '../../../../protocol/query/check-query.js'
import { normalise } from '../../../../src/query/conditions/normalise.js'
import { allPlans } from '../../../../src/query/selection/plans.js'
import { runPlan } from '../../../../src/query/selection/run-plan.js'
import { openDevice } from '../../../gpu/open-device.js'
import { Random, seedOfRun } from '../../../random.js'
import { type HostRelation, schemaOf, uploadRelation } from '../host-relation.js'
import { FAULT, isGiven } from './fault-model.js'
import { FaultyConditions, faultyRelation } from './faulty-conditions.js'

const ROWS = 50
const CONDITIONS = 3
const PLANS = 6
const OUTPUTS: readonly SelectionOutput[] = [
  { kind: 'count' },
  { kind: 'rows' },
  { kind: 'columns', columns: [0, 1] },
]

function shuffled(random: Random, count: number): number[] {
  const left = Array.from({ length: count }, (_, i) => i)
  return Array.from({ length: count }, () => left.splice(random.below(left.length), 1)[0]!)
}

function randomPlans(random: Random, conditions: readonly Condition[]) {
  return Array.from({ length: PLANS }, () => random.pick([...allPlans(shuffled(random, conditions.length))]))
}

/** The numbers that the rows of a selection have in the table, in order. */
async function numbersOf(work: DeviceWork, { count, rows, columns }: Selected): Promise<number[] | number> {
  const buffer = rows ?? columns[0]?.values
  if (buffer === undefined) return count
  const [bytes] = await work.readColumns([{ buffer, bytes: 4 * count }])
  return [...new Uint32Array(bytes!.slice().buffer)].sort((a, b) => a - b)
}

function modelOf(relation: HostRelation, condition: Parameters<typeof isGiven>[0], rows: readonly number[]) {
  const given = rows.map((row) =>
    isGiven(
      condition,
      relation.columns.map(({ cells }) => cells[row]!),
    ),
  )
  return given.includes(FAULT) ? FAULT : rows.filter((_, i) => given[i] === true).sort((a, b) => a - b)
}

t.test('all plans of a selection find the same faults', async (t) => {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  const random = new Random(seed)
  const relation = faultyRelation(random, ROWS)
  const device = await openDevice(t)
  const kernels = await QueryKernels.create(device)
  const table = Table.ofRelation(await uploadRelation(device, relation))
  const facts = relation.columns.map(({ type, nullable }) => ({ type, nullable, dictionary: undefined }))
  const questions = new FaultyConditions(random)
  const wrong: unknown[] = []
  let faults = 0
  for (let i = 0; i < CONDITIONS; i++) {
    const where = {
      op: 'where',
      input: { op: 'scan', relation: 'r' },
      condition: questions.conjunction(3, 1),
    }
    const node = checkQuery(where, () => schemaOf(relation))
    if (node.op !== 'where') throw new Error('not a selection')
    const normalised = normalise(node.condition, facts)
    if (normalised.kind === 'none' || normalised.conditions.length === 0) continue
    const { conditions } = normalised
    const list = shuffled(random, ROWS).slice(0, 1 + random.below(ROWS))
    for (const plan of randomPlans(random, conditions)) {
      const output = random.pick(OUTPUTS)
      const scratch = device.scratch()
      const work = new DeviceWork(device, kernels, scratch)
      const isListed = random.chance(0.5)
      const start = isListed
        ? { buffer: work.upload(asBytes(Uint32Array.from(list))), count: list.length }
        : undefined
      const chosen = { conditions, plan, matchBy: new Map() }
      const selected = await runPlan(work, table, output, chosen, start)
      const found = (await work.takeFaults()) > 0 ? FAULT : await numbersOf(work, selected)
      scratch.release()
      const rows = isListed ? list : Array.from({ length: ROWS }, (_, row) => row)
      const model = modelOf(relation, node.condition, rows)
      const wanted = model !== FAULT && output.kind === 'count' ? model.length : model
      if (wanted === FAULT) faults++
      if (String(found) !== String(wanted))
        wrong.push({ condition: where.condition, plan, output, found, wanted })
    }
  }
  t.same(wrong.slice(0, 1), [])
  t.comment(`${faults} runs were faults`)
})
