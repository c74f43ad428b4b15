import t from 'tap'
import type { BackpressureLimits } from '../../../../src/server/backpressure/backpressure-limits.js'
import {
  AllRequests,
  RequestBackpressure,
  type RunningRequest,
} from '../../../../src/server/backpressure/request-backpressure.js'
import { Random, seedOfRun } from '../../../random.js'
import { SMALL } from './small-limits.js'

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

function connections(count: number, more: Partial<BackpressureLimits> = {}) {
  const limits = { ...SMALL, ...more }
  const shared = new AllRequests(limits)
  const reads = Array.from({ length: count }, () => true)
  const rooms = reads.map(() => new Room())
  const each = reads.map(
    (_, i) =>
      new RequestBackpressure(limits, shared, rooms[i], (paused) => {
        reads[i] = !paused
      }),
  )
  return { shared, reads, each, rooms }
}

/** A message comes, and begins to be carried out at once. */
function begin(one: RequestBackpressure, bytes: number): RunningRequest {
  const begun: RunningRequest[] = []
  one.arrived(bytes, () => ({ replyBytes: 0, start: (request) => begun.push(request) }))
  if (begun.length === 0) throw new Error('it is held')
  return begun[0]
}

t.test(
  'a connection is read until it has as many requests as it may, and again at half of them',
  async (t) => {
    const { each, reads, shared } = connections(1)
    const [one] = each
    const requests = [1, 2, 3].map(() => begin(one, 10))
    t.ok(reads[0])
    requests.push(begin(one, 10))
    t.notOk(reads[0])
    requests[0].end()
    requests[1].end()
    t.notOk(reads[0], 'half is not less than half')
    requests[2].end()
    t.ok(reads[0])
    t.strictSame([one.requests, one.bytes, shared.bytes, shared.requests], [1, 10, 10, 1])
  },
)

t.test('bytes count as they come in, and one request may always come', async (t) => {
  const { each, reads } = connections(1)
  const [one] = each
  one.received(5000)
  t.ok(reads[0], 'a request that is larger than the bound')
  const large = begin(one, 5000)
  t.notOk(reads[0])
  large.end()
  t.ok(reads[0])
  const small = begin(one, 10)
  one.received(989)
  t.ok(reads[0])
  one.received(1)
  t.notOk(reads[0])
  small.end()
  t.ok(reads[0], 'nothing runs, so the request that has begun goes on')
  one.received(20)
  one.discounted(2000)
  t.equal(one.bytes, 0)
})

