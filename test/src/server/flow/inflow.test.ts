import t from 'tap'
import type { FlowLimits } from '../../../../src/server/flow/flow-limits.js'
import { Inflow, type RunningRequest, SharedInflow } from '../../../../src/server/flow/inflow.js'
import { Random, seedOfRun } from '../../../random.js'
import { SMALL } from './flow-limits.js'

/** Room for replies as a test says. */
class Room {
  load = 0
  /** Bytes for which there is room. */
  free = Number.POSITIVE_INFINITY
  left = 0

  take(bytes: number): boolean {
    if (bytes > this.free) return false
    this.free -= bytes
    return true
  }

  giveBack(bytes: number): void {
    this.free += bytes
  }

  leaveLine(): void {
    this.left++
  }
}

function connections(count: number, more: Partial<FlowLimits> = {}) {
  const limits = { ...SMALL, ...more }
  const shared = new SharedInflow(limits)
  const reads = Array.from({ length: count }, () => true)
  const rooms = reads.map(() => new Room())
  const flows = reads.map(
    (_, i) =>
      new Inflow(limits, shared, rooms[i], (paused) => {
        reads[i] = !paused
      }),
  )
  return { shared, reads, flows, rooms }
}

/** A message comes, and begins to be carried out at once. */
function begin(flow: Inflow, bytes: number): RunningRequest {
  const begun: RunningRequest[] = []
  flow.arrived(bytes, () => ({ replyBytes: 0, start: (request) => begun.push(request) }))
  if (begun.length === 0) throw new Error('it is held')
  return begun[0]
}

t.test(
  'a connection is read until it has as many requests as it may, and again at half of them',
  async (t) => {
    const { flows, reads, shared } = connections(1)
    const [flow] = flows
    const requests = [1, 2, 3].map(() => begin(flow, 10))
    t.ok(reads[0])
    requests.push(begin(flow, 10))
    t.notOk(reads[0])
    requests[0].end()
    requests[1].end()
    t.notOk(reads[0], 'half is not less than half')
    requests[2].end()
    t.ok(reads[0])
    t.strictSame([flow.requests, flow.bytes, shared.bytes, shared.requests], [1, 10, 10, 1])
  },
)

t.test('bytes count as they come in, and one request may always come', async (t) => {
  const { flows, reads } = connections(1)
  const [flow] = flows
  flow.received(5000)
  t.ok(reads[0], 'a request that is larger than the bound')
  const large = begin(flow, 5000)
  t.notOk(reads[0])
  large.end()
  t.ok(reads[0])
  const small = begin(flow, 10)
  flow.received(989)
  t.ok(reads[0])
  flow.received(1)
  t.notOk(reads[0])
  small.end()
  t.ok(reads[0], 'nothing runs, so the request that has begun goes on')
  flow.received(20)
  flow.discounted(2000)
  t.equal(flow.bytes, 0)
})

t.test(
  'past the bound for all, those with little go on, and the others one message after the other',
  async (t) => {
    const { flows, reads, shared } = connections(4)
    const [a, b, c, d] = flows
    const running = [begin(a, 900), begin(b, 900)]
    c.received(150)
    t.strictSame(reads, [true, true, true, true])
    d.received(150)
    t.strictSame(reads, [true, true, true, true], 'the first past the bound takes the turn')
    c.received(1)
    t.strictSame(reads, [true, true, false, true], 'the next one waits')
    a.received(1)
    t.strictSame(reads, [false, true, false, true])
    d.received(5000)
    t.ok(reads[3], 'the turn is for a whole message')
    const large = begin(d, 5150)
    t.notOk(reads[3], 'and for one only')
    let late = true
    const other = new Inflow(SMALL, shared, new Room(), (paused) => {
      late = !paused
    })
    other.received(100)
    t.ok(late, 'who has nothing may always send a little')
    other.received(1)
    t.notOk(late)
    large.end()
    t.strictSame([reads, late], [[false, true, true, true], false], 'the next in line')
    for (const request of running) request.end()
    t.strictSame([reads, late], [[true, true, true, true], true], 'there is room again')
    for (const flow of [...flows, other]) flow.close()
    t.strictSame([shared.bytes, shared.requests], [0, 0])
  },
)

