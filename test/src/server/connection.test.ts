import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { LIMITS } from '../../../protocol/limits.js'
import { loadConfig } from '../../../src/config/load.js'
import { Meters } from '../../../src/observe/meters.js'
import { Rights } from '../../../src/server/access/rights.js'
import { Connection } from '../../../src/server/connection.js'
import { Flow } from '../../../src/server/flow/flow.js'
import { flowLimits } from '../../../src/server/flow/flow-limits.js'
import type { EngineGate } from '../../../src/server/gate/engine-gate.js'
import { createWebSocketServer } from '../../../src/server/web-sockets.js'
import { RawClient } from './raw-client.js'

/** A client whose connection has such a gate. */
async function clientOf(t: Test, gate: Pick<EngineGate, 'ask'>): Promise<RawClient> {
  const flow = new Flow(flowLimits(loadConfig({ flags: {} })))
  const grant = { who: 'anyone', rights: Rights.all }
  const meters = new Meters()
  const meter = { received: (bytes: number) => meters.received(bytes), slowConsumer: () => {} }
  const adapter = { name: 'none', software: true }
  const http = createServer()
  const webSockets = createWebSocketServer()
  http.on('upgrade', (request, stream, head) =>
    webSockets.handleUpgrade(request, stream, head, (socket) => {
      const context = { gate: { ...gate, adapter, left: () => {} }, number: 0, grant, flow, meter }
      new Connection(socket, stream, context)
    }),
  )
  http.listen(0, '127.0.0.1')
  await once(http, 'listening')
  t.teardown(() => {
    flow.close()
    http.close()
  })
  const { port } = http.address() as AddressInfo
  return RawClient.connect(t, `ws://127.0.0.1:${port}`)
}

t.test('the memory of a reply that is too large for a frame is given back', async (t) => {
  let released = 0
  const client = await clientOf(t, {
    ask: async () => ({
      fields: {},
      sections: { payloads: { type: 'bytes', bytes: new Uint8Array(LIMITS.frameBytes) } },
      release: () => {
        released++
      },
    }),
  })
  const { header } = await client.ask({ id: 1, op: 'listIndexes' })
  t.match(header, { ok: false, error: { code: 'TOO_LARGE' } })
  t.equal(released, 1)
})
