import t from 'tap'
import { MessageBoundaries } from '../../../../src/server/threads/message-boundaries.js'
import { Random, seedOfRun } from '../../../random.js'
import { frameHead, frameOf, Lead } from '../faults/raw-socket.js'

const NOT_FIN = 0x7f

t.test('messages end where their last frame does, however the bytes are cut', async (t) => {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  const random = new Random(seed)
  const lengths = [0, 1, 100, 125, 126, 127, 1000, 65_535, 65_536, 70_000]
  const frames: Buffer[] = []
  const ends: number[] = []
  let at = 0
  const add = (lead: number, isEnd: boolean) => {
    const frame = frameOf(lead, Buffer.alloc(random.pick(lengths), 0x82))
    frames.push(frame)
    at += frame.length
    if (isEnd) ends.push(at)
  }
  for (let i = 0; i < 60; i++) {
    const fragments = random.chance(0.3) ? 1 + random.below(3) : 0
    for (let j = 0; j < fragments; j++) {
      add((j === 0 ? Lead.binary : Lead.continuation) & NOT_FIN, false)
      if (random.chance(0.5)) add(Lead.ping, false)
    }
    add(fragments > 0 ? Lead.continuation : Lead.binary, true)
    if (random.chance(0.2)) add(Lead.pong, true)
  }
  const bytes = Buffer.concat(frames)
  for (const most of [1, 7, 200, 66_000, bytes.length]) {
    const boundaries = new MessageBoundaries()
    const found: number[] = []
    for (let start = 0; start < bytes.length; ) {
      const chunk = bytes.subarray(start, start + (most === bytes.length ? most : 1 + random.below(most)))
      if (boundaries.between !== (start === 0 || ends.includes(start))) t.fail(`cut at ${start}`)
      found.push(...boundaries.advance(chunk).map((end) => start + end))
      start += chunk.length
    }
    t.strictSame(found, ends, `pieces of up to ${most}`)
    t.ok(boundaries.between)
  }
})

t.test('lengths of 16 bits, and frames without a mask', async (t) => {
  const boundaries = new MessageBoundaries()
  const long = Buffer.concat([Uint8Array.of(Lead.binary, 0x80 | 126, 1, 0, 9, 9, 9, 9), Buffer.alloc(256)])
  t.strictSame(boundaries.advance(long), [264])
  t.strictSame(boundaries.advance(Uint8Array.of(Lead.binary, 2, 1, 1, Lead.binary, 0)), [4, 6])
  t.strictSame(boundaries.advance(frameHead(Lead.binary, 5)), [])
  t.notOk(boundaries.between)
})
