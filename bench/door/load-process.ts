// A process that makes requests for a benchmark, and stays for many measurements: what they warm up is warm for all of them. It takes a `LoadTask` as a
// message, says 'ready' when its connections are open and have warmed up, waits for 'go', and answers with a `LoadReport`.
import { once } from 'node:events'
import { sampledKeys } from '../keys.js'
import type { LoadReport, LoadTask } from './load.js'
import { type Asker, closeAll, openTarget } from './targets.js'

/** Keys that are prepared, which requests then use again and again. */
const PREPARED_KEYS = 1 << 21

/** Most requests that are prepared. */
const PREPARED_REQUESTS = 1 << 14

const MOST_BATCH = 1 << 20

interface PreparedKeys {
  readonly words: Uint32Array
  readonly numbers: Uint32Array
}

const prepared = new Map<string, PreparedKeys>()

function prepare({ bound, target }: LoadTask): PreparedKeys {
  const part = target.kind === 'server' ? target.part : undefined
  const { set, sets } = part ?? { set: 0, sets: 1 }
  const name = JSON.stringify({ bound, set, sets })
  const found = prepared.get(name)
  if (found !== undefined) return found
  const { keys, numbers } = sampledKeys(1, bound, PREPARED_KEYS * sets)
  const words = new Uint32Array(keys.buffer)
  const isOwn = (_: number, i: number) => Math.floor((words[i]! / 2 ** 32) * sets) === set
  const own = sets === 1 ? { words, numbers } : { words: words.filter(isOwn), numbers: numbers.filter(isOwn) }
  prepared.set(name, own)
  return own
}

async function run(task: LoadTask): Promise<LoadReport> {
  const { batch, depth, connections, warmUpMs, measuredMs } = task
  const { words, numbers } = prepare(task)
  const requests = Math.min(PREPARED_REQUESTS, Math.floor(words.length / Math.min(batch, MOST_BATCH)))
  const askers = await Promise.all(Array.from({ length: connections }, () => openTarget(task)))

  async function load(milliseconds: number): Promise<number[]> {
    const latencies: number[] = []
    const end = performance.now() + milliseconds
    // Processes that ask at the same time do not ask for the same.
    let next = Math.floor(Math.random() * requests)
    const lane = async (asker: Asker) => {
      for (let now = performance.now(); now < end; ) {
        const first = (next++ % requests) * batch
        await asker.ask(words.subarray(first, first + batch), numbers.subarray(first, first + batch))
        const answered = performance.now()
        latencies.push(answered - now)
        now = answered
      }
    }
    const lanes = Array.from({ length: connections * depth }, (_, i) => lane(askers[i % connections]!))
    await Promise.all(lanes)
    return latencies
  }

  await load(warmUpMs)
  process.send?.('ready')
  await once(process, 'message')
  const start = performance.now()
  const latencies = await load(measuredMs)
  const seconds = (performance.now() - start) / 1000
  await Promise.all(askers.map((asker) => asker.close()))
  return { keys: latencies.length * batch, seconds, latencies: Float64Array.from(latencies) }
}

process.on('disconnect', async () => {
  await closeAll()
  process.exit()
})
for (;;) {
  // Whoever started this process sends nothing else.
  const [task] = (await once(process, 'message')) as [LoadTask]
  process.send?.(await run(task))
}
