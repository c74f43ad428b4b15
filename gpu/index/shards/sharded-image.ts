import { aligned, asBytes } from '../../../protocol/columns.js'
import { WarpdexError } from '../../../protocol/errors.js'
import { concatenate } from '../../../protocol/rows.js'
import { isFixedKeyType } from '../../../protocol/types.js'
import type { Device } from '../../device/device.js'
import type { IndexShape, StructureImage } from '../../index-structure.js'
import { hostPart, type ReadPart } from '../../memory/image-parts.js'
import { PrefixTree } from '../prefix-tree.js'
import { Boundaries } from './boundaries.js'
import type { Shards } from './shards.js'

/**
 * The image of an index. That of one shard is its tree's; else the names of each tree's parts and figures have the shard's number
 * before them, and the boundaries are parts of their own.
 */
export async function imageOfShards(
  { boundaries, trees }: Shards,
  options?: { readonly inPlace: boolean },
): Promise<StructureImage> {
  if (trees.length === 1) return trees[0].image(options)
  const images: StructureImage[] = []
  const release = () => {
    for (const image of images) image.release()
  }
  try {
    for (const tree of trees) images.push(await tree.image(options))
  } catch (error) {
    release()
    throw error
  }
  const { bytes, offsets } = boundaries.rows
  const bounds = [hostPart('boundaries', bytes)]
  if (offsets !== undefined) bounds.push(hostPart('boundaryOffsets', asBytes(offsets)))
  const meta = Object.fromEntries(
    images.flatMap((image, shard) =>
      Object.entries(image.meta).map(([name, value]) => [nameOf(shard, name), value]),
    ),
  )
  const parts = images.flatMap((image, shard) =>
    image.parts.map((part) => ({ ...part, name: nameOf(shard, part.name) })),
  )
  return { meta: { ...meta, shards: trees.length }, parts: [...bounds, ...parts], release }
}

/**
 * Brings shards back.
 * @throws WarpdexError `DAMAGED_FILE`, `OUT_OF_DEVICE_MEMORY`
 */
export async function shardsFromImage(
  device: Device,
  shape: IndexShape,
  meta: StructureImage['meta'],
  readPart: ReadPart,
  mostBytes: number,
): Promise<Shards> {
  const count = meta.shards ?? 1
  if (typeof count !== 'number' || !Number.isSafeInteger(count) || count < 1) {
    throw new WarpdexError('DAMAGED_FILE', `the image's shards are ${JSON.stringify(count)}, not a number`)
  }
  if (count === 1) {
    const tree = await PrefixTree.restore(device, shape, meta, readPart, mostBytes)
    return { boundaries: Boundaries.none(shape), trees: [tree] }
  }
  const boundaries = await readBoundaries(shape, readPart, count - 1)
  const trees: PrefixTree[] = []
  try {
    for (let shard = 0; shard < count; shard++) {
      const own = (name: string) => readPart(nameOf(shard, name))
      const taken = trees.reduce((sum, tree) => sum + tree.deviceBytes, 0)
      trees.push(await PrefixTree.restore(device, shape, metaOf(meta, shard), own, mostBytes - taken))
    }
  } catch (error) {
    for (const tree of trees) tree.destroy()
    throw error
  }
  return { boundaries, trees }
}

async function readBoundaries(shape: IndexShape, readPart: ReadPart, count: number): Promise<Boundaries> {
  const bytes = await readWhole(readPart('boundaries'))
  if (isFixedKeyType(shape.keyType)) return Boundaries.of(shape, { bytes }, count)
  const offsets = aligned(await readWhole(readPart('boundaryOffsets')), Uint32Array)
  return Boundaries.of(shape, { bytes, offsets }, count)
}

async function readWhole(chunks: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const all: Uint8Array[] = []
  for await (const chunk of chunks) all.push(chunk.slice())
  return concatenate(all)
}

function metaOf(meta: StructureImage['meta'], shard: number): StructureImage['meta'] {
  const prefix = nameOf(shard, '')
  const own = Object.entries(meta).filter(([name]) => name.startsWith(prefix))
  return Object.fromEntries(own.map(([name, value]) => [name.slice(prefix.length), value]))
}

function nameOf(shard: number, name: string): string {
  return `${shard}/${name}`
}
