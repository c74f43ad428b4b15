import t from 'tap'
import { DeviceFull } from '../../../gpu/device/device-full.js'
import { WarpdexError } from '../../../protocol/errors.js'
import { DeviceBudget, Pageable } from '../../../src/engine/device-budget.js'
import { Random, seedOfRun } from '../../random.js'

/** A member that notes what happens to it. */
class Fake extends Pageable {
  isHere = true
  pagedOut = 0
  pagedIn = 0
  failure: Error | undefined
  derivedBytes = 0
  deviceBytes: number

  constructor(deviceBytes: number) {
    super()
    this.deviceBytes = deviceBytes
  }

  async pageOut(): Promise<void> {
    await turn()
    if (this.failure !== undefined) throw this.failure
    this.isHere = false
    this.pagedOut++
  }

  async pageIn(): Promise<void> {
    await turn()
    if (this.failure !== undefined) throw this.failure
    this.isHere = true
    this.pagedIn++
  }
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

/** Long enough for all that can happen to have happened. */
async function rest(): Promise<void> {
  for (let i = 0; i < 50; i++) await turn()
}

function budgetOf(limit: number, ...sizes: number[]): { budget: DeviceBudget; members: Fake[] } {
  const budget = new DeviceBudget(limit)
  const members = sizes.map((size) => new Fake(size))
  for (const member of members) budget.add(member)
  return { budget, members }
}

async function use(budget: DeviceBudget, member: Fake, task = async () => {}): Promise<void> {
  await budget.acquire(member)
  try {
    await task()
  } finally {
    budget.release(member)
  }
}

const here = (members: readonly Fake[]) => members.map(({ isHere }) => (isHere ? 'x' : '.')).join('')

t.test('what is here is used at once, and nothing leaves while there is room', async (t) => {
  const { budget, members } = budgetOf(30, 10, 10, 10)
  for (const member of members) t.equal(budget.acquire(member), undefined)
  for (const member of members) budget.release(member)
  await rest()
  t.equal(here(members), 'xxx')
  t.equal(budget.bytes, 30)
})

t.test('the least recently used leave, as many as must', async (t) => {
  const { budget, members } = budgetOf(30, 10, 10, 10)
  await use(budget, members[0])
  const large = new Fake(15)
  budget.add(large)
  await budget.settle(large)
  t.equal(here(members), 'x..')
  t.equal(budget.bytes, 25)
  await use(budget, members[1])
  t.equal(here([...members, large]), '.x.x')
  await use(budget, members[2])
  t.equal(here([...members, large]), '.xx.', 'the one that came before the others')
})

t.test('what grows during its use makes others leave before it is settled', async (t) => {
  const { budget, members } = budgetOf(30, 10, 10, 10)
  await use(budget, members[2], async () => {
    members[2].deviceBytes = 15
    await budget.settle(members[2])
    t.equal(here(members), '.xx')
    t.equal(budget.bytes, 25)
  })
})

t.test('what a use has derived counts from its end on', async (t) => {
  const { budget, members } = budgetOf(30, 10, 10, 10)
  const derive = (bytes: number) =>
    use(budget, members[2], async () => {
      members[2].deviceBytes += bytes - members[2].derivedBytes
      members[2].derivedBytes = bytes
    })
  await derive(5)
  t.equal(budget.bytes, 35)
  await rest()
  t.equal(here(members), '.xx')
  t.equal(budget.bytes, 25)
  await derive(0)
  t.equal(budget.bytes, 20)
})

t.test(
  'one that alone has more than the budget by what its reads have derived stays until another is asked for',
  async (t) => {
    const { budget, members } = budgetOf(30, 28, 10)
    await rest()
    const [large, small] = members
    for (let i = 0; i < 3; i++) {
      await use(budget, large, async () => {
        large.deviceBytes = 33
        large.derivedBytes = 5
      })
      await rest()
    }
    t.equal(here(members), 'x.')
    t.equal(large.pagedIn, large.pagedOut)
    t.ok(large.pagedOut <= 1)
    await use(budget, small)
    t.equal(here(members), '.x')
  },
)

t.test('members without device memory count for nothing and stay', async (t) => {
  const { budget, members } = budgetOf(10, 0, 10, 0)
  await use(budget, members[0], async () => {
    members[0].deviceBytes = 10
    await budget.settle(members[0])
  })
  t.equal(here(members), 'x.x')
  members[0].deviceBytes = 0
  await budget.settle(members[0])
  t.equal(budget.bytes, 0)
})

t.test('members in use are waited for, and those who wait come in order', async (t) => {
  const { budget, members } = budgetOf(20, 10, 10, 10, 10)
  await rest()
  t.equal(here(members), '..xx')
  const order: number[] = []
  const finish: (() => void)[] = []
  const running = [2, 3].map((i) =>
    use(budget, members[i], () => new Promise<void>((resolve) => finish.push(resolve))),
  )
  await rest()
  const waiting = [0, 1, 0].map((i) => use(budget, members[i], async () => void order.push(i)))
  // New users of a member that must leave wait too, so that there is an end to its use.
  const again = use(budget, members[2], async () => void order.push(2))
  await rest()
  t.same(order, [])
  t.equal(here(members), '..xx')
  finish[0]()
  await rest()
  t.same(order.slice(0, 2), [0, 0], 'the first got the room, for all of its users')
  finish[1]()
  await Promise.all([...running, ...waiting, again])
  t.same(order, [0, 0, 1, 2])
  t.equal(members[0].pagedIn, 1)
})

t.test('two that grow at once do not wait for each other', async (t) => {
  const { budget, members } = budgetOf(20, 10, 10)
  const grow = (member: Fake) =>
    use(budget, member, async () => {
      await turn()
      member.deviceBytes = 15
      await budget.settle(member)
    })
  await Promise.all(members.map(grow))
  await rest()
  t.equal(members.filter(({ isHere }) => isHere).length, 1)
  t.equal(budget.bytes, 15)
})

t.test('one that cannot leave fails who waits for its room, not who uses it', async (t) => {
  const { budget, members } = budgetOf(10, 10, 10)
  await rest()
  t.equal(here(members), '.x')
  members[1].failure = new Error('stuck')
  await t.rejects(use(budget, members[0]), { message: 'stuck' })
  await use(budget, members[1])
  members[1].failure = undefined
  await use(budget, members[0])
  t.equal(here(members), 'x.')
})

t.test('one that cannot come fails its users and holds up nobody', async (t) => {
  const { budget, members } = budgetOf(10, 10, 10)
  await rest()
  members[0].failure = new Error('broken')
  const users = [use(budget, members[0]), use(budget, members[0]), use(budget, members[1])]
  const settled = await Promise.allSettled(users)
  t.same(
    settled.map(({ status }) => status),
    ['rejected', 'rejected', 'fulfilled'],
  )
  members[0].failure = undefined
  await use(budget, members[0])
  t.equal(members[0].pagedIn, 1)
  t.equal(budget.bytes, 10)
})

t.test('what was removed makes room', async (t) => {
  const { budget, members } = budgetOf(10, 10, 10)
  await budget.remove(members[0])
  t.equal(members[0].pagedOut, 1, 'it was leaving, and had left when it was removed')
  await budget.remove(members[1])
  t.equal(budget.bytes, 0)
  t.throws(() => budget.acquire(members[0]), { code: 'INTERNAL' })
})

t.test('a device without room gets some from all who are idle, once', async (t) => {
  const { budget, members } = budgetOf(Number.POSITIVE_INFINITY, 10, 10, 10)
  let tries = 0
  const task = async () => {
    if (++tries === 1) throw new DeviceFull('no room')
    return 'done'
  }
  await use(budget, members[1], async () => void t.equal(await budget.withRoom(task), 'done'))
  t.equal(here(members), '.x.')
  const always = async () => {
    tries++
    throw new DeviceFull('no room')
  }
  tries = 0
  await t.rejects(budget.withRoom(always), { code: 'OUT_OF_DEVICE_MEMORY' })
  t.equal(tries, 2)
  tries = 0
  await t.rejects(budget.withRoom(always), { code: 'OUT_OF_DEVICE_MEMORY' })
  t.equal(tries, 1, 'there was nobody left to make room')
})

t.test('whatever is done, everybody gets a turn and the budget holds', async (t) => {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  const random = new Random(seed)
  const sizes = Array.from({ length: 12 }, () => random.below(40))
  const { budget, members } = budgetOf(100, ...sizes)
  let done = 0
  const user = async () => {
    for (let i = 0; i < 50; i++) {
      const member = random.pick(members)
      await use(budget, member, async () => {
        if (!member.isHere) t.fail('it is used while it is away')
        for (let turns = random.below(4); turns > 0; turns--) await turn()
        if (random.chance(0.3)) {
          member.deviceBytes = random.below(40)
          await budget.settle(member)
        }
        if (!member.isHere) t.fail('it left while it was used')
      })
      done++
    }
  }
  await Promise.all(Array.from({ length: 10 }, user))
  await rest()
  t.equal(done, 500)
  const bytes = members.reduce((sum, { isHere, deviceBytes }) => sum + (isHere ? deviceBytes : 0), 0)
  t.equal(budget.bytes, bytes)
  t.ok(bytes <= 100, `${bytes} bytes at rest`)
})

t.test('when the device is lost those who wait for a member that was to leave learn of it', async (t) => {
  const { budget, members } = budgetOf(10, 10, 10)
  await rest()
  const [away, used] = members[0]!.isHere ? [members[1]!, members[0]!] : [members[0]!, members[1]!]
  t.equal(budget.acquire(used), undefined)
  const came: string[] = []
  void budget.acquire(away)?.then(() => came.push('away'))
  void budget.acquire(used)?.then(() => came.push('used'))
  used.failure = new WarpdexError('DEVICE_LOST', 'the device was lost')
  budget.release(used)
  await rest()
  t.same(came, ['used'], 'it fails, and the rebuild gets its turn')
  budget.release(used)
  await budget.remove(used)
  await rest()
  t.same(came, ['used', 'away'])
})

t.test('those who use several at once get all of them, whatever others do', async (t) => {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  const random = new Random(seed)
  const { budget, members } = budgetOf(100, 40, 40, 40, 30, 30, 90)
  let wrong = 0
  let done = 0
  const tasks = Array.from({ length: 200 }, async () => {
    const count = 1 + random.below(3)
    const wanted = [...new Set(Array.from({ length: count }, () => random.pick(members)))]
    const turns = random.below(5)
    for (let i = random.below(300); i > 0; i--) await turn()
    await (wanted.length === 1 ? budget.acquire(wanted[0]) : budget.acquireAll(wanted))
    for (let i = 0; i <= turns; i++) {
      if (!wanted.every(({ isHere }) => isHere)) wrong++
      await turn()
    }
    for (const member of wanted) budget.release(member)
    done++
  })
  await Promise.all(tasks)
  t.equal(wrong, 0)
  t.equal(done, 200)
  await rest()
  await use(budget, members[0])
  await budget.settle(members[0])
  t.ok(budget.bytes <= 100, 'what was passed is made up for')
})

t.test('a member that cannot come frees those that its companions have', async (t) => {
  const { budget, members } = budgetOf(100, 60, 60)
  const [one, other] = members
  await use(budget, one)
  await use(budget, other)
  one.failure = new WarpdexError('INTERNAL', 'on purpose')
  await t.rejects(budget.acquireAll([other, one]), { message: 'on purpose' })
  one.failure = undefined
  await budget.acquireAll([other, one])
  t.equal(here(members), 'xx')
  budget.release(one)
  budget.release(other)
})
