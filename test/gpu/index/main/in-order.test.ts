import t from 'tap'
import { PrefixTree } from '../../../../gpu/index/prefix-tree.js'
import type { IndexShape } from '../../../../gpu/index-structure.js'
import { asBytes } from '../../../../protocol/columns.js'
import { WriteOp } from '../../../../protocol/types.js'
import { expectEqual } from '../../../differential.js'
import { ModelStructure } from '../../../model-structure.js'
import { reads } from '../../../reads.js'
import { prepareBatch } from '../../../writes.js'
import { openDevice } from '../../open-device.js'

const CSS = { unique: false, matchFrom: 0, structure: 'css' } as const
const SHAPES = [
  { ...CSS, keyType: 'u32', payloadBytes: 4 },
  { ...CSS, keyType: 'i64', payloadBytes: 8, unique: true },
  { ...CSS, keyType: 'f64', payloadBytes: 12 },
] as const

const device = await openDevice(t)

/** Even numbers in key order; of floats and signed keys half of all are negative. */
function keysOf({ keyType }: IndexShape, from: number, count: number): Uint8Array {
  const numbers = Array.from({ length: count }, (_, i) => 2 * (from + i))
  if (keyType === 'u32') return asBytes(Uint32Array.from(numbers))
  if (keyType === 'f64') return asBytes(Float64Array.from(numbers, (number) => number - 1000))
  return asBytes(BigInt64Array.from(numbers, (number) => BigInt(number - 1000)))
}

async function sortedTuples(tree: PrefixTree): Promise<unknown> {
  const { meta } = await tree.image()
  return [meta.sorted, meta.tuples]
}

for (const shape of SHAPES) {
  t.test(`keys that come in order go behind the sorted part: ${shape.keyType}`, async (t) => {
    const tree = await PrefixTree.create(device, shape)
    const model = new ModelStructure(shape)
    const write = async (keys: Uint8Array, options: object = { isSorted: true }) => {
      const width = shape.keyType === 'u32' ? 4 : 8
      const payloads = new Uint8Array((keys.byteLength / width) * shape.payloadBytes).map((_, i) => i % 251)
      const batch = { ops: WriteOp.insert, keys, payloads, goesOn: true, ...options }
      for (const structure of [tree, model]) {
        const givenUp = await prepareBatch(structure, batch)
        givenUp.discard()
        const prepared = await prepareBatch(structure, batch)
        prepared.apply()
      }
      const all = { ranges: 1, limit: 10_000 }
      expectEqual(await reads(tree).scan(all), await reads(model).scan(all), JSON.stringify(shape))
    }
    await write(keysOf(shape, 0, 300), { isSorted: true, coming: 600 })
    const { deviceBytes } = tree.stats()
    await write(keysOf(shape, 300, 300), { isSorted: true, coming: 300 })
    await write(keysOf(shape, 600, 300), { isSorted: true })
    t.same(await sortedTuples(tree), [900, 900])
    t.equal(tree.stats().deviceBytes, deviceBytes, 'there was room for all of them from the start')
    await write(keysOf(shape, 899, 10))
    t.same(await sortedTuples(tree), [900, 909], 'not all are behind it')
    await tree.compact()
    await write(keysOf(shape, 1000, 5), { isSorted: true, coming: 2 ** 40 })
    t.same(await sortedTuples(tree), [914, 914], 'room for what comes is made only where there is any')
    tree.destroy()
  })
}
