import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import { Random, seedOfRun } from '../../../random.js'
import { requestFrame } from '../../../wire.js'
import { u32 } from '../../engine/open-engine.js'
import { RawClient } from '../raw-client.js'
import { start } from '../start.js'
import { bareWebSocket, frameHead, frameOf, Lead, tcp, UPGRADE } from './raw-socket.js'
import { witness } from './witness.js'

const CONNECTIONS = 2000
const AT_A_TIME = 40

t.test('thousands of connections that are opened and dropped leave nothing behind', async (t) => {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  const random = new Random(seed)
  const { url, load } = await start(t)
  const endOfWatch = await witness(t, url, new Random(seed))
  const keys = { type: 'u32', bytes: u32(1, 2, 3) } as const
  const opener = await RawClient.connect(t, url)
  const opened = await opener.open('witness')
  opener.socket.terminate()
  const get = frameOf(Lead.binary, requestFrame({ id: 1, op: 'get', index: 'witness' }, { keys }, opened))
  const begun = [
    () => tcp(t, url),
    async () => {
      const socket = await tcp(t, url)
      socket.write(UPGRADE.slice(0, random.below(UPGRADE.length)))
      return socket
    },
    async () => {
      const socket = await tcp(t, url)
      socket.write(UPGRADE)
      return socket
    },
    () => bareWebSocket(t, url),
    async () => {
      const socket = await bareWebSocket(t, url)
      socket.write(Buffer.concat([get, get, frameHead(Lead.binary, 5000), Buffer.alloc(random.below(5000))]))
      return socket
    },
    async () => {
      const socket = await bareWebSocket(t, url)
      socket.write(Buffer.concat([get, frameOf(Lead.close, Uint8Array.of(3, 232)), get]))
      return socket
    },
  ]
  let left = CONNECTIONS
  const openAndDrop = async () => {
    while (left-- > 0) {
      const socket = await random.pick(begun)()
      random.pick([() => socket.end(), () => socket.destroy(), () => socket.resetAndDestroy()])()
      socket.resume()
    }
  }
  await Promise.all(Array.from({ length: AT_A_TIME }, openAndDrop))
  t.ok((await endOfWatch()) > 0)
  while (load().connections > 1) await setTimeout(10)
  t.match(load(), { connections: 1, requests: 0, requestBytes: 0, replyBytes: 0 })
})
