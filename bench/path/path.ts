import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { connect, type Index } from '../../clients/sdk/index.js'
import type { AdapterChoice } from '../../gpu/device/adapter.js'
import { loadConfig, startServer } from '../../src/server/index.js'
import { numberedPayloads, scatteredKeys } from '../keys.js'
import type { Row } from '../report.js'
import { type Called, InspectedThreads } from './inspected-threads.js'

/** Keys of the index, and of a batch. */
const KEYS = 100_000
const BATCH = 10_000

/** Requests of each kind that come before, which load kernels and fill caches. */
const WARM_UP = 3
/** A function is on the way if each of so many requests calls it: timers and the like are not. */
const REQUESTS = 3
/** Milliseconds for what is done after a reply has come. */
const SETTLING_MS = 20
/** Requests in a burst that makes a connection a busy one. */
const BURST = 64

/** One folder up there is the root of the sources, or of what was made of them. */
const ROOT = new URL('../../', import.meta.url).href
const PRODUCT = /^(src|gpu|persistence|protocol|clients)\//

/** A request of the n-th repetition. */
type Request = (n: number) => Promise<unknown>

/**
 * The way of one request through this project's code, client and server in one process: how many files and functions it passes. They are what V8
 * counts calls of, after the same request was made a few times before.
 * @param list print them too, in the order in which they are called first
 */
export async function benchPath(adapter: AdapterChoice, list: boolean): Promise<Row[]> {
  const threads = await InspectedThreads.open()
  const rows: Row[] = []
  for (const ioThreads of [0, 1]) {
    const directory = mkdtempSync(join(tmpdir(), 'warpdex-bench-'))
    const server = await startServer(loadConfig({ flags: { adapter, directory, ioThreads, port: 0 } }))
    const client = await connect(server.url)
    try {
      await client.createIndex({ name: 'path', keyType: 'u64', payloadKind: 'u64', unique: true })
      const index = client.index<'u64', 'u64'>('path')
      await index.insertMany(keys(0, KEYS), payloads(0, KEYS))
      await Promise.all(Array.from({ length: BURST }, () => index.getMany(keys(0, BATCH))))
      for (const [name, request] of Object.entries(requests(index))) {
        const functions = await functionsOf(threads, request)
        const files = new Set(functions.map(fileOf))
        rows.push({
          name: `${name}, ${ioThreads === 0 ? 'no socket threads' : 'a socket thread'}`,
          figures: { files: files.size, functions: functions.length },
        })
        if (list) print(rows.at(-1)!, await threads.inOrder(functions, () => request(WARM_UP + REQUESTS)))
      }
    } finally {
      await client.close({ now: true })
      await server.close()
      rmSync(directory, { recursive: true, force: true })
    }
  }
  threads.close()
  return rows
}

function requests(index: Index<'u64', 'u64'>): Readonly<Record<string, Request>> {
  return {
    [`get of ${BATCH} keys`]: () => index.getMany(keys(0, BATCH)),
    'get of 10 keys': () => index.getMany(keys(0, 10)),
    'get of one key': () => index.get(keys(0, 1)[0]!),
    [`getNext of ${BATCH} keys`]: () => index.getNextMany(keys(0, BATCH)),
    'scan of 1000 entries': () => index.entries({ limit: 1000 }).pages().next(),
    [`insert of ${BATCH} keys`]: (n) => {
      const first = KEYS + n * BATCH
      return index.insertMany(keys(first, BATCH), payloads(first, BATCH))
    },
  }
}

/** The functions of the product that every one of some requests calls. */
async function functionsOf(threads: InspectedThreads, request: Request): Promise<Called[]> {
  for (let n = 0; n < WARM_UP; n++) await request(n)
  const counts = new Map<string, { readonly called: Called; requests: number }>()
  for (let n = 0; n < REQUESTS; n++) {
    await setTimeout(SETTLING_MS)
    await threads.called()
    await request(WARM_UP + n)
    await setTimeout(SETTLING_MS)
    // Of several threads the same function counts once.
    const ours = (await threads.called()).filter((called) => PRODUCT.test(fileOf(called)))
    for (const [key, called] of new Map(ours.map((called) => [`${called.url}:${called.start}`, called]))) {
      const count = counts.get(key) ?? { called, requests: 0 }
      counts.set(key, count)
      count.requests++
    }
  }
  return [...counts.values()].filter(({ requests }) => requests === REQUESTS).map(({ called }) => called)
}

/** The file's path as in the repository; empty for what is none of this project's. */
function fileOf({ url }: Called): string {
  return url.startsWith(ROOT) ? url.slice(ROOT.length).replace(/\.js$/, '.ts') : ''
}

function print({ name, figures }: Row, functions: readonly Called[]): void {
  console.log(`\n${name}: ${figures.files} files, ${figures.functions} functions`)
  for (const file of new Set(functions.map(fileOf))) {
    const names = functions.filter((called) => fileOf(called) === file).map(({ name }) => name || '(unnamed)')
    console.log(`  ${file}: ${names.join(', ')}`)
  }
}

function keys(first: number, count: number): BigUint64Array {
  return new BigUint64Array(scatteredKeys(2, first, count).buffer)
}

function payloads(first: number, count: number): BigUint64Array {
  return new BigUint64Array(numberedPayloads(2, first, count).buffer)
}