t.test('the turn goes round while there is no room', async (t) => {
  const { flows, reads } = connections(4, { bytesInAll: 200 })
  const [full, a, b, c] = flows
  begin(full, 900)
  for (const flow of [a, b, c]) flow.received(101)
  t.strictSame(reads, [false, true, false, false])
  const first = begin(a, 200)
  a.received(101)
  t.strictSame(reads, [false, false, false, false])
  first.end()
  t.strictSame(reads, [false, false, true, false], 'the next in line')
  b.close()
  t.strictSame(reads, [false, false, true, true], 'a turn ends with its connection')
  const second = begin(c, 200)
  c.received(500)
  second.end()
  t.strictSame([reads[1], reads[3]], [true, false], 'who had its turn waits behind the others')
})

t.test('what one piece of the network brings beyond the bound begins later, in its order', async (t) => {
  const { flows, shared, rooms } = connections(1)
  const [flow] = flows
  const begun: number[] = []
  const prepared: number[] = []
  const running: RunningRequest[] = []
  for (let i = 0; i < 10; i++) {
    flow.arrived(10, () => {
      prepared.push(i)
      const start = (request: RunningRequest) => {
        begun.push(i)
        running.push(request)
      }
      return { replyBytes: 5, start }
    })
  }
  t.strictSame([begun, flow.requests, shared.bytes], [[0, 1, 2, 3], 10, 100])
  running[2].end()
  t.strictSame(begun, [0, 1, 2, 3, 4])
  rooms[0].free = -6
  running[0].end()
  running[1].end()
  t.strictSame([begun, prepared.at(-1)], [[0, 1, 2, 3, 4], 5], 'not without room for its reply')
  rooms[0].free = 10
  flow.repliesMoved()
  t.strictSame(
    [begun, prepared],
    [
      [0, 1, 2, 3, 4, 5, 6],
      [0, 1, 2, 3, 4, 5, 6],
    ],
  )
  t.equal(rooms[0].free, 0)
  flow.discardHeld()
  t.strictSame([flow.requests, shared.requests, shared.bytes, rooms[0].left], [4, 4, 40, 1])
  for (const request of running.slice(3)) request.end()
  t.strictSame([begun.length, shared.requests, shared.bytes, rooms[0].free], [7, 0, 0, 20])
})

t.test('too many requests in all are refused, but for the first of a connection', async (t) => {
  const { flows } = connections(4)
  const requests: RunningRequest[] = []
  for (const flow of flows.slice(0, 3)) for (let i = 0; i < 2; i++) requests.push(begin(flow, 1))
  t.notOk(requests.some(({ overloaded }) => overloaded))
  t.ok(begin(flows[0], 1).overloaded)
  t.notOk(begin(flows[3], 1).overloaded)
  t.ok(begin(flows[3], 1).overloaded)
})

t.test('replies that wait stop the reading', async (t) => {
  const { flows, reads, rooms } = connections(1)
  const wait = (load: number) => {
    rooms[0].load = load
    flows[0].repliesMoved()
  }
  wait(0.49)
  t.ok(reads[0])
  wait(0.5)
  t.notOk(reads[0])
  wait(0.25)
  t.notOk(reads[0])
  wait(0.24)
  t.ok(reads[0])
  flows[0].stop()
  t.notOk(reads[0])
  begin(flows[0], 1).end()
  t.notOk(reads[0], 'for good')
})

