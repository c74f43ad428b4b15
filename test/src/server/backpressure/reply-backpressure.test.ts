import t from 'tap'
import { Random, seedOfRun } from '../../../random.js'
import { connections } from './connections.js'

t.test('a request begins when there is room for its reply, in half the bound', async (t) => {
  const { each, all, begun } = connections(1)
  const [one] = each
  const [first, second, third] = [400, 100, 51].map((bytes) => one.ask(0, bytes))
  t.strictSame(begun, [first, second])
  t.equal(one.load.expectedBytes, 500)
  one.end(first!, 350)
  t.strictSame([one.load.replyBytes, one.load.expectedBytes, all.replyBytes], [350, 100, 350])
  t.strictSame(begun, [first, second])
  one.load.sent(1)
  t.strictSame(begun, [first, second, third])
  one.end(second!)
  one.load.sent(349)
  const large = one.ask(0, 5000)
  t.notOk(begun.includes(large))
  one.end(third!)
  t.ok(begun.includes(large), 'one may always be made')
  const last = one.ask(0, 1)
  t.notOk(begun.includes(last))
  one.end(large)
  t.ok(begun.includes(last))
  one.load.close()
  t.strictSame([all.replyBytes, all.expectedBytes], [0, 0], 'who is over holds up nothing')
})

t.test(
  'past the bound for all, connections wait in line, and those with nothing have a little',
  async (t) => {
    const { each, begun } = connections(7, { replyBytesInAll: 1000 })
    const asked = each.slice(0, 6).map((one) => one.ask(0, 300))
    const went = () => begun.map((one) => asked.indexOf(one))
    t.strictSame(went(), [0, 1, 2])
    asked[6] = each[6]!.ask(0, 100)
    t.strictSame(went(), [0, 1, 2, 6], 'a little passes')
    each[6]!.end(asked[6])
    t.strictSame(went(), [0, 1, 2, 6])
    each[3]!.load.stop()
    each[1]!.end(asked[1]!, 700)
    t.strictSame(went(), [0, 1, 2, 6], 'what was made is more than was expected')
    each[1]!.load.sent(700)
    t.strictSame(went(), [0, 1, 2, 6, 4], 'the next in line')
    each[2]!.load.close()
    t.strictSame(went(), [0, 1, 2, 6, 4, 5], 'room comes back with the end of a connection')
    for (const i of [0, 4, 5]) each[i]!.end(asked[i]!)
    t.equal(
      each[6]!.begin(0, 5000).wanted,
      5000,
      'what is larger than the bound comes when there is half of it',
    )
  },
)

t.test('who waits for its own replies leaves the line to others', async (t) => {
  const { each, begun } = connections(3, { replyBytesInAll: 1000 })
  const [a, b, c] = each
  const earlier = a.begin(0)
  a.begin(0, 50)
  const large = b.begin(0, 910)
  const [first, second] = [a.ask(0, 450), c.ask(0, 450)]
  t.notOk(begun.includes(first) || begun.includes(second))
  a.end(earlier, 60)
  b.end(large)
  t.equal(begun.at(-1), second)
  a.load.sent(60)
  t.equal(begun.at(-1), first)
})

t.test('replies that are larger than expected by half cut who reads least', async (t) => {
  const { all, each } = connections(4)
  const cut = () => each.flatMap(({ isCut }, i) => (isCut ? [i] : []))
  const running = each.map((one) => [one.begin(0), one.begin(0)])
  each.forEach((one, i) => {
    one.end(running[i]![0]!, 900 + i)
  })
  t.strictSame([all.replyBytes, cut()], [3606, []])
  for (const { load } of each) load.tick(1)
  for (const i of [0, 2, 3]) {
    each[i]!.load.sent(100)
    each[i]!.load.tick(1)
  }
  each[0]!.end(running[0]![1]!, 445)
  t.strictSame([all.replyBytes, cut()], [2850, [1]], 'the slowest, not the one whose reply was too much')
  each[1]!.load.sent(901)
  each[1]!.end(running[1]![1]!, 1000)
  t.equal(all.replyBytes, 2850, 'what becomes of it does not count any more')
  each[2]!.end(running[2]![1]!, 1000)
  t.strictSame([all.replyBytes, cut()], [2048, [1, 2]], 'of those who are alike, the one with the most')
  for (const { load } of each) load.close()
  t.equal(all.replyBytes, 0)
})

t.test('a client that reads nothing is noticed, and one that reads too slowly', async (t) => {
  const [one, other] = connections(2).each
  t.notOk(one.load.tick(1000), 'there is nothing to read')
  one.end(one.begin(0), 2000)
  t.notOk(one.load.tick(30))
  t.equal(one.load.tick(1), 'repliesNotRead')
  one.load.sent(20)
  t.notOk(one.load.tick(1), 'ten bytes are worth a second')
  for (let i = 1; i <= 10; i++) {
    one.load.sent(100)
    t.notOk(one.load.tick(10), 'slow but steady')
  }
  const [first, second] = [other.begin(0), other.begin(0)]
  other.end(first, 100)
  other.end(second, 300)
  t.notOk(other.load.tick(30))
  other.load.sent(100)
  t.notOk(other.load.tick(9))
  t.notOk(other.load.tick(1))
  t.equal(other.load.tick(1), 'repliesNotRead')
  other.load.sent(300)
  t.notOk(other.load.tick(1000))
})

t.test('whatever happens, all get their room in the end', async (t) => {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  const random = new Random(seed)
  const { all, each, begun } = connections(6, { replyBytesInAll: 1200, requestsInFlight: 10_000 })
  const waiting = each.map((): number[] => [])
  let asked = 0
  const step = (i: number, kind: number) => {
    const one = each[i]!
    const [running] = one.running
    if (kind === 0) {
      asked++
      one.ask(1, 1 + random.below(400))
    } else if (kind === 1 && running !== undefined) {
      const bytes = 1 + random.below(running.wanted)
      waiting[i]!.push(bytes)
      one.end(running, bytes)
    } else if (kind === 2 && waiting[i]!.length > 0) {
      one.load.sent(waiting[i]!.shift()!)
    }
  }
  for (let n = 0; n < 20_000; n++) {
    step(random.below(6), random.below(3))
    const taken = each.reduce((sum, { load }) => sum + load.replyBytes + load.expectedBytes, 0)
    if (taken > 1200 + 6 * 100) throw new Error(`step ${n}: ${taken} bytes are taken`)
  }
  for (let n = 0; n < 20_000 * 6; n++) step(n % 6, 1 + (Math.floor(n / 6) % 2))
  t.equal(begun.length, asked)
  t.strictSame([all.replyBytes, all.expectedBytes, each.some(({ isCut }) => isCut)], [0, 0, false])
})
