import type { Device } from '../gpu/device/device.js'
import type { Recorder } from '../gpu/device/recorder.js'
import { Arena } from '../gpu/index/arena.js'
import { uploadItems } from '../gpu/index/batch/items.js'
import { treeShape } from '../gpu/index/layout.js'
import { createReads } from '../gpu/index/read/reads.js'
import { TreeWriter } from '../gpu/index/write/tree-writer.js'
import type { IndexShape } from '../gpu/index-structure.js'
import type { Scratch } from '../gpu/memory/scratch.js'
import { Primitives } from '../gpu/primitives/primitives.js'
import { WriteOp } from '../protocol/types.js'
import { numberedPayloads, sampledKeys, scatteredKeys } from './keys.js'
import { profiled } from './profiled.js'
import type { Row } from './report.js'

/** Repetitions that are profiled, after one that warms up; figures are those of one. */
const REPEATS = 3

const SHAPES: Readonly<Record<string, IndexShape>> = {
  'u32 → u32': { keyType: 'u32', payloadBytes: 4, unique: false, matchFrom: 0 },
  'u64 → u64, unique': { keyType: 'u64', payloadBytes: 8, unique: true, matchFrom: 0 },
}

/** A row for each kernel of some work, and before them one for all of it. */
type Profile = (name: string, work: (repeat: number) => Promise<void>) => Promise<void>

/**
 * Says which kernels the device's time goes to, by its own timestamps around each dispatch: of the primitives, and of a prefix
 * tree of 2^`logarithm` keys. Batches of 1/16 are inserted into it, deleted from it and looked up. Nothing but kernels counts:
 * no copies, no gaps between dispatches, no host.
 */
export async function benchProfile(device: Device, logarithm: number): Promise<Row[]> {
  const rows: Row[] = []
  const profile: Profile = async (name, work) => {
    await work(-1)
    await device.gpu.queue.onSubmittedWorkDone()
    const kernels = await profiled(device, async () => {
      for (let repeat = 0; repeat < REPEATS; repeat++) await work(repeat)
    })
    if (kernels === undefined) throw new Error(`${device.facts.name} has no timestamps`)
    const all = {
      kernel: 'all',
      dispatches: kernels.reduce((sum, { dispatches }) => sum + dispatches, 0),
      microseconds: kernels.reduce((sum, { microseconds }) => sum + microseconds, 0),
    }
    for (const { kernel, dispatches, microseconds } of [all, ...kernels]) {
      rows.push({
        name: `${name}: ${kernel}`,
        figures: {
          dispatches: dispatches / REPEATS,
          µs: microseconds / REPEATS,
          '% of all': (100 * microseconds) / all.microseconds,
        },
      })
    }
  }
  await profilePrimitives(device, profile, logarithm)
  for (const [name, shape] of Object.entries(SHAPES))
    await profileTree(device, profile, name, shape, logarithm)
  return rows
}

async function profilePrimitives(device: Device, profile: Profile, logarithm: number): Promise<void> {
  const primitives = await Primitives.create(device)
  const count = 2 ** logarithm
  const keys = await device.allocate(count * 8, 'keys')
  device.upload(keys, scatteredKeys(2, 0, count))
  const output = await device.allocate(count * 4, 'output')
  const total = { buffer: await device.allocate(4, 'total'), index: 0 }
  const steps: Readonly<Record<string, (recorder: Recorder, scratch: Scratch) => void>> = {
    scan: (r, s) => primitives.scan(r, s, keys, output, count, total),
    compact: (r, s) => primitives.compact(r, s, keys, count, output, total),
    'sort u32 → u32': (r, s) => primitives.sort(r, s, keys, output, count, 1),
    'sort u64 → u32': (r, s) => primitives.sort(r, s, keys, output, count, 2),
  }
  for (const [name, record] of Object.entries(steps)) {
    await profile(`${name}, 2^${logarithm}`, async () => {
      const scratch = device.scratch()
      const recorder = device.record()
      record(recorder, scratch)
      recorder.submit()
      scratch.release()
    })
  }
  for (const buffer of [keys, output, total.buffer]) buffer.destroy()
}

async function profileTree(
  device: Device,
  profile: Profile,
  name: string,
  indexShape: IndexShape,
  logarithm: number,
): Promise<void> {
  const primitives = await Primitives.create(device)
  const shape = treeShape(indexShape)
  const writer = new TreeWriter(device, primitives, indexShape)
  const reader = createReads(device, primitives, indexShape)
  const empty = { nodes: 1, tuples: 1, extentWords: 1 }
  const count = 2 ** logarithm
  const batch = Math.max(1, count / 16)
  let arena = await Arena.create(device, shape, empty)

  const write = async (ops: WriteOp, first: number, items: number) => {
    const scratch = device.scratch()
    const columns = {
      ops,
      keys: { bytes: scatteredKeys(shape.keyWords, first, items), width: 4 * shape.keyWords },
      payloads: { bytes: numberedPayloads(shape.payloadWords, first, items), width: 4 * shape.payloadWords },
    }
    const prepared = await writer.prepareItems(
      arena,
      scratch,
      uploadItems(device, scratch, indexShape, columns),
    )
    prepared.apply()
    scratch.release()
  }

  await profile(`${name}, build of 2^${logarithm}`, async () => {
    arena.destroy()
    arena = await Arena.create(device, shape, empty)
    await write(WriteOp.insert, 0, count)
  })
  await profile(`${name}, insert of 1/16`, (repeat) =>
    write(WriteOp.insert, count + (repeat + 1) * batch, batch),
  )
  await profile(`${name}, delete of 1/16`, (repeat) =>
    write(WriteOp.deleteKey, count + (repeat + 1) * batch, batch),
  )
  const { keys } = sampledKeys(shape.keyWords, count, batch)
  const scratch = device.scratch()
  const queries = { keys: scratch.bytes(keys.byteLength), heap: undefined }
  device.upload(queries.keys, keys)
  const found = scratch.bytes(Math.ceil(batch / 8))
  const payloads = scratch.words(batch * shape.payloadWords)
  await profile(`${name}, get of 1/16`, async () => {
    const recorder = device.record()
    reader.get.record({ recorder, scratch, arena }, { queries, found, payloads, count: batch })
    recorder.submit()
  })
  scratch.release()
  arena.destroy()
}
