import { crc32 } from 'node:zlib'
import t from 'tap'
import { encodeDataReply, encodeDataRequest } from '../../../../protocol/data-frame.js'
import {
  type DataOp,
  type DataOptions,
  type WireColumn,
  type WireColumns,
  wireColumn,
} from '../../../../protocol/data-request.js'
import { readRequest } from '../../../../protocol/messages.js'
import { Call } from '../../../../src/server/backend.js'
import { isReplyMemory, ReplyMemory } from '../../../../src/server/reply-memory.js'
import { Mailbox } from '../../../../src/server/threads/mailbox.js'
import type { ToEngine } from '../../../../src/server/threads/messages.js'
import { RemoteBackend } from '../../../../src/server/threads/remote-backend.js'
import { getFrame } from '../get-frame.js'

t.test('the columns of large writes come with their checksums', async (t) => {
  const sent: ToEngine[] = []
  const postMessage = (messages: readonly ToEngine[]) => void sent.push(...messages)
  const backend = new RemoteBackend(new Mailbox<ToEngine>({ postMessage }, () => {}))
  const large = wireColumn(
    'bytes',
    Uint8Array.from({ length: 100_000 }, (_, i) => i * 7),
  )
  const small = wireColumn('bytes', Uint8Array.of(1, 2, 3))
  const writes: readonly [DataOp, WireColumns][] = [
    ['insert', { keys: large, payloads: small }],
    ['load', { keys: small, payloads: large }],
    ['write', { keys: large, ops: small, payloads: large }],
    ['delete', { keys: large }],
    ['get', { keys: large }],
  ]
  for (const [op, columns] of writes) {
    const frame = encodeDataRequest({ id: 1, op, handle: 1, generation: 1, count: 1, columns })
    void backend.call(new Call(readRequest(frame), frame, 1, undefined))
  }
  await new Promise((resolve) => setImmediate(resolve))
  const checksum = crc32(large.bytes)
  const checksums = sent.map((message) => (message.kind === 'call' ? message.checksums : 'none'))
  t.strictSame(checksums, [
    { keys: checksum, payloads: undefined },
    { keys: undefined, payloads: checksum },
    { keys: checksum, payloads: checksum },
    { keys: checksum, payloads: undefined },
    undefined,
  ])
})

t.test('small gets of several connections go together, and are cancelled once all of them are', async (t) => {
  const sent: ToEngine[] = []
  const postMessage = (messages: readonly ToEngine[]) => void sent.push(...messages)
  const backend = new RemoteBackend(new Mailbox<ToEngine>({ postMessage }, () => {}))
  const turn = () => new Promise((resolve) => setImmediate(resolve))
  const calls = [30, 20].map((deadline, connection) => {
    const frame = getFrame(Uint32Array.of(connection), deadline)
    const call = new Call(readRequest(frame), frame, connection, undefined)
    void backend.call(call)
    return call
  })
  await turn()
  const [call] = sent
  if (sent.length !== 1 || call?.kind !== 'call') throw new Error('they did not go together')
  const request = readRequest(call.frame)
  t.match(
    request,
    { op: 'get', count: 16, deadline: 30 },
    'each begins at a multiple of eight, and the last one waits longest',
  )
  calls[0]!.cancel()
  await turn()
  t.equal(sent.length, 1, 'somebody still waits')
  calls[1]!.cancel()
  await turn()
  t.strictSame(sent[1], { kind: 'cancel', number: call.number })
})

t.test('gets that come one by one while another is under way go together once it is answered', async (t) => {
  const sent: ToEngine[] = []
  const postMessage = (messages: readonly ToEngine[]) => void sent.push(...messages)
  const backend = new RemoteBackend(new Mailbox<ToEngine>({ postMessage }, () => {}))
  const turn = () => new Promise((resolve) => setImmediate(resolve))
  for (const connection of [1, 2, 3]) {
    const frame = getFrame(Uint32Array.of(connection))
    void backend.call(new Call(readRequest(frame), frame, connection, undefined))
    await turn()
  }
  const [first, ...others] = sent
  if (first?.kind !== 'call') throw new Error('the first one waits')
  t.equal(others.length, 0)
  const columns = {
    found: wireColumn('u8', Uint8Array.of(1)),
    payloads: wireColumn('bytes', new Uint8Array(4)),
  }
  backend.settle({ kind: 'reply', number: first.number, result: { columns }, lent: false })
  await turn()
  const [, second] = sent
  if (sent.length !== 2 || second?.kind !== 'call') throw new Error('they did not go together')
  t.match(readRequest(second.frame), { op: 'get', count: 16 }, 'each begins at a multiple of eight')
})

