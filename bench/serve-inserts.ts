import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Client, connect, ResultCode } from '../clients/sdk/index.js'
import type { AdapterChoice } from '../gpu/device/adapter.js'
import { asBytes } from '../protocol/columns.js'
import { uniformCode } from '../protocol/uniform-code.js'
import { measureDisk } from './disk-rate.js'
import { numberedPayloads, scatteredKeys } from './keys.js'
import type { Row } from './report.js'
import { withServer } from './server-process.js'

/** Rows of a request, and requests under way on the one connection. */
const BATCH_ROWS = 65_536
const DEPTH = 8

const ROW_BYTES = 16

/** Rows that go into another index before: kernels are made, and code on the way of an insert is compiled. */
const WARM_UP_ROWS = 2 ** 21

/** Rows that the disk is measured with, and the log record in which it takes them. */
const DISK_ROWS = 2 ** 24
const RECORD_BYTES = 4 * 2 ** 20

/**
 * Durable inserts of random distinct keys, u64 → u64, over loopback WebSocket: one client fills an empty index of a server that was just started.
 * Each insert is answered once its log is synced; all result codes are looked at, and at the end some keys are asked for.
 */
export async function benchInserts(adapter: AdapterChoice, rows: number): Promise<Row> {
  const keys = new BigUint64Array(scatteredKeys(2, 0, rows).buffer)
  const payloads = new BigUint64Array(numberedPayloads(2, 0, rows).buffer)
  const disk = diskRate([keys, payloads].map((column) => asBytes(column.subarray(0, DISK_ROWS))))
  return withServer(['--adapter', adapter], async ({ url }) => {
    const client = await connect(url)
    try {
      const warm = Math.min(rows / 4, WARM_UP_ROWS)
      await insert(client, 'warm', keys.subarray(0, warm), payloads.subarray(0, warm))
      await client.dropIndex('warm')
      const { latencies, seconds } = await insert(client, 'rows', keys, payloads)
      await check(client, keys, payloads)
      const sorted = latencies.sort((a, b) => a - b)
      return {
        name: `inserts of ${rows} keys, u64 → u64, batches of ${BATCH_ROWS}, depth ${DEPTH}`,
        figures: {
          'Mrows/s': rows / seconds / 1e6,
          'p50 ms': sorted[Math.floor(sorted.length * 0.5)]!,
          'p99 ms': sorted[Math.floor(sorted.length * 0.99)]!,
          'logged MB/s': (ROW_BYTES * rows) / seconds / 1e6,
          'disk alone MB/s': disk / 1e6,
        },
      }
    } finally {
      await client.close({ now: true })
    }
  })
}

async function insert(client: Client, name: string, keys: BigUint64Array, payloads: BigUint64Array) {
  await client.createIndex({ name, keyType: 'u64', payloadKind: 'u64', unique: false })
  const index = client.index<'u64', 'u64'>(name)
  const latencies: number[] = []
  const start = performance.now()
  let next = 0
  const lane = async () => {
    while (next < keys.length) {
      const first = next
      next += BATCH_ROWS
      const since = performance.now()
      const column = keys.subarray(first, next)
      const codes = await index.insertMany(column, payloads.subarray(first, next))
      latencies.push(performance.now() - since)
      if (codes.length !== column.length || uniformCode(codes) !== ResultCode.inserted) {
        throw new Error('a key was not inserted')
      }
    }
  }
  await Promise.all(Array.from({ length: DEPTH }, lane))
  return { latencies, seconds: (performance.now() - start) / 1000 }
}

async function check(client: Client, keys: BigUint64Array, payloads: BigUint64Array): Promise<void> {
  const step = Math.ceil(keys.length / BATCH_ROWS)
  const asked = keys.filter((_, i) => i % step === 0)
  const answers = await client.index<'u64', 'u64'>('rows').getMany(asked)
  const isWrong = asked.some((_, i) => answers.payload(i) !== payloads[i * step])
  if (isWrong) throw new Error('a key that was inserted is not there')
}

function diskRate(columns: readonly Uint8Array[]): number {
  const directory = mkdtempSync(join(tmpdir(), 'warpdex-bench-'))
  try {
    return measureDisk(directory, columns, RECORD_BYTES)
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}
