import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { connect, type Index } from '../clients/sdk/index.js'
import type { AdapterChoice } from '../gpu/device/adapter.js'
import type { Row } from './report.js'
import { withServer } from './server-process.js'

const NAME = 'python'
const BATCH = 65_536
const ROUNDS = 5
const CLIENTS = ['JavaScript', 'asyncio', 'blocking'] as const

interface Task {
  readonly client: (typeof CLIENTS)[number]
  readonly method: 'get' | 'put'
  /** Requests under way; a thread each where the client blocks. */
  readonly depth: number
  readonly seconds: number
}

/** Does a task. @returns rows a second */
type Measure = (task: Task) => Promise<number>

/** The clients for Python, by `python3` with their packages, beside the one for JavaScript: batches of one server, in turns. */
export async function benchPython(
  adapter: AdapterChoice,
  logarithm: number,
  seconds: number,
): Promise<Row[]> {
  const keys = 2 ** logarithm
  return withServer(['--adapter', adapter], async ({ url }) => {
    const client = await connect(url)
    await client.createIndex({ name: NAME, keyType: 'u32', payloadKind: 'u32', unique: true })
    const index = client.index<'u32', 'u32'>(NAME)
    const all = Uint32Array.from({ length: keys }, (_, key) => key)
    await index.bulkLoad({ keys: all, payloads: all })
    const python = startPython([url, NAME, String(keys), String(BATCH)])
    const javaScript = measureJavaScript(index, keys)
    const measure: Measure = (task) => (task.client === 'JavaScript' ? javaScript : python.measure)(task)
    const rows: Row[] = []
    for (const method of ['get', 'put'] as const) {
      for (const depth of [1, 8]) rows.push(await compare(measure, { method, depth, seconds }))
    }
    python.end()
    await client.close()
    return rows
  })
}

/** Medians of rounds in which all clients take turns. */
async function compare(measure: Measure, task: Omit<Task, 'client'>): Promise<Row> {
  const rates = new Map(CLIENTS.map((client) => [client, [] as number[]]))
  for (const client of CLIENTS) await measure({ ...task, client })
  for (let round = 0; round < ROUNDS; round++) {
    for (const client of CLIENTS) rates.get(client)!.push(await measure({ ...task, client }))
  }
  const median = (client: Task['client']) => rates.get(client)!.sort((a, b) => a - b)[ROUNDS >> 1]!
  const javaScript = median('JavaScript')
  return {
    name: `${task.method} of ${BATCH} keys, depth ${task.depth}`,
    figures: {
      'JavaScript/s': Math.round(javaScript),
      'asyncio/s': Math.round(median('asyncio')),
      'blocking/s': Math.round(median('blocking')),
      'asyncio ×': median('asyncio') / javaScript,
      'blocking ×': median('blocking') / javaScript,
    },
  }
}

function measureJavaScript(index: Index<'u32', 'u32'>, keys: number): Measure {
  const draw = () => Uint32Array.from({ length: BATCH }, () => Math.floor(Math.random() * keys))
  const batches = Array.from({ length: 16 }, draw)
  return async ({ method, depth, seconds }) => {
    const start = performance.now()
    let next = 0
    let done = 0
    const lane = async () => {
      while (performance.now() - start < seconds * 1000) {
        const batch = batches[next++ % batches.length]!
        if (method === 'put') await index.putMany(batch, batch)
        else {
          const { payloads } = await index.getMany(batch)
          if (batch.slice(0, 8).some((key, i) => payloads.at(i) !== key))
            throw new Error('an answer is wrong')
        }
        done += BATCH
      }
    }
    await Promise.all(Array.from({ length: depth }, lane))
    return (done / (performance.now() - start)) * 1000
  }
}

/** The program beside this one, which does a task for each line that it is given. */
function startPython(args: readonly string[]): { readonly measure: Measure; readonly end: () => void } {
  const root = process.cwd()
  const child = spawn('python3', [join(root, 'bench/python-clients.py'), ...args], {
    env: { ...process.env, PYTHONPATH: join(root, 'clients/python/src') },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  const measure: Measure = async (task) => {
    child.stdin.write(`${JSON.stringify(task)}\n`)
    const { value } = await lines.next()
    if (value === undefined) throw new Error('the program in Python has ended')
    return Number(value)
  }
  return { measure, end: () => child.stdin.end() }
}
