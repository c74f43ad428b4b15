import t from 'tap'
import { connect } from '../../../../clients/sdk/index.js'
import { JetStreamLog } from '../../../../src/cluster/jetstream-log.js'
import { openNats, openReplicaSet } from '../../../../src/cluster/nats.js'
import { openPlace } from '../../../../src/cluster/snapshots/open-place.js'
import { temporaryDirectory } from '../../../persistence/store-helpers.js'
import { start } from '../../server/start.js'
import { natsLacks } from '../nats-servers.js'
import { clusterSettings } from '../start-nodes.js'

const skip = natsLacks() ?? false

t.test('a new node has what a snapshot in NATS and the log behind it have', { skip }, async (t) => {
  const folder = temporaryDirectory(t)
  const settings = { ...(await clusterSettings(t)), replicaSnapshots: 'nats' }
  const owner = await start(t, { ...settings, directory: `${folder}/owner` })
  const client = await connect(owner.url)
  const definition = { name: 'prices', keyType: 'u32', payloadKind: 'u32', unique: true } as const
  const prices = await client.createIndex(definition)
  for (const key of [1, 2]) await prices.insert(key, key * 10)

  const options = { servers: settings.nats, monitors: '', credentials: '', unsafe: true, node: 'test' }
  const nats = await openNats(options)
  t.teardown(() => nats.connection.close())
  const replicaSet = `${settings.cluster}-0`
  const place = await openPlace('nats', { nats, replicaSet, directory: `${folder}/test` })
  const { position } = (await client.stats()).server.replica as { position: number }
  await place.put(position, (path) => owner.engine.replica.backUp(path))
  await prices.insert(3, 30)
  const log = new JetStreamLog(await openReplicaSet(nats, settings.cluster, 0))
  await log.trim(position)

  const follower = await start(t, { ...settings, directory: `${folder}/follower` })
  const reader = await connect(follower.url, { reads: 'any' })
  const index = await reader.index('prices')
  while ((await index.get(3)) !== 30) await new Promise((resolve) => setTimeout(resolve, 10))
  t.same(await Promise.all([1, 2].map((key) => index.get(key))), [10, 20])
  await Promise.all([client.close(), reader.close()])
})