t.test(
  'past the bound for all, those with little go on, and the others one message after the other',
  async (t) => {
    const { each, reads, shared } = connections(4)
    const [a, b, c, d] = each
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
    const other = new RequestBackpressure(SMALL, shared, new Room(), (paused) => {
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
    for (const one of [...each, other]) one.close()
    t.strictSame([shared.bytes, shared.requests], [0, 0])
  },
)

t.test('the turn goes round while there is no room', async (t) => {
  const { each, reads } = connections(4, { bytesInAll: 200 })
  const [full, a, b, c] = each
  begin(full, 900)
  for (const one of [a, b, c]) one.received(101)
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
  const { each, shared, rooms } = connections(1)
  const [one] = each
  const begun: number[] = []
  const prepared: number[] = []
  const running: RunningRequest[] = []
  for (let i = 0; i < 10; i++) {
    one.arrived(10, () => {
      prepared.push(i)
      const start = (request: RunningRequest) => {
        begun.push(i)
        running.push(request)
      }
      return { replyBytes: 5, start }
    })
  }
  t.strictSame([begun, one.requests, shared.bytes], [[0, 1, 2, 3], 10, 100])
  running[2].end()
  t.strictSame(begun, [0, 1, 2, 3, 4])
  rooms[0].free = -6
  running[0].end()
  running[1].end()
  t.strictSame([begun, prepared.at(-1)], [[0, 1, 2, 3, 4], 5], 'not without room for its reply')
  rooms[0].free = 10
  one.repliesMoved()
  t.strictSame(
    [begun, prepared],
    [
      [0, 1, 2, 3, 4, 5, 6],
      [0, 1, 2, 3, 4, 5, 6],
    ],
  )
  t.equal(rooms[0].free, 0)
  one.discardHeld()
  t.strictSame([one.requests, shared.requests, shared.bytes, rooms[0].left], [4, 4, 40, 1])
  for (const request of running.slice(3)) request.end()
  t.strictSame([begun.length, shared.requests, shared.bytes, rooms[0].free], [7, 0, 0, 20])
})

t.test('too many requests in all are refused, but for the first of a connection', async (t) => {
  const { each } = connections(4)
  const requests: RunningRequest[] = []
  for (const one of each.slice(0, 3)) for (let i = 0; i < 2; i++) requests.push(begin(one, 1))
  t.notOk(requests.some(({ overloaded }) => overloaded))
  t.ok(begin(each[0], 1).overloaded)
  t.notOk(begin(each[3], 1).overloaded)
  t.ok(begin(each[3], 1).overloaded)
})

t.test('replies that wait stop the reading', async (t) => {
  const { each, reads, rooms } = connections(1)
  const wait = (load: number) => {
    rooms[0].load = load
    each[0].repliesMoved()
  }
  wait(0.49)
  t.ok(reads[0])
  wait(0.5)
  t.notOk(reads[0])
  wait(0.25)
  t.notOk(reads[0])
  wait(0.24)
  t.ok(reads[0])
  each[0].stop()
  t.notOk(reads[0])
  begin(each[0], 1).end()
  t.notOk(reads[0], 'for good')
})

t.test('a message that takes too long is noticed, but not while nobody reads it', async (t) => {
  const { each, rooms } = connections(1)
  const [one] = each
  t.notOk(one.tick(1000), 'there is none')
  one.received(900)
  t.notOk(one.tick(20), '900 bytes are worth 90 seconds')
  t.notOk(one.tick(30), 'but what came is no excuse for who stops then')
  rooms[0].load = 1
  one.repliesMoved()
  t.notOk(one.tick(1000))
  rooms[0].load = 0
  one.repliesMoved()
  t.notOk(one.tick(1000), 'it was not read all the time')
  t.ok(one.tick(1))
  begin(one, 200)
  one.received(10)
  t.notOk(one.tick(30), 'each has its own time')
  one.received(50)
  one.discounted(50)
  t.ok(one.tick(2), 'and nothing but the message counts')
})

t.test('who sends too slowly has less time while others wait', async (t) => {
  const { each, reads, rooms } = connections(3, { bytesReserved: 1000 })
  const [slow, holder, waiting] = each
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
    const { each, reads } = connections(5, { requestsPastBound: 2 })
    const [full, a, b, c, d] = each
    begin(full, 2000)
    for (const one of [a, b, c, d]) one.received(101)
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
  const { each, reads, shared } = connections(8)
  const running = new Map<RequestBackpressure, RunningRequest[]>(each.map((one) => [one, []]))
  const pending = each.map(() => 0)
  let most = 0
  for (let step = 0; step < 50_000; step++) {
    const i = random.below(each.length)
    const requests = running.get(each[i])!
    if (reads[i] && random.below(3) > 0) {
      const bytes = 1 + random.below(64)
      pending[i] += bytes
      each[i].received(bytes)
      if (pending[i] > 400 || random.below(8) === 0) {
        requests.push(begin(each[i], pending[i]))
        pending[i] = 0
      }
    } else if (requests.length > 0) {
      requests.splice(random.below(requests.length), 1)[0].end()
    }
    most = Math.max(most, shared.bytes)
    const bytes = each.reduce((sum, one) => sum + one.bytes, 0)
    if (bytes !== shared.bytes) throw new Error(`step ${step}: ${bytes} bytes, and ${shared.bytes} in all`)
  }
  t.ok(most > 2000, 'the bound was reached')
  t.ok(most <= 2000 + 8 * (100 + 64) + 500, `at most ${most} bytes`)
  for (const requests of running.values()) for (const request of requests) request.end()
  for (let round = 0; round < each.length; round++) {
    reads.forEach((read, i) => {
      if (read) begin(each[i], pending[i]).end()
    })
  }
  t.ok(reads.every(Boolean), 'all are read in the end')
  for (const one of each) one.close()
  t.strictSame([shared.bytes, shared.requests], [0, 0])
})
