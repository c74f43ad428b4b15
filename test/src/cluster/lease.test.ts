import t from 'tap'
import { Lease } from '../../../src/cluster/lease.js'
import { openNats, openReplicaSet } from '../../../src/cluster/nats.js'
import { NatsServers, natsLacks } from './nats-servers.js'

const skip = natsLacks() ?? false

t.test("a lease is one node's, is left to others, and ends with its node", { skip }, async (t) => {
  const { addresses } = await NatsServers.start(t, 1)
  const leases: Lease[] = []
  const node = async (url: string, isFresh = () => true) => {
    const options = { monitors: '', credentials: '', unsafe: true, node: url }
    const nats = await openReplicaSet(await openNats({ servers: addresses, ...options }), 'main', 0)
    const lease = new Lease(nats.bucket, url, isFresh)
    leases.push(lease)
    t.teardown(async () => {
      await lease.close()
      await nats.connection.close()
    })
    return { nats, lease }
  }
  let most = 0
  const watch = setInterval(() => {
    most = Math.max(most, leases.filter(({ isHeld }) => isHeld).length)
  }, 5)
  t.teardown(() => clearInterval(watch))

  const { lease: first } = await node('ws://first')
  await first.gained()
  t.equal(first.owner, 'ws://first')
  const { lease: second, nats } = await node('ws://second')
  while (second.owner === undefined) await new Promise((resolve) => setTimeout(resolve, 10))
  t.equal(second.owner, 'ws://first')
  first.rest()
  t.notOk(first.isHeld, 'it leaves it to the second')
  await second.gained()
  await first.close()

  // It is cut off: the others wait until it must know that.
  const { lease: third } = await node('ws://third', () => false)
  const { lease: fourth } = await node('ws://fourth')
  await nats.connection.close()
  await second.lost()
  await Promise.race([third.gained(), fourth.gained()])
  t.ok(fourth.isHeld && !third.isHeld, 'one that lags comes last')

  const { lease: fifth } = await node('ws://fifth')
  fourth.rest('ws://third')
  await Promise.race([third.gained(), fifth.gained()])
  t.ok(third.isHeld, 'the one that it is left to, though it lags')
  third.rest('ws://gone')
  await fifth.gained()
  t.equal(most, 1, 'never two at a time')
})
