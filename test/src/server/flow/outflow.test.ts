import t from 'tap'
import { Outflow, SharedOutflow } from '../../../../src/server/flow/outflow.js'
import { SMALL } from './flow-limits.js'

t.test('what waits is counted, and the connection with the most of it is cut past the bound', async (t) => {
  const shared = new SharedOutflow(SMALL)
  const cut: number[] = []
  const flows = [0, 1, 2, 3].map((i) => new Outflow(SMALL, shared, () => cut.push(i)))
  flows.forEach((flow, i) => {
    flow.queued(600 + i)
  })
  t.equal(flows[1].load, 0.601)
  t.equal(shared.bytes, 2406)
  flows[3].sent(603)
  flows[0].queued(600)
  t.strictSame([shared.bytes, cut], [2403, []])
  flows[1].queued(98)
  t.strictSame([shared.bytes, cut], [1301, [0]], 'not the one whose reply was too much')
  flows[0].sent(1200)
  flows[0].queued(1000)
  t.equal(shared.bytes, 1301, 'what becomes of it does not count any more')
  flows[2].queued(2000)
  t.strictSame([shared.bytes, cut], [699, [0, 2]])
  for (const flow of flows) flow.close()
  t.equal(shared.bytes, 0)
})

t.test('a client that reads nothing is noticed, one that reads slowly is not', async (t) => {
  const flow = new Outflow(SMALL, new SharedOutflow(SMALL), () => t.fail('cut'))
  t.notOk(flow.tick(1000), 'there is nothing to read')
  flow.queued(50)
  flow.queued(50)
  t.notOk(flow.tick(40), '30 seconds and 10 for 100 bytes')
  flow.sent(50)
  t.notOk(flow.tick(40), 'one was read')
  t.notOk(flow.tick(35))
  t.ok(flow.tick(1))
  flow.sent(50)
  t.notOk(flow.tick(1000))
})
