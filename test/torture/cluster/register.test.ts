import t from 'tap'
import { Random, seedOfRun } from '../../random.js'
import { type Act, explainFollower, explainHistory, type Operation, type Value } from './register.js'

const NEVER = Number.POSITIVE_INFINITY

function put(value: Value, begin: number, end: number): Operation {
  return { act: { kind: 'write', value }, begin, end }
}
function read(value: Value, begin: number, end: number): Operation {
  return { act: { kind: 'read', value }, begin, end }
}
function swap(expected: Value, value: Value, [begin, end]: [number, number], refused = false): Operation {
  return { act: { kind: 'swap', expected, value, refused }, begin, end }
}

const RIGHT: Readonly<Record<string, readonly Operation[]>> = {
  'nothing at first': [read(undefined, 1, 2), put(1, 3, 4), read(1, 5, 6)],
  'a write that is seen before it is answered': [put(1, 1, 9), read(undefined, 2, 3), read(1, 4, 5)],
  'reads at one time, on both sides of a write': [put(1, 1, 9), read(1, 2, 8), read(undefined, 3, 7)],
  'writes at one time, in either order': [put(1, 1, 9), put(2, 2, 8), read(2, 10, 11), read(2, 12, 13)],
  'a delete': [put(1, 1, 2), put(undefined, 3, 4), read(undefined, 5, 6)],
  'an unanswered write that takes effect late': [
    put(1, 1, NEVER),
    put(2, 2, 3),
    read(2, 4, 5),
    read(1, 6, 7),
    put(3, 8, 9),
    read(3, 10, 11),
  ],
  'an unanswered write that never does': [put(1, 1, 2), put(2, 3, NEVER), read(1, 4, 5), read(1, 90, 91)],
  'unanswered deletes, each of which is seen': [
    put(1, 1, 2),
    put(undefined, 3, NEVER),
    put(undefined, 3, NEVER),
    read(undefined, 4, 5),
    put(2, 6, 7),
    read(undefined, 8, 9),
  ],
  swaps: [put(1, 1, 2), swap(1, 2, [3, 4]), swap(1, 3, [5, 6], true), read(2, 7, 8)],
  'a swap that an unanswered write hinders': [
    put(1, 1, 2),
    put(2, 3, NEVER),
    swap(1, 3, [4, 5], true),
    put(4, 6, 7),
  ],
}

const WRONG: Readonly<Record<string, readonly Operation[]>> = {
  'a stale read': [put(1, 1, 2), put(2, 3, 4), read(1, 5, 6)],
  'a lost write': [put(1, 1, 2), read(undefined, 3, 4)],
  'a value that nobody wrote': [put(1, 1, 2), read(7, 3, 4)],
  'a read before the write': [read(1, 1, 2), put(1, 3, 4)],
  'a write that takes effect twice': [put(1, 1, 2), put(2, 3, 4), read(2, 5, 6), read(1, 7, 8)],
  'an unanswered write that takes effect twice': [
    put(1, 1, NEVER),
    read(1, 2, 3),
    put(2, 4, 5),
    read(2, 6, 7),
    read(1, 8, 9),
  ],
  'reads that go back while a write is under way': [put(1, 1, 9), read(1, 2, 3), read(undefined, 4, 5)],
  'a delete that is undone': [put(1, 1, 2), put(undefined, 3, 4), read(1, 5, 6)],
  'one unanswered delete that is seen twice': [
    put(1, 1, 2),
    put(undefined, 3, NEVER),
    read(undefined, 4, 5),
    put(2, 6, 7),
    read(undefined, 8, 9),
  ],
  'two swaps of one value': [put(1, 1, 2), swap(1, 2, [3, 6]), swap(1, 3, [4, 5])],
  'a batch of which reads of one key see a part, and later ones of another key do not': [
    put(1, 1, 2),
    put(2, 3, 9),
    read(2, 4, 5),
    read(1, 6, 7),
  ],
  'an unanswered batch of which one key has a part': [
    put(1, 1, 2),
    put(2, 3, NEVER),
    read(1, 10, 11),
    read(2, 12, 13),
    read(1, 14, 15),
  ],
  'a swap that is refused without a reason': [put(1, 1, 2), swap(1, 2, [3, 4], true)],
}

t.test('histories that are right', async (t) => {
  for (const [name, history] of Object.entries(RIGHT)) t.equal(explainHistory(history), undefined, name)
})

t.test('histories that are wrong', async (t) => {
  for (const [name, history] of Object.entries(WRONG)) t.match(explainHistory(history), /cannot be/, name)
})

/** What clients see of a register at random moments within their operations, some of which are never answered. */
function randomHistory(random: Random): Operation[] {
  const moments = Array.from({ length: 40 }, (_, i) => ({
    at: i,
    begin: i - random.below(6),
    end: i + random.below(6),
  }))
  let value: Value
  return moments.map(({ at, begin, end }) => {
    const kind = random.pick(['write', 'write', 'read', 'read', 'read', 'swap'] as const)
    const written = random.chance(0.2) ? undefined : at
    const isLost = kind !== 'read' && random.chance(0.15)
    let act: Act = { kind: 'read', value }
    if (kind === 'write') act = { kind, value: written }
    if (kind === 'swap') {
      const expected = random.chance(0.7) ? value : -1
      act = { kind, expected, value: written, refused: !isLost && expected !== value }
    }
    const happens = !isLost || random.chance(0.5)
    if (happens && (act.kind === 'write' || (act.kind === 'swap' && act.expected === value))) value = written
    return { act, begin, end: isLost ? NEVER : end + 0.5 }
  })
}

t.test('what a register does at random is right, and no more once a read has another answer', async (t) => {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  const random = new Random(seed)
  let changed = 0
  for (let i = 0; i < 60; i++) {
    const history = randomHistory(random)
    const wrong = explainHistory(history)
    if (wrong !== undefined) {
      t.fail(wrong, { history })
      return
    }
    const last = Math.max(...history.map(({ end }) => (end === NEVER ? 0 : end)))
    // A value that was overwritten by an answered write, and all operations are over.
    const first = history.find(({ act, end }) => act.kind === 'write' && act.value !== undefined && end < 20)
    if (first === undefined) continue
    changed++
    const over = [...history, put(1000, last + 1, last + 2), read(first.act.value, last + 3, last + 4)]
    t.type(explainHistory(over), 'string', 'a stale read is found')
  }
  t.ok(changed > 10)
})

t.test('followers may be behind, and do not go back', async (t) => {
  const history = [put(1, 1, 2), put(2, 3, 4), put(3, 5, 8), put(4, 6, 9), put(5, 10, NEVER)]
  const seen = (...values: Value[]) => values.map((value, i) => read(value, 20 + i, 20.5 + i))
  t.equal(explainFollower(seen(undefined, 1, 1, 2, 4, 3, undefined, 5, 5), history), undefined)
  t.match(explainFollower(seen(2, 1), history), /has 1 after 2/)
  t.match(explainFollower(seen(1, 4, 3, 2), history), /has 2 after 4/)
  t.match(explainFollower(seen(7), history), /nobody had written/)
  t.match(explainFollower([read(3, 1, 2)], history), /nobody had written/)
})
