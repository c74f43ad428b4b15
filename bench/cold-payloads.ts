import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { DATA_FILE } from '../persistence/disk/store-files.js'
import { Store } from '../persistence/store.js'
import { blankColumn } from '../protocol/columns.js'
import { WriteOp } from '../protocol/types.js'
import { measureApart, measureForParent } from './apart.js'
import type { Row } from './report.js'
import { TurnProbe } from './turn-probe.js'

const PAYLOAD_BYTES = 1024
/** Payloads of a write: 16 MiB. */
const WRITTEN = 16_384
/** Of those there are less than in a segment, so that each of the rows that are read lies in another one. */
const ROWS_APART = 64
/** Far less than there is on disk. */
const ARENA_BYTES = 128 * 2 ** 20

/** Rows of a gather, and gathers. */
const GATHERS = [
  [1, 600],
  [32, 60],
  [1000, 10],
] as const

interface Measurement {
  readonly directory: string
  readonly gibibytes?: number
  readonly rows?: number
  readonly gathers?: number
  /** Whether the file is dropped from the system's memory before. */
  readonly isCold?: boolean
}

/**
 * Payloads of kind `bytes` that are not in the arena, in a data file several times as large as it: how many are gathered a second, and how
 * long the thread keeps others waiting meanwhile. Cold ones come from the disk, others from the system's memory. Without a device.
 */
export async function benchColdPayloads(gibibytes: number): Promise<Row[]> {
  const directory = mkdtempSync(join(tmpdir(), 'warpdex-cold-'))
  const measure = (measurement: Omit<Measurement, 'directory'>) =>
    measureApart<Measurement, Row>(import.meta.url, { directory, ...measurement })
  const rows: Row[] = []
  try {
    await measure({ gibibytes })
    for (const isCold of process.platform === 'linux' ? [true, false] : [false]) {
      for (const [count, gathers] of GATHERS) {
        const row = await measure({ rows: count, gathers, isCold })
        if (row !== undefined) rows.push(row)
      }
    }
    return rows
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

async function fill(directory: string, gibibytes: number): Promise<void> {
  const store = await Store.open(directory)
  const { id } = await store.createIndex({
    name: 'a',
    keyType: 'u64',
    payloadKind: 'bytes',
    unique: false,
  })
  const words = new Uint32Array((WRITTEN * PAYLOAD_BYTES) / 4)
  const offsets = new Uint32Array(WRITTEN + 1).map((_, i) => i * PAYLOAD_BYTES)
  const bytes = new Uint8Array(words.buffer)
  for (let firstRow = 0; firstRow * PAYLOAD_BYTES < gibibytes * 2 ** 30; firstRow += WRITTEN) {
    for (let i = 0; i < WRITTEN; i++) words[(i * PAYLOAD_BYTES) / 4] = firstRow + i
    // The log's record is as good as empty: only the payloads matter.
    const record = { ops: WriteOp.insert, keys: blankColumn(1, 8), payloads: blankColumn(1, 8) }
    await store.log.append(id, { ...record, segment: { firstRow, offsets, bytes } })
  }
  await store.close()
}

async function measureGathers(
  directory: string,
  count: number,
  gathers: number,
  isCold: boolean,
): Promise<Row> {
  // The system drops pages that are not mapped: no process may have the file open.
  if (isCold)
    execFileSync('dd', [`if=${join(directory, DATA_FILE)}`, 'iflag=nocache', 'count=0', 'status=none'])
  const store = await Store.open(directory, { payloadCacheBytes: ARENA_BYTES })
  const id = store.indexes()[0]!.id
  const places = shuffled(Math.floor(store.payloads.nextRow(id) / ROWS_APART))
  const next = () => places.pop()! * ROWS_APART
  // The arena is made by the first.
  await store.payloads.gather(id, { rows: Uint32Array.of(next(), 0) })
  const probe = new TurnProbe()
  await probe.restart()
  const times: number[] = []
  for (let i = 0; i < gathers; i++) {
    const rows = new Uint32Array(2 * count)
    for (let k = 0; k < count; k++) rows[2 * k] = next()
    // Requests come in turns of their own.
    await setImmediate()
    const begin = performance.now()
    const { bytes } = await store.payloads.gather(id, { rows })
    times.push(performance.now() - begin)
    const words = new Uint32Array(bytes.buffer)
    for (let k = 0; k < count; k++) {
      if (words[(k * PAYLOAD_BYTES) / 4] !== rows[2 * k]) throw new Error(`row ${rows[2 * k]} is wrong`)
    }
  }
  const waits = await probe.stop()
  await store.close()
  const seconds = times.reduce((sum, time) => sum + time, 0) / 1000
  return {
    name: `${isCold ? 'cold' : 'cached'}, ${count} rows a gather`,
    figures: {
      'rows/s': (count * gathers) / seconds,
      'gather p50, ms': quantile(times, 0.5),
      'p99, ms': quantile(times, 0.99),
      'others wait p50, ms': quantile(waits, 0.5),
      'p99 of it, ms': quantile(waits, 0.99),
      'most, ms': quantile(waits, 1),
    },
  }
}

function shuffled(count: number): number[] {
  const numbers = Array.from({ length: count }, (_, i) => i)
  for (let i = count - 1; i > 0; i--) {
    const j = Math.floor(Math.random() * (i + 1))
    ;[numbers[i], numbers[j]] = [numbers[j]!, numbers[i]!]
  }
  return numbers
}

function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((one, other) => one - other)
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0
}

await measureForParent<Measurement, Row>(import.meta.url, async (measurement) => {
  const { directory, gibibytes, rows = 1, gathers = 1, isCold = false } = measurement
  if (gibibytes === undefined) return measureGathers(directory, rows, gathers, isCold)
  await fill(directory, gibibytes)
  return undefined
})
