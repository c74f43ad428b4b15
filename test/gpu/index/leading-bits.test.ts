import t from 'tap'
import { PrefixTree } from '../../../gpu/index/prefix-tree.js'
import { leadingBits } from '../../../gpu/primitives/primitives.js'
import { WriteOp } from '../../../protocol/types.js'
import { Random, seedOfRun } from '../../random.js'
import { reads } from '../../reads.js'
import { prepareBatch } from '../../writes.js'
import { openDevice } from '../open-device.js'

const KEYS = 2 ** 16
/** Keys that share the bits that tell the others apart: too few to be seen in a sample, too many to be put in order one by one. */
const ALIKE = 100

t.test('batches that are not as their sample are written all the same', async (t) => {
  const device = await openDevice(t)
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  const random = new Random(seed)
  for (const [structure, alike] of [
    ['css', 0],
    ['css', ALIKE],
    ['prefix', ALIKE],
  ] as const) {
    const shape = { keyType: 'u64', payloadBytes: 4, unique: true, matchFrom: 0, structure } as const
    const tree = await PrefixTree.create(device, shape)
    const keys = Uint32Array.from({ length: 2 * KEYS }, () => random.word())
    for (let i = 0; i < alike; i++) keys[2 * random.below(KEYS) + 1] = 0x12345678
    const bytes = new Uint8Array(keys.buffer)
    t.equal(leadingBits(bytes), 32)
    const payloads = Buffer.from(Uint32Array.from({ length: KEYS }, (_, i) => i).buffer)
    ;(await prepareBatch(tree, { ops: WriteOp.insert, keys: bytes, payloads })).apply()
    const answers = await reads(tree).get(bytes)
    t.ok(Buffer.alloc(KEYS / 8, 255).equals(answers.found))
    t.ok(payloads.equals(answers.payloads), `${structure}, ${alike} alike`)
    tree.destroy()
  }
})
