import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import { type Followers, RequestQueue } from '../../../src/engine/request-queue.js'

/** A queue whose tasks are ended by hand, and the trace of what started. */
function openQueue() {
  const started: string[] = []
  const ends = new Map<string, () => void>()
  const run = (name: string) => () =>
    new Promise<void>((resolve) => {
      started.push(name)
      ends.set(name, resolve)
    })
  const queue = new RequestQueue<string>(
    (writes) => run(writes.join('+'))(),
    () => 0.5,
  )
  const end = async (name: string) => {
    ends.get(name)!()
    await setImmediate()
  }
  return { queue, run, end, started }
}

t.test('reads overlap; writes wait for them, go together, and hold up what follows', async (t) => {
  const { queue, run, end, started } = openQueue()
  const reads = [queue.read(run('r1')), queue.read(run('r2'))]
  for (const write of ['w1', 'w2', 'w3']) queue.write(write)
  reads.push(queue.read(run('r3')))
  const alone = queue.exclusive(run('x'))
  reads.push(queue.read(run('r4')))
  t.same(started, ['r1', 'r2'])
  await end('r2')
  t.same(started, ['r1', 'r2'])
  await end('r1')
  t.equal(started.at(-1), 'w1+w2')
  await end('w1+w2')
  t.equal(started.at(-1), 'w3')
  await end('w3')
  t.equal(started.at(-1), 'r3')
  await end('r3')
  t.equal(started.at(-1), 'x')
  await end('x')
  t.equal(started.at(-1), 'r4')
  await end('r4')
  await Promise.all([...reads, alone])
})

t.test('a task that fails fails alone', async (t) => {
  const { queue } = openQueue()
  const fail = async () => {
    throw new Error('on purpose')
  }
  await t.rejects(queue.read(fail), { message: 'on purpose' })
  await t.rejects(queue.exclusive(fail), { message: 'on purpose' })
  t.equal(await queue.read(async () => 7), 7)
})

t.test(
  'a batch of writes is told of those behind it, if they are of its kind and no other request is between',
  async (t) => {
    const batches: string[] = []
    const arrived: string[] = []
    let followers: Followers<string> | undefined
    let end = () => {}
    const queue = new RequestQueue<string>(
      (writes, behind) => {
        batches.push(writes.join('+'))
        followers = behind
        return new Promise<void>((resolve) => {
          end = resolve
        })
      },
      () => 0.5,
      (write) => write[0],
    )
    const expect = async (name: string) => {
      void followers!.arrival().then(() => arrived.push(name))
      await setImmediate()
    }
    queue.write('a1')
    await expect('alone')
    t.same(arrived, [])
    t.same(followers!.take(), [])
    queue.write('a2')
    await setImmediate()
    t.same(arrived, ['alone'])
    queue.write('a3')
    t.same(followers!.take(), ['a2', 'a3'])
    const read = queue.read(async () => {})
    queue.write('a4')
    await expect('behind a read')
    t.same(followers!.take(), [])
    end()
    await read
    await setImmediate()
    queue.write('b1')
    await expect('of another kind')
    t.same(followers!.take(), [])
    t.same(arrived, ['alone'])
    t.same(batches, ['a1', 'a4'])
    end()
  },
)
