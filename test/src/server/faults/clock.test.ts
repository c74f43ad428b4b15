import { setTimeout } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { connect } from '../../../../clients/sdk/index.js'
import { PROTOCOL_VERSION, type Section } from '../../../../protocol/frame.js'
import { Random } from '../../../random.js'
import { u32, values } from '../../engine/open-engine.js'
import { RawClient } from '../raw-client.js'
import { start } from '../start.js'
import { witness } from './witness.js'

const DAY = 86_400_000
/** A day forward, a day back, and beyond. */
const JUMPS = [DAY, -DAY, -2 * DAY, 3 * DAY, 0]

/** Sets the clock; it goes on from there until the test ends. */
function clockOf(t: Test): (jump: number) => void {
  const { now } = Date
  t.teardown(() => {
    Date.now = now
  })
  return (jump) => {
    Date.now = () => now() + jump
  }
}

t.test('a clock that jumps ends no wait early and none late, and forgets nothing', async (t) => {
  const set = clockOf(t)
  const limits = { pingSeconds: 0.3, stallSeconds: 0.5 }
  const server = await start(t, {}, { limits })
  const endOfWatch = await witness(t, server.url, new Random(1))
  const client = await RawClient.connect(t, server.url)
  await client.ask({ id: 0, op: 'hello', protocol: PROTOCOL_VERSION, client: 'somebody' })
  const numbers = { index: 'numbers', keyType: 'u32', payloadKind: 'u32', unique: false }
  await client.ask({ id: 0, op: 'createIndex', ...numbers })
  const keys: Section = { type: 'u32', bytes: u32(1) }
  const payloads: Section = { type: 'bytes', bytes: u32(5) }
  const write = (writeId: number) =>
    client.ask({ id: writeId, op: 'insert', index: 'numbers', writeId }, { keys, payloads })
  const counted = async () => {
    const { sections } = await client.ask({ id: 99, op: 'count', index: 'numbers' }, { keys })
    return values(sections.get('counts')!.bytes)
  }
  const waiting = await connect(server.url)
  t.teardown(() => waiting.close())
  for (const [i, jump] of JUMPS.entries()) {
    t.match((await write(i)).header, { ok: true })
    set(jump)
    t.match((await write(i)).header, { ok: true })
    t.strictSame(await counted(), [i + 1], 'a write that is sent again after the jump is known')
    t.ok(await waiting.listIndexes({ deadline: 60_000 }))
    await setTimeout(150)
  }
  const { uptimeSeconds } = server.engine.stats().server
  t.ok(uptimeSeconds >= 0 && uptimeSeconds < 3600, `up for ${uptimeSeconds} seconds`)
  t.ok((await endOfWatch()) > 0)
  t.equal(server.load().connections, 3, 'nobody was given up')
})
