import t from 'tap'
import { decodeFrame, encodeFrame, type Sections } from '../../../protocol/frame.js'
import { parseRequest } from '../../../protocol/parse-request.js'
import { readMessage } from '../../../src/server/read-message.js'
import { Random, seedOfRun } from '../../random.js'

const column = (random: Random, bytes: number): Uint8Array => random.bytes(bytes)

/** A request, or what is nearly one. */
function someFrame(random: Random): Uint8Array {
  const id = random.pick([random.below(128), random.below(256), random.below(65_536), random.word(), 2 ** 40])
  const keys = {
    type: random.pick(['u32', 'u64'] as const),
    bytes: column(random, 8 * (1 + random.below(2))),
  }
  const keyOffsets = { type: 'u32' as const, bytes: column(random, 8) }
  const sections: Sections = random.chance(0.2) ? { keyOffsets, keys } : { keys }
  const header = {
    id,
    op: random.pick(['get', 'get', 'count']),
    index: random.pick(['a', 'b']),
    ...(random.chance(0.2) && { all: true }),
    ...(random.chance(0.1) && { strategy: 'hierarchical' }),
    ...(random.chance(0.05) && { misspelt: 1 }),
  }
  return encodeFrame(header, sections)
}

t.test('a request that begins as one before is read as if it were the first', (t) => {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  const random = new Random(seed)
  let read = 0
  for (let i = 0; i < 4000; i++) {
    const frame = someFrame(random)
    const message = readMessage(frame, true)
    let wanted: unknown
    try {
      wanted = parseRequest(decodeFrame(frame))
    } catch {
      if (message.request !== undefined) t.fail(`frame ${i} was no request`)
      continue
    }
    if (message.request === undefined) t.fail(message.error.message)
    else if (!t.strictSame(message.request, wanted)) break
    read++
  }
  t.ok(read > 2000, `${read} were requests`)
  t.end()
})

t.test('requests do not share their keys', (t) => {
  const first = encodeFrame(
    { id: 1, op: 'get', index: 'a' },
    { keys: { type: 'u32', bytes: Uint8Array.of(1, 0, 0, 0) } },
  )
  const second = encodeFrame(
    { id: 2, op: 'get', index: 'a' },
    { keys: { type: 'u32', bytes: Uint8Array.of(2, 0, 0, 0) } },
  )
  const keysOf = (frame: Uint8Array) => {
    const { request } = readMessage(frame, true)
    return request?.op === 'get' ? request.keys.bytes : undefined
  }
  const [one, other] = [keysOf(first), keysOf(second)]
  t.same([...(one ?? [])], [1, 0, 0, 0])
  t.same([...(other ?? [])], [2, 0, 0, 0])
  t.end()
})
