import t, { type Test } from 'tap'
import { Device } from '../../../gpu/device/device.js'
import { PrefixTree } from '../../../gpu/index/prefix-tree.js'
import type { IndexStructure } from '../../../gpu/index-structure.js'
import { asBytes } from '../../../protocol/columns.js'
import { LIMITS } from '../../../protocol/limits.js'
import { type IndexDefinition, WriteOp } from '../../../protocol/types.js'
import { DeviceBudget } from '../../../src/engine/device-budget.js'
import type { Engine, EngineOptions } from '../../../src/engine/index.js'
import { pagedIndex } from '../../../src/engine/loader.js'
import { prefixTrees, type StructureFactory } from '../../../src/engine/structures.js'
import { HeldPasses } from '../../gpu/index/held-passes.js'
import { reads } from '../../reads.js'
import { prepareBatch, writeTo } from '../../writes.js'
import { openEngine } from './open-engine.js'

// All that these tests insert goes to a delta first.
Object.assign(LIMITS, { mergedTuples: Number.POSITIVE_INFINITY })

const DEFINITION: IndexDefinition = { name: 'merged', keyType: 'u64', payloadKind: 'u64', unique: false }

/** Keys of a write after which a merge is due. */
const MANY = 17_000

/** One for all tests, because making its kernels takes longer than they do. */
let device: Device
let passes: HeldPasses
/** The last one that was made. */
let structure: IndexStructure
const structures: StructureFactory = {
  ...prefixTrees,
  async create(...args) {
    structure = await prefixTrees.create(...args)
    return structure
  },
}
t.before(async () => {
  device = await Device.open('software')
  passes = new HeldPasses(device)
  const destroy = device.destroy.bind(device)
  device.destroy = () => {}
  t.teardown(destroy)
})

function open(t: Test, options: Partial<EngineOptions> = {}): Promise<Engine> {
  t.teardown(() => passes.free())
  return openEngine(t, { structures, openDevice: async () => device, ...options })
}

/** Creates an index and waits until its merge is held behind its first pass. */
async function beginMerge(engine: Engine): Promise<void> {
  passes.hold()
  await engine.createIndex(DEFINITION)
  await write(engine, WriteOp.insert, numbers(0, MANY))
  await write(engine, WriteOp.insert, numbers(MANY, MANY))
  await passes.held()
}

/** Waits until a method of the structure has been called. */
function called(name: 'destroy' | 'image'): Promise<void> {
  const watched = structure
  const method = watched[name].bind(watched)
  return new Promise((resolve) => {
    Object.assign(watched, {
      [name]: (...args: Parameters<typeof method>) => {
        const result = method(...args)
        resolve()
        return result
      },
    })
  })
}

function numbers(from: number, count: number): Uint8Array {
  return asBytes(BigUint64Array.from({ length: count }, (_, i) => BigInt(from + i) * 0x1_0000_0001n))
}

function write(engine: Engine, ops: WriteOp, keys: Uint8Array): Promise<Uint8Array> {
  return writeTo(engine.index(DEFINITION.name), { ops, keys, payloads: keys })
}

async function count(engine: Engine, keys: Uint8Array): Promise<number> {
  const counts = await reads(engine.index(DEFINITION.name)).count(keys)
  return new Uint32Array(counts.slice().buffer).reduce((sum, each) => sum + each, 0)
}

t.test('requests are answered, and snapshots taken, while a merge goes on', async (t) => {
  const directory = t.testdir()
  const engine = await open(t, { directory })
  await beginMerge(engine)
  const { background } = structure
  t.equal(await count(engine, numbers(0, 2 * MANY)), 2 * MANY)
  await write(engine, WriteOp.deleteKey, numbers(0, 1000))
  await write(engine, WriteOp.insert, numbers(2 * MANY, 1000))
  t.equal(await count(engine, numbers(0, 3 * MANY)), 2 * MANY)
  await engine.snapshot()
  await write(engine, WriteOp.deletePair, numbers(MANY, 1000))
  t.equal(await count(engine, numbers(0, 3 * MANY)), 2 * MANY - 1000)
  passes.free()
  t.equal(await background, undefined, 'it ends well, though no request comes')
  t.equal(await count(engine, numbers(0, 3 * MANY)), 2 * MANY - 1000)
  t.equal(await count(engine, numbers(0, 1000)), 0)
  await engine.close()

  const again = await open(t, { directory })
  t.equal(await count(again, numbers(0, 3 * MANY)), 2 * MANY - 1000)
  t.equal(await count(again, numbers(0, 1000)), 0)
})

t.test('an index is dropped, and an engine closed, in the middle of a merge', async (t) => {
  const directory = t.testdir()
  const engine = await open(t, { directory })
  await beginMerge(engine)
  const destroyed = called('destroy')
  const dropping = engine.dropIndex(DEFINITION.name)
  await destroyed
  passes.free()
  t.equal(await dropping, true)
  t.equal(engine.stats().server.deviceBytes, 0)

  await beginMerge(engine)
  await write(engine, WriteOp.deleteKey, numbers(0, 1000))
  const destroyedAgain = called('destroy')
  const closing = engine.close()
  await destroyedAgain
  passes.free()
  await closing
  const again = await open(t, { directory })
  t.equal(await count(again, numbers(0, 2 * MANY)), 2 * MANY - 1000)
})

t.test('an index is paged out in the middle of a merge', async (t) => {
  const engine = await open(t, { deviceMemory: 10 * 2 ** 20 })
  await beginMerge(engine)
  await write(engine, WriteOp.deleteKey, numbers(0, 1000))
  const imaged = called('image')
  await engine.createIndex({ ...DEFINITION, name: 'other' })
  const keys = numbers(0, 250_000)
  const writing = writeTo(engine.index('other'), { ops: WriteOp.insert, keys, payloads: keys })
  await imaged
  passes.free()
  await writing
  // The write is answered before others have made way for it.
  while (engine.stats(DEFINITION.name).indexes[0].resident === true) {
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
  t.equal(await count(engine, numbers(0, 2 * MANY)), 2 * MANY - 1000)
})

t.test('what a merge takes counts until it is over', async (t) => {
  const budget = new DeviceBudget(Number.POSITIVE_INFINITY)
  const shape = { keyType: 'u64', payloadBytes: 8, unique: false, matchFrom: 0, structure: 'css' } as const
  const tree = await PrefixTree.create(device, shape)
  const paged = pagedIndex(tree, { structures, budget, device: async () => device })
  passes.hold()
  await paged.change(async () => {
    for (const first of [0, MANY]) {
      const keys = numbers(first, MANY)
      const prepared = await prepareBatch(tree, { ops: WriteOp.insert, keys, payloads: keys })
      prepared.apply()
    }
  })
  const alone = budget.bytes
  await paged.change((current) => current.compactIfWorthwhile({ inBackground: true }))
  const { background } = tree
  t.ok(budget.bytes > 1.5 * alone, 'a copy, and what is expected of the new arena')
  passes.free()
  await background
  await new Promise(setImmediate)
  t.ok(budget.bytes < alone)
  t.equal(budget.bytes, tree.stats().deviceBytes)
  await paged.destroy()
  t.equal(budget.bytes, 0)
})
