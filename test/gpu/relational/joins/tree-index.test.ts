import t from 'tap'
import type { IndexShape } from '../../../../gpu/index-structure.js'
import { PrefixTree } from '../../../../gpu/prefix-tree/prefix-tree.js'
import { TreeIndex } from '../../../../gpu/relational/joins/tree-index.js'
import { asBytes } from '../../../../protocol/columns.js'
import { WriteOp } from '../../../../protocol/types.js'
import { randomWords } from '../../primitives/bed.js'
import { joinOnHost, openJoins, readResult, samePairs, uploadSide } from './join-bed.js'

const SHAPE: IndexShape = { keyType: 'u32', payloadBytes: 4, unique: false, matchFrom: 0 }

function keysBelow(bound: number, count: number, seed: number): bigint[] {
  return Array.from(randomWords(seed, count), (word) => BigInt(word % bound))
}

t.test('joins with a tree of the server, on either side', async (t) => {
  const { device, joins } = await openJoins('serial')
  const buffers: GPUBuffer[] = []
  const host = { indexed: { keys: keysBelow(500, 700, 13) }, other: { keys: keysBelow(600, 300, 14) } }
  const indexed = await uploadSide(device, buffers, host.indexed, 1)
  const other = await uploadSide(device, buffers, host.other, 1)
  for (const structure of ['prefix', 'css'] as const) {
    const tree = await PrefixTree.create(device, { ...SHAPE, structure })
    const index = new TreeIndex(tree)
    const request = { keyWords: 1, algorithm: 'inlj', passBytes: 2 ** 20 } as const
    const empty = await joins.join({ ...request, left: other, right: { ...indexed, index } })
    t.equal(empty.pairs, 0)
    empty.destroy()
    const keys = asBytes(Uint32Array.from(host.indexed.keys, Number))
    const payloads = asBytes(Uint32Array.from(host.indexed.keys.keys()))
    const prepared = await tree.prepare({ ops: WriteOp.insert, keys, payloads })
    prepared.apply()

    const right = await joins.join({ ...request, left: other, right: { ...indexed, index } })
    t.equal(right.choice.build, 'right')
    const wanted = joinOnHost({ left: host.other, right: host.indexed, keyWords: 1 })
    samePairs((await readResult(device, right)).pairs, wanted)

    const left = await joins.join({ ...request, left: { ...indexed, index }, right: other })
    t.equal(left.choice.build, 'left')
    const turned = joinOnHost({ left: host.indexed, right: host.other, keyWords: 1 })
    samePairs((await readResult(device, left)).pairs, turned)

    const predicate = { type: 'band', delta: 2n } as const
    const band = await joins.join({ ...request, left: other, right: { ...indexed, index }, predicate })
    const near = joinOnHost({ left: host.other, right: host.indexed, keyWords: 1, predicate })
    samePairs((await readResult(device, band)).pairs, near)
    tree.destroy()
  }
  for (const buffer of buffers) buffer.destroy()
})

t.test('trees that cannot be joined with are refused', async (t) => {
  const { device, joins } = await openJoins('serial')
  for (const other of [{ payloadBytes: 8 }, { keyType: 'i32' } as const]) {
    const tree = await PrefixTree.create(device, { ...SHAPE, ...other })
    t.throws(() => new TreeIndex(tree), { code: 'BAD_REQUEST' })
    tree.destroy()
  }
  const tree = await PrefixTree.create(device, SHAPE)
  const buffers: GPUBuffer[] = []
  const side = await uploadSide(device, buffers, { keys: [1n, 2n] }, 2)
  const right = { ...side, index: new TreeIndex(tree) }
  await t.rejects(joins.join({ left: side, right, keyWords: 2, passBytes: 64 }), { code: 'BAD_REQUEST' })
  tree.destroy()
  for (const buffer of buffers) buffer.destroy()
})
