import t from 'tap'
import { WarpdexError } from '../../../protocol/errors.js'
import type { Request } from '../../../protocol/messages.js'
import { aimsOf, ReplicaGate } from '../../../src/cluster/replica-gate.js'

const DROP = { id: 1, op: 'dropIndex', index: 'a', ifExists: false } as const satisfies Request
const LIST = { id: 2, op: 'listIndexes' } as const satisfies Request
const STATS = { id: 3, op: 'stats', index: undefined, relation: undefined } as const satisfies Request

t.test('the owner answers, others refuse but for what is their own', async (t) => {
  const node = { isOwner: false, owner: 'ws://owner', onLost: () => {} }
  const gate = new ReplicaGate(node, () => undefined)
  const run = (request: Request, connection: number, readsAny = false) =>
    gate.run(request, connection, { readsAny, set: undefined }, async () => 'answered')
  const refusal = { code: 'NOT_OWNER', owner: 'ws://owner' }
  await t.rejects(run(LIST, 1), refusal)
  await t.rejects(run(DROP, 2, true), refusal, 'a change, whatever is read')
  t.equal(await run(LIST, 3, true), 'answered')
  t.equal(await run(STATS, 1), 'answered')
  t.equal(await run({ id: 4, op: 'handOver', to: undefined }, 1), 'answered', 'of what this node owns')
  await t.rejects(run({ id: 5, op: 'handOver', to: 'ws://other' }, 5, true), refusal)

  // Else what came behind would take effect before what was refused.
  node.isOwner = true
  await t.rejects(run(DROP, 1), refusal, 'behind a refusal')
  t.equal(await run(DROP, 3), 'answered')
  gate.left(1)
  t.equal(await run(DROP, 1), 'answered')
})

t.test('a connection means one of several replica sets, and is sent to its nodes', async (t) => {
  const nodes = [{ set: 1, url: 'ws://one', role: 'following', position: 0 } as const]
  const gate = new ReplicaGate({ isOwner: true, owner: undefined, onLost: () => {} }, () => ({
    name: 'c',
    set: 0,
    sets: 3,
    nodes,
  }))
  const run = (connection: number, set: number | undefined) =>
    gate.run(LIST, connection, { readsAny: false, set }, async () => 'answered')
  t.equal(await run(1, 0), 'answered')
  await t.rejects(run(2, undefined), { code: 'BAD_REQUEST', message: /a cluster of 3 replica sets/ })
  await t.rejects(run(3, 1), { code: 'NOT_OWNER', owner: 'ws://one' })
  await t.rejects(run(4, 2), { code: 'NOT_OWNER', owner: undefined })
  t.same(aimsOf('/?reads=any&set=2'), { readsAny: true, set: 2 })
  t.same(aimsOf('/'), { readsAny: false, set: undefined })
})

t.test(
  'what is read while another node may have become the owner is given up, and a change is not',
  async (t) => {
    const node = { isOwner: true, owner: undefined, onLost: () => {} }
    const gate = new ReplicaGate(node, () => undefined)
    const aims = { readsAny: false, set: undefined }
    const meanwhile = async () => {
      node.isOwner = false
      return 'answered'
    }
    await t.rejects(gate.run(LIST, 1, aims, meanwhile), { code: 'NOT_OWNER', message: /no node does/ })
    node.isOwner = true
    t.equal(await gate.run(DROP, 2, aims, meanwhile), 'answered')
    node.isOwner = true
    const stopping = async () => {
      throw new WarpdexError('SHUTTING_DOWN', 'the server is shutting down')
    }
    await t.rejects(gate.run(DROP, 3, aims, stopping), { code: 'NOT_OWNER' }, 'another node does it')
  },
)

t.test('what may be asked for again does not wait for a log that does not answer', async (t) => {
  const node = { isOwner: true, owner: undefined, onLost: () => {} }
  const gate = new ReplicaGate(node, () => undefined)
  const aims = { readsAny: false, set: undefined }
  const never = () => new Promise<string>(() => {})
  let drop = (_answer: string) => {}
  const underWay = [
    gate.run(LIST, 1, aims, never),
    gate.run({ id: 4, op: 'batch', writeId: 1, joint: undefined, parts: [] }, 2, aims, never),
  ]
  const dropping = gate.run(DROP, 3, aims, () => new Promise<string>((resolve) => (drop = resolve)))
  node.isOwner = false
  node.onLost()
  for (const one of underWay) await t.rejects(one, { code: 'NOT_OWNER' })
  drop('answered')
  t.equal(await dropping, 'answered', 'without a write id it would be done twice')
})
