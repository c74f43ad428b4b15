import { cpSync, rmSync, writeFileSync } from 'node:fs'
import t from 'tap'
import { connect } from '../../../../clients/sdk/index.js'
import { JetStreamLog } from '../../../../src/cluster/jetstream-log.js'
import { openNats, openReplicaSet } from '../../../../src/cluster/nats.js'
import { openPlace } from '../../../../src/cluster/snapshots/open-place.js'
import type { RunningServer } from '../../../../src/server/index.js'
import { temporaryDirectory } from '../../../persistence/store-helpers.js'
import { start } from '../../server/start.js'
import { until } from '../handed-nodes.js'
import { natsLacks } from '../nats-servers.js'
import { clusterSettings } from '../start-nodes.js'

const skip = natsLacks() ?? false
const positionOf = ({ engine }: RunningServer) => engine.replica.figures?.().position ?? 0

t.test(
  'what a snapshot in NATS and the log behind it have comes to nodes that are new, or behind both',
  { skip },
  async (t) => {
    const folder = temporaryDirectory(t)
    const settings = { ...(await clusterSettings(t)), replicaSnapshots: 'nats' }
    const owner = await start(t, { ...settings, directory: `${folder}/owner` })
    const client = await connect(owner.url)
    const definition = { name: 'prices', keyType: 'u32', payloadKind: 'u32', unique: true } as const
    const prices = await client.createIndex(definition)
    await prices.insert(1, 10)
    const behind = await start(t, { ...settings, directory: `${folder}/behind` })
    await until(() => positionOf(behind) === positionOf(owner))
    await behind.close()
    for (const name of ['killed', 'failed'])
      cpSync(`${folder}/behind`, `${folder}/${name}`, { recursive: true })
    await prices.insert(2, 20)

    const options = { servers: settings.nats, monitors: '', credentials: '', unsafe: true, node: 'test' }
    const nats = await openNats(options)
    t.teardown(() => nats.connection.close())
    const replicaSet = `${settings.cluster}-0`
    const place = await openPlace('nats', { nats, replicaSet, directory: `${folder}/test` })
    const position = positionOf(owner)
    await place.put(position, (path) => owner.engine.replica.backUp(path))
    await prices.insert(3, 30)
    const log = new JetStreamLog(await openReplicaSet(nats, settings.cluster, 0))
    await log.trim(position)

    // As a crash leaves it that comes while a snapshot takes the place of what was there.
    rmSync(`${folder}/killed/warpdex.format`)
    writeFileSync(`${folder}/killed/warpdex-backup.unfinished`, '')
    for (const name of ['new', 'behind', 'killed']) {
      const warnings: string[] = []
      const onWarning = (message: string) => warnings.push(message)
      const follower = await start(t, { ...settings, directory: `${folder}/${name}` }, { onWarning })
      await until(() => positionOf(follower) === position + 1)
      const reader = await connect(follower.url, { reads: 'any' })
      const index = await reader.index('prices')
      t.same(await Promise.all([1, 2, 3].map((key) => index.get(key))), [10, 20, 30], name)
      const told = warnings.filter((message) => message.includes('takes its place'))
      t.equal(told.length, Number(name === 'behind'))
      await reader.close()
    }

    // Where there is no snapshot, it says so and waits.
    const alone = { ...settings, replicaSnapshots: '', directory: `${folder}/failed` }
    const failed = await start(t, alone, { onWarning: (message) => t.comment(message) })
    await until(() => failed.engine.replica.figures?.().role === 'failed')
    await client.close()
  },
)
