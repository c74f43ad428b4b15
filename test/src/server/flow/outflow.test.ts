import t from 'tap'
import { Outflow, SharedOutflow } from '../../../../src/server/flow/outflow.js'
import { Random, seedOfRun } from '../../../random.js'
import { SMALL } from './flow-limits.js'

function connections(count: number, more: Partial<typeof SMALL> = {}) {
  const limits = { ...SMALL, ...more }
  const shared = new SharedOutflow(limits)
  const cut: number[] = []
  const flows = Array.from({ length: count }, (_, i) => new Outflow(limits, shared, () => cut.push(i)))
  return { shared, flows, cut }
}

t.test('room is taken for replies that are to be made, of half the bound', async (t) => {
  const { flows, shared } = connections(1)
  const [flow] = flows
  t.ok(flow.take(400))
  t.notOk(flow.take(101))
  t.ok(flow.take(100))
  t.equal(flow.expected, 500)
  flow.queued(350)
  flow.giveBack(400)
  t.strictSame([flow.bytes, flow.expected, flow.load, shared.bytes], [350, 100, 0.35, 350])
  t.notOk(flow.take(51))
  t.ok(flow.take(50))
  flow.sent(350)
  flow.giveBack(50)
  t.notOk(flow.take(5000))
  flow.giveBack(100)
  t.ok(flow.take(5000), 'one may always be made')
  flow.close()
  t.ok(flow.take(1), 'who is over holds up nothing')
})

t.test(
  'past the bound for all, connections wait in line, and those with nothing have a little',
  async (t) => {
    const { flows } = connections(7, { replyBytesInAll: 1000 })
    const went: number[] = []
    const ask = (i: number, bytes: number) => {
      if (flows[i].take(bytes)) went.push(i)
    }
    flows.forEach((flow, i) => {
      flow.onRoom = () => ask(i, 300)
    })
    for (let i = 0; i < 6; i++) ask(i, 300)
    t.strictSame(went, [0, 1, 2])
    ask(6, 100)
    t.strictSame(went, [0, 1, 2, 6], 'a little passes')
    flows[6].giveBack(100)
    t.strictSame(went, [0, 1, 2, 6])
    flows[3].leaveLine()
    flows[1].queued(700)
    flows[1].giveBack(300)
    t.strictSame(went, [0, 1, 2, 6], 'what was made is more than was expected')
    flows[1].sent(700)
    t.strictSame(went, [0, 1, 2, 6, 4], 'the next in line')
    flows[2].close()
    t.strictSame(went, [0, 1, 2, 6, 4, 5], 'room comes back with the end of a connection')
    flows[0].giveBack(300)
    flows[4].giveBack(300)
    flows[5].giveBack(300)
    ask(3, 5000)
    t.equal(went.at(-1), 3, 'what is larger than the bound comes when there is half of it')
  },
)

t.test('who waits for its own replies leaves the line to others', async (t) => {
  const { flows } = connections(3, { replyBytesInAll: 1000 })
  const [a, b, c] = flows
  const went: string[] = []
  a.onRoom = () => went.push(a.take(450) ? 'a' : 'not a')
  c.onRoom = () => went.push(c.take(450) ? 'c' : 'not c')
  t.ok(a.take(50))
  t.ok(b.take(910))
  t.notOk(a.take(450))
  t.notOk(c.take(450))
  a.queued(60)
  b.giveBack(910)
  t.strictSame(went, ['not a', 'c'])
})

t.test('replies that are larger than expected by half cut who reads least', async (t) => {
  const { shared, flows, cut } = connections(4)
  flows.forEach((flow, i) => {
    flow.queued(900 + i)
  })
  t.equal(flows[1].load, 0.901)
  t.strictSame([shared.bytes, cut], [3606, []])
  for (const flow of flows) flow.tick(1)
  for (const i of [0, 2, 3]) {
    flows[i].sent(100)
    flows[i].tick(1)
  }
  flows[0].queued(445)
  t.strictSame([shared.bytes, cut], [2850, [1]], 'the slowest, not the one whose reply was too much')
  flows[1].sent(901)
  flows[1].queued(1000)
  t.equal(shared.bytes, 2850, 'what becomes of it does not count any more')
  flows[2].queued(1000)
  t.strictSame([shared.bytes, cut], [2048, [1, 2]], 'of those who are alike, the one with the most')
  for (const flow of flows) flow.close()
  t.equal(shared.bytes, 0)
})

t.test('a client that reads nothing is noticed, and one that reads too slowly', async (t) => {
  const [flow] = connections(1).flows
  t.notOk(flow.tick(1000), 'there is nothing to read')
  flow.queued(2000)
  t.notOk(flow.tick(30))
  t.ok(flow.tick(1))
  flow.sent(20)
  t.notOk(flow.tick(1), 'ten bytes are worth a second')
  for (let i = 1; i <= 10; i++) {
    flow.sent(100)
    t.notOk(flow.tick(10), 'slow but steady')
  }
  const [other] = connections(1).flows
  for (const bytes of [100, 300]) other.queued(bytes)
  t.notOk(other.tick(30))
  other.sent(100)
  t.notOk(other.tick(9))
  t.notOk(other.tick(1))
  t.ok(other.tick(1))
  other.sent(300)
  t.notOk(other.tick(1000))
})

t.test('whatever happens, all get their room in the end', async (t) => {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  const random = new Random(seed)
  const { flows, shared, cut } = connections(6, { replyBytesInAll: 1200 })
  const wanted = flows.map((): number[] => [])
  const made = flows.map((): number[] => [])
  const waiting = flows.map((): number[] => [])
  const launch = (i: number) => {
    while (wanted[i].length > 0 && flows[i].take(wanted[i][0])) made[i].push(wanted[i].shift()!)
  }
  flows.forEach((flow, i) => {
    flow.onRoom = () => launch(i)
  })
  const step = (i: number, kind: number) => {
    if (kind === 0) {
      wanted[i].push(1 + random.below(400))
      launch(i)
    } else if (kind === 1 && made[i].length > 0) {
      const expected = made[i].shift()!
      const bytes = 1 + random.below(expected)
      waiting[i].push(bytes)
      flows[i].queued(bytes)
      flows[i].giveBack(expected)
      launch(i)
    } else if (kind === 2 && waiting[i].length > 0) {
      flows[i].sent(waiting[i].shift()!)
      launch(i)
    }
  }
  for (let n = 0; n < 20_000; n++) {
    step(random.below(6), random.below(3))
    const taken = flows.reduce((sum, { bytes, expected }) => sum + bytes + expected, 0)
    if (taken > 1200 + 6 * 100) throw new Error(`step ${n}: ${taken} bytes are taken`)
  }
  for (let n = 0; n < 20_000 * 6; n++) step(n % 6, 1 + (Math.floor(n / 6) % 2))
  t.strictSame(
    wanted.map(({ length }) => length),
    [0, 0, 0, 0, 0, 0],
  )
  t.strictSame([shared.bytes, cut], [0, []])
})
