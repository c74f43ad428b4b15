import t from 'tap'
import { Checker } from '../../../clients/load-test/checker.js'
import { DataSet } from '../../../clients/load-test/data-set.js'
import { Items } from '../../../clients/load-test/items.js'
import { KeySpace, type TestKeyType } from '../../../clients/load-test/key-space.js'
import { PayloadSpace } from '../../../clients/load-test/payload-space.js'
import type { Request } from '../../../clients/load-test/requests.js'
import type { ReadAnswer, ScanAnswer } from '../../../clients/load-test/target.js'

const RECORDS = 100

function setUp(keyType: TestKeyType = 'u64') {
  const data = new DataSet(new KeySpace(keyType, 7), new PayloadSpace('fixed(16)', 0))
  const checker = new Checker(data, new Items(RECORDS, 0, 1), RECORDS, 0, 1)
  const request = (...items: number[]): Request => {
    const numbers = Uint32Array.from(items)
    const keys = data.keyColumn(numbers, numbers.length, new Uint32Array(numbers.length * data.keys.words))
    return { operation: 'read', items: numbers, keys, limit: 10, place: 0 }
  }
  const answer = ({ keys }: Request, ...versions: (number | undefined)[]): ReadAnswer => ({
    row: (i) => {
      const version = versions[i]
      return version === undefined
        ? undefined
        : data.payloadRows(keys, version, data.payloads.room(keys.count)).bytes.slice(16 * i, 16 * i + 16)
    },
  })
  const failures = () => checker.verification.failures
  return { data, checker, request, answer, failures }
}

t.test('a key must be there, with a payload of its own', async (t) => {
  const { checker, request, answer, failures } = setUp()
  const read = request(1, 2)
  checker.read(read, answer(read, 0, 3), checker.beginRead(read))
  t.equal(failures(), 0)
  checker.read(read, answer(read, 0, undefined), checker.beginRead(read))
  t.equal(failures(), 1)
  checker.read(read, answer(request(2, 1), 0, 0), checker.beginRead(read))
  t.equal(failures(), 3)
  t.match(checker.verification, { checked: 6, examples: [/is not found$/, /never written/, /never written/] })
})

t.test('a read after an acknowledged write does not see what it has overwritten', async (t) => {
  const { checker, request, answer, failures } = setUp()
  const key = request(5)
  const early = checker.beginRead(key)
  const first = checker.beginWrite()
  const second = checker.beginWrite()
  checker.endWrite(second, key)
  // The first write may still come after the second; what was there before both may not be seen any more.
  checker.read(key, answer(key, first.version), checker.beginRead(key))
  checker.read(key, answer(key, 0), early)
  t.equal(failures(), 0)
  checker.read(key, answer(key, 0), checker.beginRead(key))
  t.equal(failures(), 1)
  checker.endWrite(first, key)
  const third = checker.beginWrite()
  checker.read(key, answer(key, first.version), checker.beginRead(key))
  t.equal(failures(), 1, 'the third is not acknowledged')
  checker.endWrite(third, key)
  checker.read(key, answer(key, second.version), checker.beginRead(key))
  t.equal(failures(), 2)
  checker.read(key, answer(key, third.version), checker.beginRead(key))
  t.equal(failures(), 2)
})

t.test('a write that failed may still come', async (t) => {
  const { checker, request, answer, failures } = setUp()
  const key = request(5)
  const failed = checker.beginWrite()
  checker.endWrite(checker.beginWrite(), key)
  checker.endWrite(checker.beginWrite(), key)
  checker.read(key, answer(key, failed.version), checker.beginRead(key))
  t.equal(failures(), 0)
})

t.test('scans are in order and leave out no key of the data set', async (t) => {
  for (const keyType of ['u32', 'u64', 'i64', 'f64', 'string', 'bytes'] as const) {
    const { data, checker, request, failures } = setUp(keyType)
    const { words: width } = data.keys
    const all = request(...Array.from({ length: RECORDS }, (_, i) => i))
    const row = (i: number) => Buffer.from(all.keys.words.buffer, 4 * width * i, 4 * width)
    const value = (i: number) => {
      const column = all.keys.keys
      return 'offsets' in column ? row(i).toString('latin1') : column[i]
    }
    const order = Array.from({ length: RECORDS }, (_, i) => i).sort((a, b) => (value(a) < value(b) ? -1 : 1))
    const scan = (items: number[], more = true): ScanAnswer => {
      const { keys } = request(...items)
      const { bytes } = data.payloadRows(keys, 0, data.payloads.room(items.length))
      return {
        offsets: Uint32Array.of(0, items.length),
        words: keys.words,
        row: (entry) => bytes.subarray(16 * entry, 16 * entry + 16),
        more: () => more,
      }
    }
    const from = request(order[20])
    const right = order.slice(20, 30)
    checker.scan(from, scan(right))
    checker.scan(request(order[95]), scan(order.slice(95), false))
    t.equal(failures(), 0, keyType)
    const wrong = [
      scan([]),
      scan(order.slice(20, 31)),
      scan(right.slice(0, 9)),
      scan(order.slice(21, 31)),
      scan([...right.slice(0, 4), right[5], right[4], ...right.slice(6)]),
    ]
    wrong.forEach((answer, i) => {
      checker.scan(from, answer)
      t.equal(failures(), i + 1, `${keyType}: wrong scan ${i}`)
    })
    if (width > 2) continue
    checker.scan(from, scan([...right.slice(0, 4), ...order.slice(25, 31)]))
    checker.scan(from, scan(right.slice(0, 5), false))
    t.equal(failures(), wrong.length + 2, `${keyType}: keys are left out`)
  }
})

t.test('inserted items are in turns, and stored when all before them are', async (t) => {
  const items = new Items(100, 1, 3)
  t.equal(items.take(10), 100)
  t.equal(items.take(5), 110)
  const numbers = Uint32Array.of(7, 100, 101, 110)
  items.number(numbers, 4)
  t.same([...numbers], [7, 101, 104, 131])
  t.same(
    [...numbers].map((number) => items.place(number)),
    [7, 100, 101, 110],
  )
  items.acknowledge(110, 5)
  t.equal(items.stored, 100)
  items.acknowledge(100, 10)
  t.equal(items.stored, 115)
})
