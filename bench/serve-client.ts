// A client in a process of its own, for the `serve` benchmark: asks for batches of random keys for a while, and reports.
import { once } from 'node:events'
import { connect, type Index } from '../clients/sdk/index.js'
import { sampledKeys } from './keys.js'

/** What a client is told, as JSON in its argument. */
export interface ClientTask {
  readonly url: string
  readonly index: string
  /** Keys of the index: those with numbers below this, with their numbers as payloads. */
  readonly bound: number
  /** Keys a request. */
  readonly batch: number
  /** Whether a key is asked for by `getOne`, which asks for those of one turn together; the batch is 1 then. */
  readonly getOne: boolean
  /** Requests under way on each connection. */
  readonly depth: number
  readonly connections: number
  readonly seconds: number
}

/** What a client reports. */
export interface ClientReport {
  readonly lookups: number
  readonly seconds: number
  /** Milliseconds of each request. */
  readonly latencies: Float64Array
}

/** Keys that are prepared, which requests then use again and again. */
const PREPARED_KEYS = 1 << 21

/** Most requests that are prepared. */
const PREPARED_REQUESTS = 1 << 14

/** Answers that are compared in each request. */
const COMPARED = 8

/** Share of the measured time that is spent before it, and milliseconds of it at least. */
const WARM_UP = 0.25
const LEAST_WARM_UP_MS = 1000

async function run({
  url,
  index: name,
  bound,
  batch,
  getOne,
  depth,
  connections,
  seconds,
}: ClientTask): Promise<void> {
  const clients = await Promise.all(Array.from({ length: connections }, () => connect(url)))
  const indexes = clients.map((client) => client.index<'u32', 'u32'>(name))
  const lanes = connections * depth
  const requests = Math.min(PREPARED_REQUESTS, Math.max(2 * lanes, Math.floor(PREPARED_KEYS / batch)))
  const { keys, numbers } = sampledKeys(1, bound, requests * batch)
  const words = new Uint32Array(keys.buffer)

  async function ask(index: Index<'u32', 'u32'>, request: number): Promise<void> {
    const first = (request % requests) * batch
    if (getOne) {
      if ((await index.getOne(words[first])) !== numbers[first]) throw wrongAnswer(words[first])
      return
    }
    const result = await index.get(words.subarray(first, first + batch))
    for (let i = 0; i < batch; i += Math.ceil(batch / COMPARED)) {
      if (result.payload(i) !== numbers[first + i]) throw wrongAnswer(words[first + i])
    }
  }

  async function load(milliseconds: number): Promise<number[]> {
    const latencies: number[] = []
    const end = performance.now() + milliseconds
    let next = 0
    const lane = async (index: Index<'u32', 'u32'>) => {
      for (let now = performance.now(); now < end; ) {
        await ask(index, next++)
        const answered = performance.now()
        latencies.push(answered - now)
        now = answered
      }
    }
    await Promise.all(Array.from({ length: lanes }, (_, i) => lane(indexes[i % connections]!)))
    return latencies
  }

  await load(Math.max(LEAST_WARM_UP_MS, seconds * WARM_UP * 1000))
  process.send?.('ready')
  await once(process, 'message')
  const start = performance.now()
  const latencies = await load(seconds * 1000)
  const report: ClientReport = {
    lookups: latencies.length * batch,
    seconds: (performance.now() - start) / 1000,
    latencies: Float64Array.from(latencies),
  }
  await Promise.all(clients.map((client) => client.close()))
  // A message that is still on its way when the channel is closed would be lost.
  process.send?.(report, undefined, undefined, () => process.disconnect())
}

function wrongAnswer(key: number): Error {
  return new Error(`a wrong answer for key ${key}`)
}

await run(JSON.parse(process.argv[2]))
