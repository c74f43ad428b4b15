import type { Device } from '../gpu/device/device.js'
import type { Recorder } from '../gpu/device/recorder.js'
import { Arena } from '../gpu/index/arena.js'
import { uploadItems } from '../gpu/index/batch/items.js'
import { treeShape } from '../gpu/index/layout.js'
import { createReads, type Reads } from '../gpu/index/read/reads.js'
import { TreeWriter } from '../gpu/index/write/tree-writer.js'
import type { IndexShape } from '../gpu/index-structure.js'
import { KeyNormaliser } from '../gpu/keys/normalise.js'
import type { Scratch } from '../gpu/memory/scratch.js'
import { Primitives } from '../gpu/primitives/primitives.js'
import { asBytes } from '../protocol/columns.js'
import { STRUCTURES } from '../protocol/traversal.js'
import { WriteOp } from '../protocol/types.js'
import { type KeyBlob, longKeys, numberedPayloads, pickKeys, urlKeys } from './keys.js'
import { median, type Row } from './report.js'
import { warmUp } from './warm-up.js'

const CONTENT = { keyType: 'string', payloadBytes: 4, unique: true, matchFrom: 0 } as const
const REPEATS = 5

const CASES: readonly { readonly name: string; keys(count: number): KeyBlob }[] = [
  { name: 'URLs', keys: urlKeys },
  { name: '128 random characters', keys: longKeys },
]

/**
 * Inserts and gets over string keys, with everything that goes in already on the device as it comes off the wire: wall clock
 * with submission and the round trips that an operation makes by itself.
 * @param counts keys of the indexes
 * @param queries keys of a get
 */
export async function benchStrings(
  device: Device,
  counts: readonly number[],
  queries: number,
): Promise<Row[]> {
  const rows: Row[] = []
  for (const structure of STRUCTURES) {
    const bench = await StringBench.create(device, { ...CONTENT, structure })
    for (const { name, keys } of CASES) {
      for (const count of counts) {
        const figures = await bench.run(keys(count), count, queries)
        const row = { name: `${name}, ${structure}, ${count} keys`, figures }
        console.log(`${row.name}: ${JSON.stringify(row.figures)}`)
        rows.push(row)
      }
    }
  }
  return rows
}

class StringBench {
  readonly #device: Device
  readonly #shape: IndexShape
  readonly #primitives: Primitives
  readonly #writer: TreeWriter
  readonly #reader: Reads
  readonly #normaliser: KeyNormaliser

  private constructor(
    device: Device,
    shape: IndexShape,
    primitives: Primitives,
    writer: TreeWriter,
    reader: Reads,
    normaliser: KeyNormaliser,
  ) {
    this.#device = device
    this.#shape = shape
    this.#primitives = primitives
    this.#writer = writer
    this.#reader = reader
    this.#normaliser = normaliser
  }

  static async create(device: Device, shape: IndexShape): Promise<StringBench> {
    const primitives = await Primitives.create(device)
    const [writer, reader, normaliser] = await Promise.all([
      new TreeWriter(device, primitives, shape),
      createReads(device, primitives, shape),
      new KeyNormaliser(device, primitives, 'terminated'),
    ])
    return new StringBench(device, shape, primitives, writer, reader, normaliser)
  }

  async run(blob: KeyBlob, count: number, queries: number): Promise<Row['figures']> {
    const seconds: number[] = []
    let arena: Arena | undefined
    // The first one warms up.
    for (let repeat = 0; repeat <= REPEATS; repeat++) {
      arena?.destroy()
      const room = { nodes: count, tuples: count, extentWords: 1, keyWords: blob.bytes.byteLength / 2 }
      arena = await Arena.create(this.#device, treeShape(this.#shape), room)
      const taken = await this.#insert(arena, blob, count)
      if (repeat > 0) seconds.push(taken)
    }
    const { heap, heads } = arena!
    const figures = {
      'insert Mkeys/s': count / median(seconds) / 1e6,
      'key B/key': heap!.usedBytes / count,
      'other B/key': (arena!.usedBytes - heap!.usedBytes) / count,
      'nodes/key': heads!.records / count,
      ...(await this.#get(arena!, blob, count, queries)),
    }
    arena!.destroy()
    return figures
  }

  /** Seconds to insert all keys into an empty tree whose regions need not grow. */
  async #insert(arena: Arena, keys: KeyBlob, count: number): Promise<number> {
    const scratch = this.#device.scratch()
    const payloads = { bytes: numberedPayloads(1, 0, count), width: 4 }
    const items = uploadItems(this.#device, scratch, this.#shape, { ops: WriteOp.insert, keys, payloads })
    await warmUp(this.#device, this.#primitives)
    const start = performance.now()
    const prepared = await this.#writer.prepareItems(arena, scratch, items)
    prepared.apply()
    await this.#device.gpu.queue.onSubmittedWorkDone()
    return (performance.now() - start) / 1000
  }

  /** Lookups of keys that are there, with and without bringing them into their normal form. */
  async #get(arena: Arena, blob: KeyBlob, count: number, queries: number): Promise<Row['figures']> {
    const device = this.#device
    const picked = pickKeys(blob, count, queries)
    const scratch = device.scratch()
    const offsets = scratch.bytes(picked.offsets.byteLength)
    device.upload(offsets, asBytes(picked.offsets))
    const bytes = scratch.bytes(picked.bytes.byteLength)
    device.upload(bytes, picked.bytes)
    const wire = { offsets, bytes, count: queries, byteLength: picked.bytes.byteLength }
    const found = scratch.bytes(Math.ceil(queries / 8))
    const payloads = scratch.words(queries)
    const preparing = device.record()
    const { records, heap } = this.#normaliser.record(preparing, scratch, wire)
    preparing.submit()
    const fromNormal = await this.#time((recorder, own) => {
      this.#reader.get.record(
        { recorder, scratch: own, arena },
        {
          queries: { keys: records, heap },
          found,
          payloads,
          count: queries,
        },
      )
    })
    const fromWire = await this.#time((recorder, own) => {
      const normal = this.#normaliser.record(recorder, own, wire)
      const keys = { keys: normal.records, heap: normal.heap }
      this.#reader.get.record(
        { recorder, scratch: own, arena },
        { queries: keys, found, payloads, count: queries },
      )
    })
    const bits = await device.read(found, Math.ceil(queries / 8))
    if (!bits.every((byte) => byte === 255)) throw new Error('a key was not found')
    scratch.release()
    return { 'get Mkeys/s': queries / fromWire / 1e6, 'get, normal form': queries / fromNormal / 1e6 }
  }

  async #time(record: (recorder: Recorder, scratch: Scratch) => void): Promise<number> {
    const seconds: number[] = []
    await warmUp(this.#device, this.#primitives)
    for (let repeat = 0; repeat <= REPEATS; repeat++) {
      const scratch = this.#device.scratch()
      const recorder = this.#device.record()
      const start = performance.now()
      record(recorder, scratch)
      recorder.submit()
      await this.#device.gpu.queue.onSubmittedWorkDone()
      if (repeat > 0) seconds.push((performance.now() - start) / 1000)
      scratch.release()
    }
    return median(seconds)
  }
}
