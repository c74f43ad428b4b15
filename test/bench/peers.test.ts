import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import t from 'tap'
import { batches } from '../../bench/peers/batches.js'
import { HashTable } from '../../bench/peers/hash-table.js'
import { columnCommand, RespClient, rangeCommand } from '../../bench/peers/resp-client.js'
import { spread } from '../../bench/peers/spread.js'
import { DataSet } from '../../clients/load-test/data-set.js'
import { KeySpace } from '../../clients/load-test/key-space.js'
import { PayloadSpace } from '../../clients/load-test/payload-space.js'
import { Random, seedOfRun } from '../random.js'

t.test('the hash table is a map, also past the room that it began with', async (t) => {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  const random = new Random(seed)
  const table = new HashTable(3, 10)
  const model = new Map<string, number[]>()
  for (let round = 0; round < 40; round++) {
    const count = 1 + random.below(200)
    // Few different words, so that keys come again, share halves, and are 0 now and then.
    const keys = Uint32Array.from({ length: 2 * count }, () => random.below(20))
    const payloads = Uint32Array.from({ length: 3 * count }, () => random.word())
    table.set(keys, payloads)
    for (let i = 0; i < count; i++) {
      model.set(keys.slice(2 * i, 2 * i + 2).join(), [...payloads.subarray(3 * i, 3 * i + 3)])
    }
    const asked = Uint32Array.from({ length: 2 * count }, () => random.below(24))
    const answer = new Uint32Array(3 * count)
    const found = new Uint8Array(Math.ceil(count / 8))
    const hits = table.get(asked, answer, found)
    let expectedHits = 0
    for (let i = 0; i < count; i++) {
      const expected = model.get(asked.slice(2 * i, 2 * i + 2).join())
      if (expected !== undefined) expectedHits++
      if (((found[i >> 3]! >> (i & 7)) & 1) !== Number(expected !== undefined)) t.fail(`bit ${i}`)
      const row = [...answer.subarray(3 * i, 3 * i + 3)]
      if (row.join() !== (expected ?? [0, 0, 0]).join()) t.fail(`payload ${i}`)
    }
    t.equal(hits, expectedHits)
  }
})

t.test('the client of Redis reads replies that come in any pieces', async (t) => {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  const random = new Random(seed)
  const accepted: Socket[] = []
  const server = createServer((socket) => accepted.push(socket)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const client = await RespClient.open(typeof address === 'object' ? address!.port : 0)
  const values: (string | undefined)[][] = [[], [], [], []]
  const sent = values.map((list, i) =>
    client.send(Buffer.from(`command ${i}\r\n`), (bytes, start, length) => {
      list.push(length < 0 ? undefined : bytes.toString('latin1', start, start + length))
    }),
  )
  // It may fail before the others are awaited.
  const failing = t.rejects(
    client.send(Buffer.from('fails\r\n'), () => t.fail('no value')),
    /ERR no/,
  )
  const replies = '*3\r\n$2\r\nab\r\n$-1\r\n$0\r\n\r\n+OK\r\n*0\r\n$4\r\n\r\n\r\n\r\n-ERR no\r\n'
  for (let at = 0; at < replies.length; ) {
    const end = at + 1 + random.below(6)
    accepted[0]!.write(replies.slice(at, end))
    at = end
    await new Promise(setImmediate)
  }
  await Promise.all(sent)
  await failing
  t.same(values, [['ab', undefined, ''], [], [], ['\r\n\r\n']])
  const unanswered = client.send(Buffer.from('late\r\n'), () => {})
  accepted[0]!.destroy()
  await t.rejects(unanswered, /gone/)
  server.close()
})

t.test('commands of columns', async (t) => {
  const keys = { bytes: Buffer.from('abcdef'), width: 2 }
  const payloads = { bytes: Buffer.from('xyz'), width: 1 }
  t.equal(
    columnCommand('MSET', 3, [keys, payloads]).toString(),
    '*7\r\n$4\r\nMSET\r\n$2\r\nab\r\n$1\r\nx\r\n$2\r\ncd\r\n$1\r\ny\r\n$2\r\nef\r\n$1\r\nz\r\n',
  )
  const ranges = rangeCommand('index', Buffer.from('01234567abcdefgh'), 100).toString()
  t.equal(ranges.split('ZRANGEBYLEX').length, 3)
  t.match(ranges, /\$9\r\n\[01234567\r\n\$1\r\n\+\r\n\$5\r\nLIMIT\r\n\$1\r\n0\r\n\$3\r\n100\r\n\*7/)
})

t.test('batches have their keys in both orders of bytes', async (t) => {
  const data = new DataSet(new KeySpace('u64', 1), new PayloadSpace('u64', 0))
  const [first, second] = batches(data, Uint32Array.of(5, 6, 7), 2)
  t.same([first!.count, second!.count], [2, 1])
  const column = new BigUint64Array(second!.words.slice().buffer)
  t.equal(second!.bigEndian.readBigUInt64BE(), column[0])
})

t.test('median and quartiles', async (t) => {
  t.same(spread([5, 1, 3, 2, 4]), { median: 3, low: 2, high: 4 })
  t.same(spread([1, 2]), { median: 1.5, low: 1.25, high: 1.75 })
  t.same(spread([7]), { median: 7, low: 7, high: 7 })
})
