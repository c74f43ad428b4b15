import { setTimeout } from 'node:timers/promises'
import { connect } from '../../clients/sdk/index.js'
import { loadConfig, startServer } from '../../src/server/index.js'

/** How long an idle server is watched. */
const IDLE_MS = 3000
/** Of a core. */
const IDLE_SHARE = 0.02

/**
 * Starts and stops a server again and again in this process, then leaves one idle with a client connected.
 * @throws Error when it lacks what was written, or takes more than 2 % of a core for doing nothing
 */
export async function startAndStop(directory: string, times: number): Promise<string> {
  const config = loadConfig({ flags: { directory, port: 0, adapter: 'software' } })
  for (let i = 0; i < times; i++) {
    const server = await startServer(config)
    const client = await connect(server.url)
    await client.createIndex(
      { name: 'a', keyType: 'u32', payloadKind: 'u32', unique: true },
      { ifNotExists: true },
    )
    const index = client.index<'u32', 'u32'>('a')
    await index.insertMany([i], [i * 7])
    const found = await index.getMany(Array.from({ length: i + 1 }, (_, key) => key))
    for (let key = 0; key <= i; key++) {
      if (found.payload(key) !== key * 7) throw new Error(`start ${i}: key ${key} has ${found.payload(key)}`)
    }
    client.close()
    await server.close()
  }
  const server = await startServer(config)
  const client = await connect(server.url)
  await client.index('a').countMany([1])
  await setTimeout(1000)
  const before = process.cpuUsage()
  await setTimeout(IDLE_MS)
  const { user, system } = process.cpuUsage(before)
  client.close()
  await server.close()
  const share = (user + system) / 1000 / IDLE_MS
  if (share > IDLE_SHARE) throw new Error(`an idle server takes ${(share * 100).toFixed(1)} % of a core`)
  return `${times} starts and stops; idle, the server took ${(share * 100).toFixed(2)} % of a core`
}
