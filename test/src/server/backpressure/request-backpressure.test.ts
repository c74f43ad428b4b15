import t from 'tap'
import { Random, seedOfRun } from '../../../random.js'
import { connections, TestConnection } from './connections.js'

t.test(
  'a connection is read until it has as many requests as it may, and again at half of them',
  async (t) => {
    const { each, reads, all } = connections(1)
    const [one] = each
    const requests = [1, 2, 3].map(() => one.begin(10))
    t.ok(one.isRead)
    requests.push(one.begin(10))
    t.notOk(one.isRead)
    one.end(requests[0])
    one.end(requests[1])
    t.notOk(one.isRead, 'half is not less than half')
    one.end(requests[2])
    t.strictSame(reads(), [true])
    t.strictSame([one.load.requests, one.load.bytes, all.requestBytes, all.requests], [1, 10, 10, 1])
  },
)

t.test('bytes count as they come in, and one request may always come', async (t) => {
  const [one] = connections(1).each
  one.load.received(5000)
  t.ok(one.isRead, 'a request that is larger than the bound')
  const large = one.begin(5000)
  t.notOk(one.isRead)
  one.end(large)
  t.ok(one.isRead)
  const small = one.begin(10)
  one.load.received(989)
  t.ok(one.isRead)
  one.load.received(1)
  t.notOk(one.isRead)
  one.end(small)
  t.ok(one.isRead, 'nothing runs, so the request that has begun goes on')
  one.load.received(20)
  one.load.discounted(2000)
  t.equal(one.load.bytes, 0)
})

t.test(
  'past the bound for all, those with little go on, and the others one message after the other',
  async (t) => {
    const { each, reads, all } = connections(4)
    const [a, b, c, d] = each
    const running = [a.begin(900), b.begin(900)]
    c.load.received(150)
    t.strictSame(reads(), [true, true, true, true])
    d.load.received(150)
    t.strictSame(reads(), [true, true, true, true], 'the first past the bound takes the turn')
    c.load.received(1)
    t.strictSame(reads(), [true, true, false, true], 'the next one waits')
    a.load.received(1)
    t.strictSame(reads(), [false, true, false, true])
    d.load.received(5000)
    t.ok(d.isRead, 'the turn is for a whole message')
    const large = d.begin(5150)
    t.notOk(d.isRead, 'and for one only')
    const late = new TestConnection(all, () => {})
    late.load.received(100)
    t.ok(late.isRead, 'who has nothing may always send a little')
    late.load.received(1)
    t.notOk(late.isRead)
    d.end(large)
    t.strictSame([reads(), late.isRead], [[false, true, true, true], false], 'the next in line')
    a.end(running[0])
    b.end(running[1])
    t.strictSame([reads(), late.isRead], [[true, true, true, true], true], 'there is room again')
    for (const { load } of [...each, late]) load.close()
    t.strictSame([all.requestBytes, all.requests], [0, 0])
  },
)

t.test('the turn goes round while there is no room', async (t) => {
  const { each, reads } = connections(4, { bytesInAll: 200 })
  const [full, a, b, c] = each
  full.begin(900)
  for (const { load } of [a, b, c]) load.received(101)
  t.strictSame(reads(), [false, true, false, false])
  const first = a.begin(200)
  a.load.received(101)
  t.strictSame(reads(), [false, false, false, false])
  a.end(first)
  t.strictSame(reads(), [false, false, true, false], 'the next in line')
  b.load.close()
  t.strictSame(reads(), [false, false, true, true], 'a turn ends with its connection')
  const second = c.begin(200)
  c.load.received(500)
  c.end(second)
  t.strictSame([a.isRead, c.isRead], [true, false], 'who had its turn waits behind the others')
})

t.test('what one piece of the network brings beyond the bound begins later, in its order', async (t) => {
  const { each, all, begun } = connections(1)
  const [one] = each
  const asked = Array.from({ length: 10 }, () => one.ask(10, 100))
  t.strictSame([begun, one.load.requests, all.requestBytes], [asked.slice(0, 4), 10, 100])
  one.end(asked[2]!)
  t.strictSame(begun, asked.slice(0, 5))
  one.end(asked[0]!, 500)
  one.end(asked[1]!)
  t.strictSame(
    [begun, one.expected],
    [asked.slice(0, 5), asked.slice(0, 6)],
    'not without room for its reply',
  )
  one.load.sent(500)
  t.strictSame([begun, one.expected], [asked.slice(0, 7), asked.slice(0, 7)])
  t.equal(one.load.expectedBytes, 400)
  one.load.stop()
  t.strictSame([one.load.requests, all.requests, all.requestBytes], [4, 4, 40])
  one.load.arrived({ bytes: 10, wanted: 0 })
  t.equal(one.load.requests, 4, 'nothing comes any more')
})

