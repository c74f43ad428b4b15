import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import type { AdapterChoice } from '../gpu/device/adapter.js'
import type { IndexDefinition } from '../protocol/types.js'
import { Engine } from '../src/engine/index.js'
import { measureApart, measureForParent } from './apart.js'
import { numberedPayloads, payloadsOf, sampledKeys, scatteredKeys } from './keys.js'
import type { Row } from './report.js'

/** Rows that the source gives at a time. */
const BATCH_ROWS = 1 << 20

/** Batches of lookups, and how many are under way at a time. */
const LOOKUPS = [1 << 16, 1 << 20]
const DEPTH = 4
const LOOKUP_SECONDS = 3

const SCANS = 4096
const SCAN_LIMIT = 100

const CASES = {
  'u32 → u32': { keyType: 'u32', payloadKind: 'u32', words: 1 },
  'u64 → u64': { keyType: 'u64', payloadKind: 'u64', words: 2 },
} as const
type CaseName = keyof typeof CASES

export interface ShardsSetting {
  readonly adapter: AdapterChoice
  /** Millions of keys of each width. */
  readonly millions: { readonly u32: number; readonly u64: number }
}

interface Measurement {
  readonly adapter: AdapterChoice
  readonly name: CaseName
  readonly keys: number
}

/**
 * Indexes far larger than a binding, as an engine in process holds them: a bulk load of random distinct keys, lookups of keys that are
 * all there, scans, a snapshot, and a restart from it. Every answer is compared.
 */
export async function benchShards({ adapter, millions }: ShardsSetting): Promise<Row[]> {
  const rows: Row[] = []
  const sizes = { 'u32 → u32': millions.u32, 'u64 → u64': millions.u64 }
  for (const [name, size] of Object.entries(sizes)) {
    if (size === 0) continue
    const row = await measureApart<Omit<Measurement, 'name'> & { name: string }, Row>(import.meta.url, {
      adapter,
      name,
      keys: size * 1e6,
    })
    if (row !== undefined) rows.push(row)
  }
  return rows
}

async function measure({ adapter, name, keys }: Measurement): Promise<Row> {
  const directory = mkdtempSync(join(tmpdir(), 'warpdex-bench-'))
  const figures: Record<string, number> = {}
  const note = (more: Record<string, number>) => {
    Object.assign(figures, more)
    console.log(`${name}, ${keys / 1e6} M: ${JSON.stringify(more)}`)
  }
  const open = () => Engine.open({ directory: join(directory, 'data'), adapter })
  try {
    let engine = await open()
    try {
      await engine.createIndex(definitionOf(name))
      note(await load(engine, name, keys))
      note(await read(engine, name, keys, ''))
      const begun = performance.now()
      const { bytes } = await engine.index(name).snapshot()
      const seconds = (performance.now() - begun) / 1000
      note({ 'snapshot s': seconds, 'snapshot GB': bytes / 1e9 })
    } finally {
      await engine.close()
    }
    const begun = performance.now()
    engine = await open()
    try {
      note({ 'restart s': (performance.now() - begun) / 1000 })
      note(await read(engine, name, keys, ' after it'))
    } finally {
      await engine.close()
    }
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
  return { name: `${name}, ${keys / 1e6} million keys`, figures }
}

async function load(engine: Engine, name: CaseName, keys: number): Promise<Record<string, number>> {
  let shown = performance.now()
  const { rows, seconds } = await engine.index(name).bulkLoad(batches(name, keys), {
    onProgress: ({ rows, seconds }) => {
      if (performance.now() - shown < 5000) return
      shown = performance.now()
      console.log(`  ${(rows / 1e6).toFixed(0)} M rows in ${seconds.toFixed(0)} s`)
    },
  })
  const { shards, deviceBytes } = engine.index(name).stats()
  return {
    'load s': seconds,
    'load M/s': rows / seconds / 1e6,
    shards: Number(shards),
    'B a key': deviceBytes / keys,
  }
}

function* batches(name: CaseName, keys: number) {
  const { words } = CASES[name]
  for (let first = 0; first < keys; first += BATCH_ROWS) {
    const count = Math.min(BATCH_ROWS, keys - first)
    yield {
      keys: { bytes: scatteredKeys(words, first, count), width: 4 * words },
      payloads: { bytes: numberedPayloads(words, first, count), width: 4 * words },
    }
  }
}

async function read(
  engine: Engine,
  name: CaseName,
  keys: number,
  when: string,
): Promise<Record<string, number>> {
  const figures: Record<string, number> = {}
  for (const batch of LOOKUPS) {
    figures[`get ${batch}${when} M/s`] = (await lookUp(engine, name, keys, batch)) / 1e6
  }
  figures[`scan ${SCAN_LIMIT}${when} k/s`] = (await scan(engine, name, keys)) / 1e3
  return figures
}

/** Lookups a second. */
async function lookUp(engine: Engine, name: CaseName, bound: number, batch: number): Promise<number> {
  const { words } = CASES[name]
  const samples = Array.from({ length: DEPTH }, (_, i) => {
    const { keys, numbers } = sampledKeys(words, bound - i, batch)
    return { keys, payloads: payloadsOf(numbers, words) }
  })
  let lookups = 0
  let begun = performance.now()
  const run = async ({ keys, payloads }: (typeof samples)[number]) => {
    do {
      const answers = await engine
        .index(name)
        .read({ op: 'get' }, { keys: { bytes: keys, width: 4 * words } })
      // By one native comparison: a loop would take the thread of the engine longer than all else.
      if (Buffer.compare(answers.payloads.bytes, payloads) !== 0) throw new Error('an answer is wrong')
      lookups += batch
    } while (performance.now() - begun < LOOKUP_SECONDS * 1000)
  }
  await Promise.all(samples.map(run))
  begun = performance.now()
  lookups = 0
  await Promise.all(samples.map(run))
  return lookups / ((performance.now() - begun) / 1000)
}

/** Scans a second. */
async function scan(engine: Engine, name: CaseName, bound: number): Promise<number> {
  const { words } = CASES[name]
  const { keys } = sampledKeys(words, bound, SCANS)
  const request = { op: 'scan', ranges: SCANS, limit: SCAN_LIMIT } as const
  const begun = performance.now()
  let scans = 0
  do {
    const result = await engine.index(name).read(request, { from: { bytes: keys, width: 4 * words } })
    for (let i = 0; i < SCANS; i++) {
      const at = result.offsets[i] * 4 * words
      const isFirst = Buffer.compare(
        keys.subarray(4 * words * i, 4 * words * (i + 1)),
        result.keys.bytes.subarray(at, at + 4 * words),
      )
      if (isFirst !== 0) throw new Error('a scan does not begin where it should')
    }
    scans += SCANS
  } while (performance.now() - begun < LOOKUP_SECONDS * 1000)
  return scans / ((performance.now() - begun) / 1000)
}

function definitionOf(name: CaseName): IndexDefinition {
  const { keyType, payloadKind } = CASES[name]
  return { name, keyType, payloadKind, unique: false }
}

await measureForParent<Measurement, Row>(import.meta.url, measure)
