import t from 'tap'
import { Random, seedOfRun } from '../../random.js'
import { natsLacks } from '../../src/cluster/nats-servers.js'
import { tortureCluster } from './cluster.js'

const lack = natsLacks()
if (lack !== undefined) t.comment(lack)
const seed = seedOfRun()
t.comment(`TEST_SEED=${seed}`)

/** Few, since each start of a node takes a second of a processor. */
const troubles = ['node killed', 'node cut off from NATS', 'NATS server killed']

t.test(
  'a replica set whose nodes and whose NATS server fail loses nothing, does nothing twice, and answers as one server',
  { skip: lack ?? false },
  async (t) => {
    const random = new Random(seed)
    const options = { directory: t.testdir(), random, rounds: 3, troubles, natsServers: 1 } as const
    const result = await tortureCluster({ ...options, onProgress: (line) => t.comment(line) })
    t.comment(result)
    t.pass()
  },
)