t.test('the frame of one get leaves the answers alone that share its memory', async (t) => {
  const sent: ToEngine[] = []
  const postMessage = (messages: readonly ToEngine[]) => void sent.push(...messages)
  const backend = new RemoteBackend(new Mailbox<ToEngine>({ postMessage }, () => {}))
  // The bits of the first end in the middle of eight bytes, in which those of the second begin.
  const counts = [12_808, 8]
  const replies = counts.map((count, connection) => {
    const frame = getFrame(new Uint32Array(count))
    return backend.call(new Call(readRequest(frame), frame, connection, undefined))
  })
  await new Promise((resolve) => setImmediate(resolve))
  const [call] = sent
  if (sent.length !== 1 || call?.kind !== 'call') throw new Error('they did not go together')
  const all = 12_816
  const found = Math.ceil(all / 8)
  const begin = Math.ceil(found / 8) * 8
  const memory = new ReplyMemory(0)
    .lend()
    .allocate(begin + 8 * all)
    .fill(255)
  const columns = {
    found: wireColumn('u8', memory.subarray(0, found)),
    payloads: wireColumn('bytes', memory.subarray(begin)),
  }
  backend.settle({ kind: 'reply', number: call.number, result: { columns }, lent: true })
  for (const [i, reply] of (await Promise.all(replies)).entries()) {
    const own = reply.result.columns ?? {}
    t.strictSame(own.found?.bytes, new Uint8Array(counts[i]! / 8).fill(255))
    t.equal(own.payloads?.bytes.byteLength, 8 * counts[i]!)
    encodeDataReply({ id: 1, op: 'get', columns: own }, isReplyMemory(own.found!.bytes))
  }
})

t.test('small steps of walks that ask alike go together, each with its own part of the answer', async (t) => {
  const sent: ToEngine[] = []
  const postMessage = (messages: readonly ToEngine[]) => void sent.push(...messages)
  const backend = new RemoteBackend(new Mailbox<ToEngine>({ postMessage }, () => {}))
  const ask = (keys: number[], sequences: number[] | undefined, options: Partial<DataOptions> = {}) => {
    const columns = {
      keys: wireColumn('u32', Uint32Array.from(keys)),
      ...(sequences && { sequences: wireColumn('u32', Uint32Array.from(sequences)) }),
    }
    const op = options.withSequences ? 'get' : 'getNext'
    const request = { id: 1, op, handle: 1, generation: 1, count: keys.length, columns, ...options } as const
    const frame = encodeDataRequest(request)
    return backend.call(new Call(readRequest(frame), frame, 1, undefined))
  }
  const forwards = [ask([1, 2], [0, 3]), ask([7], [5])]
  const others = [
    ask([1], undefined),
    ask([2], [0], { reverse: true }),
    ask([3], undefined, { withSequences: true }),
  ]
  // Too many sequences, which the engine is to refuse.
  const wrong = ask([4], [0, 0])
  await new Promise((resolve) => setImmediate(resolve))
  const requests = sent.flatMap((message) => (message.kind === 'call' ? [readRequest(message.frame)] : []))
  t.match(
    requests.map(({ op, ...request }) => [op, 'count' in request && request.count]),
    [
      ['getNext', 1],
      ['getNext', 16],
      ['getNext', 1],
      ['getNext', 1],
      ['get', 1],
    ],
  )
  const together = sent.find((message) => message.kind === 'call' && message.frame.byteLength > 150)
  if (together?.kind !== 'call') throw new Error('they did not go together')
  const request = readRequest(together.frame)
  if (!('handle' in request)) throw new Error('they are none for data')
  const numbers = ({ bytes }: WireColumn) => [...new Uint32Array(bytes.slice().buffer)]
  t.strictSame(numbers(request.columns.sequences!), [0, 3, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0])
  const texts = Array.from({ length: 16 }, (_, i) => 'x'.repeat(i))
  const ends = Uint32Array.from({ length: 17 }, (_, i) => (i * (i - 1)) / 2)
  const columns = {
    found: wireColumn('u8', Uint8Array.of(0b10, 0xff)),
    keys: wireColumn(
      'u32',
      Uint32Array.from({ length: 16 }, (_, i) => 100 + i),
    ),
    payloads: wireColumn('bytes', Buffer.from(texts.join('')), ends),
    sequences: wireColumn(
      'u32',
      Uint32Array.from({ length: 16 }, (_, i) => i),
    ),
  }
  backend.settle({ kind: 'reply', number: together.number, result: { columns }, lent: false })
  const replies = (await Promise.all(forwards)).map(({ result }) => result.columns ?? {})
  t.strictSame(
    replies.map(({ found }) => [...found!.bytes]),
    [[0b10], [1]],
  )
  t.strictSame(
    replies.map(({ keys }) => numbers(keys!)),
    [[100, 101], [108]],
  )
  t.strictSame(
    replies.map(({ sequences }) => numbers(sequences!)),
    [[0, 1], [8]],
  )
  t.strictSame(
    replies.map(({ payloads }) => [
      Buffer.from(payloads!.bytes).toString(),
      numbers(wireColumn('u8', payloads!.offsets!)),
    ]),
    [
      ['x', [0, 0, 1]],
      ['x'.repeat(8), [0, 8]],
    ],
  )
  void Promise.allSettled([...others, wrong])
})