t.test('a message that takes too long is noticed, but not while nobody reads it', async (t) => {
  const { flows, rooms } = connections(1)
  const [flow] = flows
  t.notOk(flow.tick(1000), 'there is none')
  flow.received(900)
  t.notOk(flow.tick(20), '900 bytes are worth 90 seconds')
  t.notOk(flow.tick(30), 'but what came is no excuse for who stops then')
  rooms[0].load = 1
  flow.repliesMoved()
  t.notOk(flow.tick(1000))
  rooms[0].load = 0
  flow.repliesMoved()
  t.notOk(flow.tick(1000), 'it was not read all the time')
  t.ok(flow.tick(1))
  begin(flow, 200)
  flow.received(10)
  t.notOk(flow.tick(30), 'each has its own time')
  flow.received(50)
  flow.discounted(50)
  t.ok(flow.tick(2), 'and nothing but the message counts')
})

t.test('who sends too slowly has less time while others wait', async (t) => {
  const { flows, reads, rooms } = connections(3, { bytesReserved: 1000 })
  const [slow, holder, waiting] = flows
  /** Seconds for which it may send at these rates, by turns; 10 is the least. */
  const endures = (...rates: readonly number[]) => {
    begin(slow, 10).end()
    for (let seconds = 1; seconds < 90; seconds++) {
      slow.received(rates[seconds % rates.length]!)
      if (slow.tick(1)) return seconds
    }
    return undefined
  }
  t.equal(endures(5), 61)
  holder.received(2500)
  waiting.received(1001)
  t.strictSame(reads, [true, true, false])
  t.equal(endures(5), 30)
  t.equal(endures(9), 30)
  t.equal(endures(8, 13), undefined, 'who is fast enough on average goes on')
  rooms[2].load = 1
  waiting.repliesMoved()
  t.equal(endures(5), 61, 'who has enough of its own does not wait for others')
})

t.test(
  'past the bound for all a few go on at a time, so that one that stalls does not hold up all',
  async (t) => {
    const { flows, reads } = connections(5, { requestsPastBound: 2 })
    const [full, a, b, c, d] = flows
    begin(full, 2000)
    for (const flow of [a, b, c, d]) flow.received(101)
    t.strictSame(reads, [false, true, true, false, false])
    begin(b, 150).end()
    t.strictSame(reads, [false, true, true, true, false], 'a has stalled, and the next in line goes on')
    a.close()
    t.strictSame(reads.slice(3), [true, true])
  },
)

t.test('whatever happens, nothing is lost count of, and nobody waits for ever', async (t) => {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  const random = new Random(seed)
  const { flows, reads, shared } = connections(8)
  const running = new Map<Inflow, RunningRequest[]>(flows.map((flow) => [flow, []]))
  const pending = flows.map(() => 0)
  let most = 0
  for (let step = 0; step < 50_000; step++) {
    const i = random.below(flows.length)
    const requests = running.get(flows[i])!
    if (reads[i] && random.below(3) > 0) {
      const bytes = 1 + random.below(64)
      pending[i] += bytes
      flows[i].received(bytes)
      if (pending[i] > 400 || random.below(8) === 0) {
        requests.push(begin(flows[i], pending[i]))
        pending[i] = 0
      }
    } else if (requests.length > 0) {
      requests.splice(random.below(requests.length), 1)[0].end()
    }
    most = Math.max(most, shared.bytes)
    const bytes = flows.reduce((sum, flow) => sum + flow.bytes, 0)
    if (bytes !== shared.bytes) throw new Error(`step ${step}: ${bytes} bytes, and ${shared.bytes} in all`)
  }
  t.ok(most > 2000, 'the bound was reached')
  t.ok(most <= 2000 + 8 * (100 + 64) + 500, `at most ${most} bytes`)
  for (const requests of running.values()) for (const request of requests) request.end()
  for (let round = 0; round < flows.length; round++) {
    reads.forEach((read, i) => {
      if (read) begin(flows[i], pending[i]).end()
    })
  }
  t.ok(reads.every(Boolean), 'all are read in the end')
  for (const flow of flows) flow.close()
  t.strictSame([shared.bytes, shared.requests], [0, 0])
})
