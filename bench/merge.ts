import type { Device } from '../gpu/device/device.js'
import { PrefixTree } from '../gpu/index/prefix-tree.js'
import type { IndexShape } from '../gpu/index-structure.js'
import { WriteOp } from '../protocol/types.js'
import { sampledKeys, scatteredKeys } from './keys.js'
import { median, type Row } from './report.js'

const SHAPE: IndexShape = { keyType: 'u32', payloadBytes: 4, unique: true, matchFrom: 0, structure: 'css' }

/** Keys of a get, one of those that merges must not hold up. */
const KEYS = 64
/** Gets without a merge. */
const GETS = 200

/**
 * How long small gets, one after the other, take beside the merge of a CSS-tree with a delta of an eighth. A merge between writes
 * holds them up for all of its time.
 * @param logarithm size of the tree as a power of two
 */
export async function benchMerge(device: Device, logarithm: number): Promise<Row[]> {
  const entries = 2 ** logarithm
  const held = await openTree(device, entries)
  const blocked = performance.now()
  await held.compact()
  const between = performance.now() - blocked
  held.destroy()

  const tree = await openTree(device, entries)
  const { keys } = sampledKeys(1, entries, KEYS)
  const get = async () => {
    const begin = performance.now()
    await tree.read({ op: 'get' }, { keys: { bytes: keys, width: 4 } })
    return performance.now() - begin
  }
  const alone: number[] = []
  for (let i = 0; i < GETS; i++) alone.push(await get())

  const beside: number[] = []
  let isOver = false
  const begin = performance.now()
  await tree.compact({ inBackground: true })
  const beginning = performance.now() - begin
  void tree.background?.then(() => {
    isOver = true
  })
  while (!isOver) beside.push(await get())
  const inBackground = performance.now() - begin

  tree.destroy()
  return [
    {
      name: `u32, 2^${logarithm} and an eighth`,
      figures: {
        'merge between writes, ms': between,
        'merge beside gets, ms': inBackground,
        'its beginning, ms': beginning,
        'get alone, ms': median(alone),
        'get beside, ms': median(beside),
        'longest get beside, ms': Math.max(...beside),
        gets: beside.length,
      },
    },
  ]
}

/** A tree of so many keys in order, and an eighth of them in its delta. */
async function openTree(device: Device, entries: number): Promise<PrefixTree> {
  const tree = await PrefixTree.create(device, SHAPE)
  for (const [first, count] of [
    [0, entries],
    [entries, entries / 8],
  ] as const) {
    const keys = { bytes: scatteredKeys(1, first, count), width: 4 }
    const prepared = await tree.prepare({ ops: WriteOp.insert, keys, payloads: keys })
    prepared.apply()
  }
  return tree
}
