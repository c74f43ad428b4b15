import t from 'tap'
import { Arena } from '../../../gpu/index/arena.js'
import { TopKeeper } from '../../../gpu/index/delta/top.js'
import { treeShape } from '../../../gpu/index/layout.js'
import { Get } from '../../../gpu/index/read/get.js'
import { ReadContext } from '../../../gpu/index/read/read-context.js'
import { TreeWriter } from '../../../gpu/index/write/tree-writer.js'
import { Primitives } from '../../../gpu/primitives/primitives.js'
import { countOf } from '../../../protocol/columns.js'
import { WriteOp } from '../../../protocol/types.js'
import { Random, seedOfRun } from '../../random.js'
import { batchOf } from '../../writes.js'
import { openDevice } from '../open-device.js'

const KEYS = 3000

t.test('lookups that start at a table of any number of first digits find what is there', async (t) => {
  const device = await openDevice(t)
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  const random = new Random(seed)
  const primitives = await Primitives.create(device)
  const keeper = new TopKeeper(device)
  for (const keyType of ['u32', 'u64'] as const) {
    const shape = { keyType, payloadBytes: 4, unique: true, matchFrom: 0 }
    const { keyWords } = treeShape(shape)
    const writer = new TreeWriter(device, primitives, shape)
    const context = new ReadContext(device, primitives, shape)
    const get = new Get(context)
    const arena = await Arena.create(device, treeShape(shape), { nodes: 1, tuples: 1, extentWords: 1 })
    // Half of the keys share their first digits, so that some paths end above the table's depth and others go on below it.
    const keys = new Uint32Array(keyWords * KEYS).map(() => random.below(2 ** 32))
    for (let i = 0; i < KEYS / 2; i++) keys[keyWords * i + keyWords - 1] &= 0xfff
    const known = keys.subarray(0, (keyWords * KEYS * 2) / 3)
    const payloads = new Uint32Array(known.length / keyWords).map((_, i) => i + 1)
    const insert = {
      ops: WriteOp.replace,
      keys: new Uint8Array(known.slice().buffer),
      payloads: new Uint8Array(payloads.buffer),
    }
    ;(await writer.prepare(arena, batchOf(shape, insert))).apply()
    const queries = { bytes: new Uint8Array(keys.buffer), width: 4 * keyWords }
    const asked = { keys: queries, count: countOf(queries) }
    const tree = { arena, keys: 1, plan: undefined }
    const answers = () => get.run(tree, { op: 'get' }, asked)
    const expected = await answers()
    for (const digits of [2, 4]) {
      arena.top = { digits, buffer: device.allocatePages('derived', 4 * 16 ** digits, 'tree directory') }
      const recorder = device.record()
      keeper.recordFill(recorder, arena)
      recorder.submit()
      t.same(await answers(), expected, `${keyType}, ${digits} digits`)
      arena.top.buffer.destroy()
    }
    arena.top = undefined
    const found = Buffer.from(expected.found)
    t.ok(
      Array.from({ length: known.length / keyWords }, (_, i) => (found[i >> 3]! >> (i & 7)) & 1).every(
        Boolean,
      ),
    )
    arena.destroy()
  }
})
