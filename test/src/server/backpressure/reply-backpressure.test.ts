import t from 'tap'
import { AllReplies, ReplyBackpressure } from '../../../../src/server/backpressure/reply-backpressure.js'
import { Random, seedOfRun } from '../../../random.js'
import { SMALL } from './small-limits.js'

function connections(count: number, more: Partial<typeof SMALL> = {}) {
  const limits = { ...SMALL, ...more }
  const shared = new AllReplies(limits)
  const cut: number[] = []
  const each = Array.from(
    { length: count },
    (_, i) => new ReplyBackpressure(limits, shared, () => cut.push(i)),
  )
  return { shared, each, cut }
}

t.test('room is taken for replies that are to be made, of half the bound', async (t) => {
  const { each, shared } = connections(1)
  const [one] = each
  t.ok(one.take(400))
  t.notOk(one.take(101))
  t.ok(one.take(100))
  t.equal(one.expected, 500)
  one.queued(350)
  one.giveBack(400)
  t.strictSame([one.bytes, one.expected, one.load, shared.bytes], [350, 100, 0.35, 350])
  t.notOk(one.take(51))
  t.ok(one.take(50))
  one.sent(350)
  one.giveBack(50)
  t.notOk(one.take(5000))
  one.giveBack(100)
  t.ok(one.take(5000), 'one may always be made')
  one.close()
  t.ok(one.take(1), 'who is over holds up nothing')
})

t.test(
  'past the bound for all, connections wait in line, and those with nothing have a little',
  async (t) => {
    const { each } = connections(7, { replyBytesInAll: 1000 })
    const went: number[] = []
    const ask = (i: number, bytes: number) => {
      if (each[i].take(bytes)) went.push(i)
    }
    each.forEach((one, i) => {
      one.onRoom = () => ask(i, 300)
    })
    for (let i = 0; i < 6; i++) ask(i, 300)
    t.strictSame(went, [0, 1, 2])
    ask(6, 100)
    t.strictSame(went, [0, 1, 2, 6], 'a little passes')
    each[6].giveBack(100)
    t.strictSame(went, [0, 1, 2, 6])
    each[3].leaveLine()
    each[1].queued(700)
    each[1].giveBack(300)
    t.strictSame(went, [0, 1, 2, 6], 'what was made is more than was expected')
    each[1].sent(700)
    t.strictSame(went, [0, 1, 2, 6, 4], 'the next in line')
    each[2].close()
    t.strictSame(went, [0, 1, 2, 6, 4, 5], 'room comes back with the end of a connection')
    each[0].giveBack(300)
    each[4].giveBack(300)
    each[5].giveBack(300)
    ask(3, 5000)
    t.equal(went.at(-1), 3, 'what is larger than the bound comes when there is half of it')
  },
)

t.test('who waits for its own replies leaves the line to others', async (t) => {
  const { each } = connections(3, { replyBytesInAll: 1000 })
  const [a, b, c] = each
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
  const { shared, each, cut } = connections(4)
  each.forEach((one, i) => {
    one.queued(900 + i)
  })
  t.equal(each[1].load, 0.901)
  t.strictSame([shared.bytes, cut], [3606, []])
  for (const one of each) one.tick(1)
  for (const i of [0, 2, 3]) {
    each[i].sent(100)
    each[i].tick(1)
  }
  each[0].queued(445)
  t.strictSame([shared.bytes, cut], [2850, [1]], 'the slowest, not the one whose reply was too much')
  each[1].sent(901)
  each[1].queued(1000)
  t.equal(shared.bytes, 2850, 'what becomes of it does not count any more')
  each[2].queued(1000)
  t.strictSame([shared.bytes, cut], [2048, [1, 2]], 'of those who are alike, the one with the most')
  for (const one of each) one.close()
  t.equal(shared.bytes, 0)
})

t.test('a client that reads nothing is noticed, and one that reads too slowly', async (t) => {
  const [one] = connections(1).each
  t.notOk(one.tick(1000), 'there is nothing to read')
  one.queued(2000)
  t.notOk(one.tick(30))
  t.ok(one.tick(1))
  one.sent(20)
  t.notOk(one.tick(1), 'ten bytes are worth a second')
  for (let i = 1; i <= 10; i++) {
    one.sent(100)
    t.notOk(one.tick(10), 'slow but steady')
  }
  const [other] = connections(1).each
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
  const { each, shared, cut } = connections(6, { replyBytesInAll: 1200 })
  const wanted = each.map((): number[] => [])
  const made = each.map((): number[] => [])
  const waiting = each.map((): number[] => [])
  const launch = (i: number) => {
    while (wanted[i].length > 0 && each[i].take(wanted[i][0])) made[i].push(wanted[i].shift()!)
  }
  each.forEach((one, i) => {
    one.onRoom = () => launch(i)
  })
  const step = (i: number, kind: number) => {
    if (kind === 0) {
      wanted[i].push(1 + random.below(400))
      launch(i)
    } else if (kind === 1 && made[i].length > 0) {
      const expected = made[i].shift()!
      const bytes = 1 + random.below(expected)
      waiting[i].push(bytes)
      each[i].queued(bytes)
      each[i].giveBack(expected)
      launch(i)
    } else if (kind === 2 && waiting[i].length > 0) {
      each[i].sent(waiting[i].shift()!)
      launch(i)
    }
  }
  for (let n = 0; n < 20_000; n++) {
    step(random.below(6), random.below(3))
    const taken = each.reduce((sum, { bytes, expected }) => sum + bytes + expected, 0)
    if (taken > 1200 + 6 * 100) throw new Error(`step ${n}: ${taken} bytes are taken`)
  }
  for (let n = 0; n < 20_000 * 6; n++) step(n % 6, 1 + (Math.floor(n / 6) % 2))
  t.strictSame(
    wanted.map(({ length }) => length),
    [0, 0, 0, 0, 0, 0],
  )
  t.strictSame([shared.bytes, cut], [0, []])
})