t.test('too many requests in all are refused, but for the first of a connection', async (t) => {
  const { each, begun } = connections(4)
  for (const one of each.slice(0, 3)) for (let i = 0; i < 2; i++) one.begin(1)
  t.notOk(begun.some(({ overloaded }) => overloaded))
  t.ok(each[0].begin(1).overloaded)
  t.notOk(each[3].begin(1).overloaded)
  t.ok(each[3].begin(1).overloaded)
})

t.test('replies that wait stop the reading', async (t) => {
  const [one] = connections(1).each
  const [first, second] = [one.begin(1), one.begin(1)]
  one.end(first, 499)
  t.ok(one.isRead)
  one.end(second, 1)
  t.notOk(one.isRead)
  one.load.sent(250)
  t.notOk(one.isRead)
  one.load.sent(1)
  t.ok(one.isRead)
  const last = one.begin(1)
  one.load.stop()
  t.notOk(one.isRead)
  one.end(last)
  t.notOk(one.isRead, 'for good')
})

t.test('a message that takes too long is noticed, but not while nobody reads it', async (t) => {
  const [one] = connections(1).each
  t.notOk(one.load.tick(1000), 'there is none')
  const earlier = one.begin(10)
  one.load.received(900)
  t.notOk(one.load.tick(20), '900 bytes are worth 90 seconds')
  t.notOk(one.load.tick(30), 'but what came is no excuse for who stops then')
  one.end(earlier, 500)
  t.equal(one.load.tick(1000), 'repliesNotRead', 'that is another matter')
  one.load.sent(500)
  t.notOk(one.load.tick(1000), 'it was not read all the time')
  t.equal(one.load.tick(1), 'requestTooSlow')
  one.begin(200)
  one.load.received(10)
  t.notOk(one.load.tick(30), 'each has its own time')
  one.load.received(50)
  one.load.discounted(50)
  t.equal(one.load.tick(2), 'requestTooSlow', 'and nothing but the message counts')
})

t.test('who sends too slowly has less time while others wait', async (t) => {
  const { each, reads } = connections(3, { bytesReserved: 1000, bytesInFlight: 5000 })
  const [slow, holder, waiting] = each
  /** Seconds for which it may send at these rates, by turns; 10 is the least. */
  const endures = (...rates: readonly number[]) => {
    slow.end(slow.begin(10))
    for (let seconds = 1; seconds < 90; seconds++) {
      slow.load.received(rates[seconds % rates.length]!)
      if (slow.load.tick(1)) return seconds
    }
    return undefined
  }
  t.equal(endures(5), 61)
  const earlier = waiting.begin(0)
  holder.load.received(2500)
  waiting.load.received(1001)
  t.strictSame(reads(), [true, true, false])
  t.equal(endures(5), 30)
  t.equal(endures(9), 30)
  t.equal(endures(8, 13), undefined, 'who is fast enough on average goes on')
  waiting.end(earlier, 1000)
  t.equal(endures(5), 61, 'who has enough of its own does not wait for others')
})

t.test(
  'past the bound for all a few go on at a time, so that one that stalls does not hold up all',
  async (t) => {
    const { each, reads } = connections(5, { requestsPastBound: 2 })
    const [full, a, b, c, d] = each
    full.begin(2000)
    for (const { load } of [a, b, c, d]) load.received(101)
    t.strictSame(reads(), [false, true, true, false, false])
    b.end(b.begin(150))
    t.strictSame(reads(), [false, true, true, true, false], 'a has stalled, and the next in line goes on')
    a.load.close()
    t.strictSame(reads().slice(3), [true, true])
  },
)

t.test('whatever happens, nothing is lost count of, and nobody waits for ever', async (t) => {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  const random = new Random(seed)
  const { each, reads, all } = connections(8)
  const pending = each.map(() => 0)
  let most = 0
  for (let step = 0; step < 50_000; step++) {
    const i = random.below(each.length)
    const one = each[i]!
    if (one.isRead && random.below(3) > 0) {
      const bytes = 1 + random.below(64)
      pending[i] += bytes
      one.load.received(bytes)
      if (pending[i]! > 400 || random.below(8) === 0) {
        one.begin(pending[i]!)
        pending[i] = 0
      }
    } else if (one.running.length > 0) {
      one.end(one.running[random.below(one.running.length)]!)
    }
    most = Math.max(most, all.requestBytes)
    const bytes = each.reduce((sum, { load }) => sum + load.bytes, 0)
    if (bytes !== all.requestBytes)
      throw new Error(`step ${step}: ${bytes} bytes, and ${all.requestBytes} in all`)
  }
  t.ok(most > 2000, 'the bound was reached')
  t.ok(most <= 2000 + 8 * (100 + 64) + 500, `at most ${most} bytes`)
  for (const one of each) for (const asked of [...one.running]) one.end(asked)
  for (let round = 0; round < each.length; round++) {
    each.forEach((one, i) => {
      if (one.isRead) one.end(one.begin(pending[i]!))
    })
  }
  t.ok(reads().every(Boolean), 'all are read in the end')
  for (const { load } of each) load.close()
  t.strictSame([all.requestBytes, all.requests], [0, 0])
})
