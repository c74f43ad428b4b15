import { setTimeout } from 'node:timers/promises'
import { connect, type Index, type Payload, type PayloadKind, ResultCode } from '../clients/sdk/index.js'
import type { AdapterChoice } from '../gpu/device/adapter.js'
import { numberedPayloads, sampledKeys, scatteredKeys } from './keys.js'
import type { Row } from './report.js'
import { type ServerProcess, withServer } from './server-process.js'

/** Keys of each index, which stay as many. */
const KEYS = 1 << 17

/** Keys of a request. */
const BATCH = 2048

/** Clients' loops that look keys up, for each index. */
const READERS = 3

/** Bytes of a payload of kind `bytes`. */
const PAYLOAD_BYTES = 100

const SAMPLE_SECONDS = 10

/** Share of the samples at the start in which memory may still grow. */
const WARM_UP = 1 / 3

/** Small, so that the cache is full, and several snapshots are taken, long before the end. */
const FLAGS = ['--payload-cache-bytes', String(8 * 2 ** 20), '--snapshot-log-bytes', String(16 * 2 ** 20)]

interface Sample {
  readonly minutes: number
  /** Bytes by what they are of. */
  readonly bytes: Readonly<Record<string, number>>
}

/** The payloads of an index. */
interface Content {
  /** Those of keys number `first` and following. */
  readonly payloads: (first: number, count: number) => Uint32Array | readonly Uint8Array[]
  /** Whether an answer is the payload of a key. */
  readonly isOf: (number: number, answer: Payload<PayloadKind> | undefined) => boolean
}

/** What is written and looked up in one index: keys with numbers from `tail` to `head`, which both move on. */
interface Window {
  readonly index: Index<'u32'>
  readonly content: Content
  tail: number
  head: number
  gets: number
  writes: number
}

/**
 * A steady mixed load on a server, which inserts as many keys as it deletes, with its memory sampled: figures of the first
 * sample after the warm-up and of the last, and the slope of all between them.
 */
export function benchSoak(adapter: AdapterChoice, minutes: number): Promise<Row[]> {
  return withServer(['--adapter', adapter, ...FLAGS], async (server) => {
    const client = await connect(server.url)
    await client.createIndex({ name: 'words', keyType: 'u32', payloadKind: 'u32', unique: false })
    await client.createIndex({ name: 'documents', keyType: 'u32', payloadKind: 'bytes', unique: true })
    const windows = [windowOf(client.index('words'), WORDS), windowOf(client.index('documents'), DOCUMENTS)]
    for (const window of windows) while (window.head < KEYS) await insert(window)
    const start = performance.now()
    const end = start + minutes * 60_000
    const work = windows.flatMap((window) => [
      write(window, end),
      ...Array.from({ length: READERS }, (_, reader) => read(window, reader, end)),
    ])
    const sampling = sample(server, end, async () => (await client.stats()).server)
    await Promise.all(work)
    const samples = await sampling
    await client.close()
    return [...memoryRows(samples), ...windows.map((window) => rateRow(window, minutes * 60))]
  })
}

function windowOf(index: Index<'u32'>, content: Content): Window {
  return { index, content, tail: 0, head: 0, gets: 0, writes: 0 }
}

const WORDS: Content = {
  payloads: (first, count) => new Uint32Array(numberedPayloads(1, first, count).buffer),
  isOf: (number, answer) => answer === number,
}

const DOCUMENTS: Content = {
  payloads: (first, count) => Array.from({ length: count }, (_, i) => documentOf(first + i)),
  isOf: (number, answer) => answer instanceof Uint8Array && documentOf(number).equals(answer),
}

function documentOf(number: number): Buffer {
  return Buffer.alloc(PAYLOAD_BYTES, `${number} `)
}

function keysOf(first: number): Uint32Array {
  return new Uint32Array(scatteredKeys(1, first, BATCH).buffer)
}

async function insert(window: Window): Promise<void> {
  const { index, head, content } = window
  const codes = await index.insertMany(keysOf(head), content.payloads(head, BATCH))
  if (!codes.every((code) => code === ResultCode.inserted)) throw new Error('a key was not inserted')
  window.head += BATCH
  window.writes += BATCH
}

async function write(window: Window, end: number): Promise<void> {
  while (performance.now() < end) {
    await insert(window)
    const first = window.tail
    window.tail += BATCH
    const codes = await window.index.deleteMany(keysOf(first))
    if (!codes.every((code) => code === ResultCode.deleted)) throw new Error('a key was not deleted')
    window.writes += BATCH
  }
}

/** Looks up keys of the window's newer half, which is not deleted while an answer is on its way, and compares some. */
async function read(window: Window, reader: number, end: number): Promise<void> {
  const { numbers } = sampledKeys(1, KEYS / 2 - BATCH, READERS * BATCH)
  const mine = numbers.subarray(reader * BATCH, (reader + 1) * BATCH)
  const keys = new Uint32Array(BATCH)
  while (performance.now() < end) {
    const { head } = window
    mine.forEach((number, i) => {
      keys.set(new Uint32Array(scatteredKeys(1, head - 1 - number, 1).buffer), i)
    })
    const result = await window.index.getMany(keys)
    for (let i = 0; i < BATCH; i += BATCH / 16) {
      const isRight = window.content.isOf(head - 1 - mine[i], result.payload(i))
      if (!isRight) throw new Error(`a wrong answer for key ${keys[i]}`)
    }
    window.gets += BATCH
  }
}

async function sample(
  server: ServerProcess,
  end: number,
  stats: () => Promise<Readonly<Record<string, unknown>>>,
): Promise<Sample[]> {
  const samples: Sample[] = []
  const start = performance.now()
  while (performance.now() < end) {
    await setTimeout(Math.min(SAMPLE_SECONDS * 1000, end - performance.now()))
    const { deviceBytes, storeBytes } = await stats()
    const minutes = (performance.now() - start) / 60_000
    const bytes = {
      'own memory': server.anonymousBytes,
      'RSS, mapped files included': server.residentBytes,
      'device memory': Number(deviceBytes),
      'store on disk': Number(storeBytes),
    }
    samples.push({ minutes, bytes })
    const shown = Object.entries(bytes).map(([name, value]) => `${name} ${mebibytes(value).toFixed(1)} MiB`)
    console.log(`${minutes.toFixed(1)} min: ${shown.join('; ')}`)
  }
  return samples
}

function mebibytes(bytes: number): number {
  return bytes / 2 ** 20
}

function memoryRows(samples: readonly Sample[]): Row[] {
  const warm = samples.slice(Math.floor(samples.length * WARM_UP))
  const minutes = warm.map((sample) => sample.minutes)
  return Object.keys(warm[0].bytes).map((name) => {
    const values = warm.map(({ bytes }) => mebibytes(bytes[name]))
    const figures = {
      'first MiB': values[0],
      'last MiB': values.at(-1)!,
      'MiB/min': slopeOf(minutes, values),
    }
    return { name, figures }
  })
}

/** Slope of the straight line that fits best. */
function slopeOf(xs: readonly number[], ys: readonly number[]): number {
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length
  const meanX = mean(xs)
  const meanY = mean(ys)
  const covariance = mean(xs.map((x, i) => (x - meanX) * (ys[i] - meanY)))
  const variance = mean(xs.map((x) => (x - meanX) ** 2))
  return variance === 0 ? 0 : covariance / variance
}

function rateRow({ index, gets, writes }: Window, seconds: number): Row {
  return {
    name: `load of ${index.name}`,
    figures: { 'gets/s': gets / seconds, 'writes/s': writes / seconds },
  }
}
