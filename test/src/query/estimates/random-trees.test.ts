import t from 'tap'
import { inputsOf, pairsOf, type TypedNode } from '../../../../protocol/query/typed.js'
import { Random, seedOfRun } from '../../../random.js'
import { RandomTrees } from '../fuzz/random-tree.js'
import { randomRelation } from '../relations.js'
import { EstimateBed } from './estimate-bed.js'

/** The most rows that a node may give, by those of its inputs. */
function mostRows(node: TypedNode, [first = 0, second = 0]: readonly number[]): number {
  switch (node.op) {
    case 'scan':
      return Number.POSITIVE_INFINITY
    case 'join':
    case 'joinWhere':
      if (node.kind === 'semi' || node.kind === 'anti' || node.kind === 'mark') return first
      return first * second + first + second
    case 'product':
      return first * second
    case 'union':
      return first + second
    case 'groupBy':
      return node.keys.length === 0 ? 1 : first
    case 'limit':
      return Math.min(first, node.rows)
    default:
      return first
  }
}

t.test('what is thought of random trees is possible', async (t) => {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  const random = new Random(seed)
  const sizes = [0, 1, 100, 6000]
  const hosts = ['r', 'q', 's'].map((name) => randomRelation(random, name, random.pick(sizes)))
  const trees = new RandomTrees(random, hosts)
  const beds = [new EstimateBed(hosts), new EstimateBed(hosts, false)]
  for (let i = 0; i < 150; i++) {
    const { tree, sql } = trees.query(1 + random.below(4))
    for (const bed of beds) {
      const estimates = bed.estimates(tree)
      for (const [node, rows] of estimates) {
        const most = mostRows(
          node,
          inputsOf(node.op === 'joinWhere' ? pairsOf(node).pairs : node).map(
            (input) => estimates.get(input)!,
          ),
        )
        const isPossible = rows >= 0 && Number.isFinite(rows) && rows <= most * (1 + 1e-9)
        if (!isPossible) t.fail(`${node.op} at ${node.path}: ${rows} rows, of ${most} at most: ${sql}`)
      }
    }
  }
  t.pass('150 trees')
})
