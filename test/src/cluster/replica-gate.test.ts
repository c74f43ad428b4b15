import t from 'tap'
import type { Request } from '../../../protocol/messages.js'
import { ReplicaGate } from '../../../src/cluster/replica-gate.js'

const DROP = { id: 1, op: 'dropIndex', index: 'a', ifExists: false } as const satisfies Request
const LIST = { id: 2, op: 'listIndexes' } as const satisfies Request
const STATS = { id: 3, op: 'stats', index: undefined, relation: undefined } as const satisfies Request

t.test('the owner answers, others refuse but for what is their own', async (t) => {
  const node = { isOwner: false, owner: 'ws://owner' }
  const gate = new ReplicaGate(node, () => undefined)
  const run = (request: Request, connection: number, readsAny = false) =>
    gate.run(request, connection, { readsAny, set: undefined }, async () => 'answered')
  const refusal = { code: 'NOT_OWNER', owner: 'ws://owner' }
  await t.rejects(run(LIST, 1), refusal)
  await t.rejects(run(DROP, 2, true), refusal, 'a change, whatever is read')
  t.equal(await run(LIST, 3, true), 'answered')
  t.equal(await run(STATS, 1), 'answered')

  // Else what came behind would take effect before what was refused.
  node.isOwner = true
  await t.rejects(run(DROP, 1), refusal, 'behind a refusal')
  t.equal(await run(DROP, 3), 'answered')
  gate.left(1)
  t.equal(await run(DROP, 1), 'answered')
})

t.test(
  'what is read while another node may have become the owner is given up, and a change is not',
  async (t) => {
    const node = { isOwner: true, owner: undefined }
    const gate = new ReplicaGate(node, () => undefined)
    const aims = { readsAny: false, set: undefined }
    const meanwhile = async () => {
      node.isOwner = false
      return 'answered'
    }
    await t.rejects(gate.run(LIST, 1, aims, meanwhile), { code: 'NOT_OWNER', message: /no node does/ })
    node.isOwner = true
    t.equal(await gate.run(DROP, 2, aims, meanwhile), 'answered')
  },
)
