import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { connect, LIMITS } from '../clients/sdk/index.js'
import type { AdapterChoice } from '../gpu/device/adapter.js'
import { ShardedTree } from '../gpu/index/shards/sharded-tree.js'
import { asBytes, countOf } from '../protocol/columns.js'
import type { IndexDefinition } from '../protocol/types.js'
import { Engine, type StructureFactory } from '../src/engine/index.js'
import { measureDisk } from './disk-rate.js'
import { numberedPayloads, scatteredKeys } from './keys.js'
import type { Row } from './report.js'
import { withServer } from './server-process.js'

/** Logarithms of the rows of a chunk. */
const CHUNKS = [16, 18, 20]

/** Rows of a batch that the source gives. */
const BATCH_ROWS = 1 << 20

const CASES = [
  { name: 'u64 → u64', keyType: 'u64', payloadKind: 'u64', words: 2 },
  { name: 'u32 → u32', keyType: 'u32', payloadKind: 'u32', words: 1 },
] as const
type Case = (typeof CASES)[number]

export interface BulkSetting {
  readonly adapter: AdapterChoice
  /** Logarithm of the rows of a load. */
  readonly logarithm: number
  /** The same where nothing is done on a device. */
  readonly withoutDevice: number
}

interface Batch {
  readonly keys: Uint8Array
  readonly payloads: Uint8Array
}

/**
 * Bulk loads of random distinct keys into empty indexes: in process and over WebSocket. Loads without a device show what host and
 * disk can do; a thread that waits for a device polls it, so only there its share says how busy it is. What the disk takes by itself, in a
 * file that is synced after each chunk, is measured before each load.
 */
export async function benchBulk({ adapter, logarithm, withoutDevice }: BulkSetting): Promise<Row[]> {
  const rows: Row[] = []
  for (const one of CASES) {
    for (const chunk of CHUNKS.filter((chunk) => chunk <= withoutDevice)) {
      rows.push(await loadInProcess(one, adapter, withoutDevice, 2 ** chunk, hostOnly))
    }
    for (const chunk of CHUNKS.filter((chunk) => chunk <= logarithm)) {
      rows.push(await loadInProcess(one, adapter, logarithm, 2 ** chunk))
    }
    rows.push(await loadOverSocket(one, adapter, logarithm))
  }
  return rows
}

async function loadInProcess(
  one: Case,
  adapter: AdapterChoice,
  logarithm: number,
  chunkRows: number,
  structures?: StructureFactory,
): Promise<Row> {
  const batches = batchesOf(one, 2 ** logarithm)
  const directory = mkdtempSync(join(tmpdir(), 'warpdex-bench-'))
  const disk = measureDisk(directory, batches.flatMap(columnsOf), chunkRows * one.words * 8)
  const engine = await Engine.open({ directory: join(directory, 'data'), adapter, structures })
  try {
    await engine.createIndex(definitionOf(one, 'warm'))
    await engine.createIndex(definitionOf(one, 'loaded'))
    const columns = batches.map(({ keys, payloads }) => ({
      keys: { bytes: keys, width: 4 * one.words },
      payloads: { bytes: payloads, width: 4 * one.words },
    }))
    await engine.index('warm').bulkLoad(columns.slice(0, 1), { chunkRows: 1024 * 16 })
    const idle = performance.eventLoopUtilization()
    const { rows, seconds } = await engine.index('loaded').bulkLoad(columns, { chunkRows })
    const { utilization } = performance.eventLoopUtilization(idle)
    const where = structures === undefined ? 'in process' : 'without a device'
    return row(`${one.name} ${where}, chunks of ${chunkRows}`, one, { rows, seconds, disk, utilization })
  } finally {
    await engine.close()
    rmSync(directory, { recursive: true, force: true })
  }
}

async function loadOverSocket(one: Case, adapter: AdapterChoice, logarithm: number): Promise<Row> {
  const batches = batchesOf(one, 2 ** logarithm)
  const directory = mkdtempSync(join(tmpdir(), 'warpdex-bench-'))
  const disk = measureDisk(directory, batches.flatMap(columnsOf), LIMITS.loadBytes)
  rmSync(directory, { recursive: true, force: true })
  return withServer(['--adapter', adapter], async (server) => {
    const client = await connect(server.url)
    await client.createIndex(definitionOf(one, 'loaded'))
    const columns = batches.map(({ keys, payloads }) =>
      one.words === 1
        ? { keys: new Uint32Array(keys.buffer), payloads: new Uint32Array(payloads.buffer) }
        : { keys: new BigUint64Array(keys.buffer), payloads: new BigUint64Array(payloads.buffer) },
    )
    const { rows, seconds } = await client.index('loaded').bulkLoad(columns)
    await client.close()
    return row(`${one.name} over WebSocket`, one, { rows, seconds, disk })
  })
}

function row(
  name: string,
  { words }: Case,
  measured: {
    readonly rows: number
    readonly seconds: number
    readonly disk: number
    readonly utilization?: number
  },
): Row {
  const { rows, seconds, disk, utilization } = measured
  const bytesPerSecond = (rows * words * 8) / seconds
  const figures = {
    'Mrows/s': rows / seconds / 1e6,
    'MB/s': bytesPerSecond / 1e6,
    'disk alone MB/s': disk / 1e6,
    '% of the disk': (bytesPerSecond / disk) * 100,
    '% of a thread': utilization === undefined ? '' : utilization * 100,
  }
  console.log(`${name}: ${JSON.stringify(figures)}`)
  return { name, figures }
}

function batchesOf({ words }: Case, rows: number): Batch[] {
  return Array.from({ length: Math.ceil(rows / BATCH_ROWS) }, (_, i) => {
    const first = i * BATCH_ROWS
    const count = Math.min(BATCH_ROWS, rows - first)
    return {
      keys: asBytes(scatteredKeys(words, first, count)),
      payloads: numberedPayloads(words, first, count),
    }
  })
}

function columnsOf({ keys, payloads }: Batch): Uint8Array[] {
  return [keys, payloads]
}

function definitionOf({ keyType, payloadKind }: Case, name: string): IndexDefinition {
  return { name, keyType, payloadKind, unique: false }
}

/** Trees that say that everything was inserted, and do nothing. */
const hostOnly: StructureFactory = {
  async create(device, shape) {
    const tree = await ShardedTree.create(device, shape)
    tree.prepare = async ({ keys }) => ({
      codes: new Uint8Array(countOf(keys)),
      apply() {},
      discard() {},
    })
    return tree
  },
  restore: ShardedTree.restore,
}
