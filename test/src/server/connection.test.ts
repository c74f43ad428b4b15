import t, { type Test } from 'tap'
import { connect } from '../../../clients/sdk/index.js'
import { wireColumn } from '../../../protocol/data-request.js'
import { LIMITS } from '../../../protocol/limits.js'
import { loadConfig } from '../../../src/config/load.js'
import { Meters } from '../../../src/observe/meters.js'
import type { Backend } from '../../../src/server/backend.js'
import { Backpressure } from '../../../src/server/backpressure/backpressure.js'
import { backpressureLimits } from '../../../src/server/backpressure/backpressure-limits.js'
import { Listener } from '../../../src/server/listener.js'
import { RawClient } from './raw-client.js'

function listenerOf(t: Test, backend: Backend): Listener {
  const backpressure = new Backpressure(backpressureLimits(loadConfig({ flags: {} })))
  const meters = new Meters()
  const address = { host: '127.0.0.1', port: 0 }
  const options = { address, tls: undefined, maxConnections: 1, handshakeSeconds: 10 }
  const observer = { threshold: Number.POSITIVE_INFINITY, answered: () => {} }
  const listener = new Listener(options, {
    backend,
    backpressure,
    meters,
    observer,
    onSlowConsumer: () => {},
  })
  t.teardown(async () => {
    await listener.close()
    backpressure.close()
  })
  return listener
}

const introduction = { adapter: { name: 'none', software: true } }

t.test('the memory of a reply that is too large for a frame is given back', async (t) => {
  let released = 0
  const backend: Backend = {
    introduction,
    admit: async () => ({ connection: 0, who: 'anyone', introduction }),
    left: () => {},
    visit: async () => ({ status: 200, type: 'text/plain', body: '' }),
    call: async () => ({
      result: { fields: {}, sections: { data: wireColumn('bytes', new Uint8Array(LIMITS.frameBytes)) } },
      memory: {
        release: () => {
          released++
        },
      },
    }),
  }
  const listener = listenerOf(t, backend)
  const client = await RawClient.connect(t, `ws://127.0.0.1:${await listener.listen()}`)
  const { header } = await client.ask({ id: 1, op: 'listIndexes' })
  t.match(header, { ok: false, error: { code: 'TOO_LARGE' } })
  t.equal(released, 1)
})

t.test('a client goes where it is redirected to', async (t) => {
  const visits: string[] = []
  const backend: Backend = {
    introduction,
    admit: async ({ url }) => {
      visits.push(url)
      if (visits.length < 3) return { status: 307, location: `?redirected=${visits.length}` }
      return { connection: 0, who: 'anyone', introduction }
    },
    left: () => {},
    visit: async () => ({ status: 200, type: 'text/plain', body: '' }),
    call: async () => ({ result: { fields: { indexes: [] } } }),
  }
  const listener = listenerOf(t, backend)
  const client = await connect(`ws://127.0.0.1:${await listener.listen()}/server`)
  t.same(await client.listIndexes(), [])
  t.same(visits, ['/server?redirected=0', '/server?redirected=1', '/server?redirected=2'])
  await client.close()
})
