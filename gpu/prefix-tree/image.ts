import { WarpdexError } from '../../protocol/errors.js'
import type { Device } from '../device/device.js'
import type { ImagePart, StructureImage } from '../index-structure.js'
import type { Region } from '../memory/region.js'
import { Arena } from './arena.js'
import type { TreeShape } from './layout.js'
import type { TreeTotals } from './totals.js'

/** Raised whenever the records' layout changes: an image of another layout is refused. */
const LAYOUT_VERSION = 1

/** Bytes that are read back at a time. */
const CHUNK_BYTES = 16 * 1024 * 1024

/** Reads the named part of an image, in order. */
export type ReadPart = (name: string) => AsyncIterable<Uint8Array>

/** An image of an arena as it is now: its content is copied on the device at once and read back as it is asked for. */
export async function imageOf(device: Device, arena: Arena, totals: TreeTotals): Promise<StructureImage> {
  const parts: ImagePart[] = []
  const copies: GPUBuffer[] = []
  const release = (): void => {
    for (const copy of copies) copy.destroy()
  }
  try {
    const recorder = device.record()
    for (const [name, { buffer, usedBytes }] of arena.regions) {
      const copy = await device.allocate(Math.max(usedBytes, 4), `image of ${name}`)
      copies.push(copy)
      recorder.copy(buffer, 0, copy, 0, usedBytes)
      parts.push({ name, bytes: usedBytes, chunks: readBackOnce(device, copy, usedBytes) })
    }
    recorder.submit()
  } catch (error) {
    release()
    throw error
  }
  return { meta: metaOf(arena, totals), parts, release }
}

/** An image that is read from the arena itself, which must not change meanwhile. */
export async function imageInPlace(
  device: Device,
  arena: Arena,
  totals: TreeTotals,
): Promise<StructureImage> {
  const parts = [...arena.regions].map(([name, { buffer, usedBytes }]) => ({
    name,
    bytes: usedBytes,
    chunks: readBack(device, buffer, usedBytes),
  }))
  return { meta: metaOf(arena, totals), parts, release: () => {} }
}

function metaOf(arena: Arena, totals: TreeTotals): StructureImage['meta'] {
  const records = Object.fromEntries([...arena.regions].map(([name, region]) => [name, region.records]))
  const { sorted } = arena
  const part = sorted && { sorted: sorted.tuples, hasRemoved: sorted.hasRemoved }
  return { layout: LAYOUT_VERSION, ...totals, ...records, ...part }
}

/** A copy's bytes; it is given back with the last of them, since those of all parts are as large as the index. */
async function* readBackOnce(device: Device, copy: GPUBuffer, bytes: number): AsyncGenerator<Uint8Array> {
  try {
    yield* readBack(device, copy, bytes)
  } finally {
    copy.destroy()
  }
}

async function* readBack(device: Device, buffer: GPUBuffer, bytes: number): AsyncGenerator<Uint8Array> {
  for (let offset = 0; offset < bytes; offset += CHUNK_BYTES) {
    const size = Math.min(CHUNK_BYTES, bytes - offset)
    yield await device.read(buffer, size, (view) => view.slice(), offset)
  }
}

/**
 * Brings an arena back.
 * @throws WarpdexError `DAMAGED_FILE` when the image is of another layout or shorter than it says
 */
export async function arenaFromImage(
  device: Device,
  shape: TreeShape,
  meta: StructureImage['meta'],
  readPart: ReadPart,
  mostBytes?: number,
): Promise<{ arena: Arena; totals: TreeTotals }> {
  if (meta.layout !== LAYOUT_VERSION) {
    throw new WarpdexError(
      'DAMAGED_FILE',
      `the image has layout ${meta.layout}; this version reads ${LAYOUT_VERSION}`,
    )
  }
  if (shape.conditions.css && numberOf(meta, 'sorted') > numberOf(meta, 'tuples')) {
    throw new WarpdexError('DAMAGED_FILE', 'the image has more sorted tuples than tuples')
  }
  const need = {
    nodes: numberOf(meta, 'nodes'),
    tuples: numberOf(meta, 'tuples'),
    extentWords: numberOf(meta, 'extents'),
    ...(shape.form === undefined ? {} : { keyWords: numberOf(meta, 'heap') }),
    ...(shape.conditions.css ? { sorted: numberOf(meta, 'sorted') } : {}),
  }
  const arena = await Arena.create(device, shape, need, mostBytes)
  try {
    for (const [name, region] of arena.regions) {
      await fill(device, region, numberOf(meta, name), readPart(name))
    }
    if (arena.sorted !== undefined) arena.sorted.hasRemoved = meta.hasRemoved === true
  } catch (error) {
    arena.destroy()
    throw error
  }
  const totals = {
    keys: numberOf(meta, 'keys'),
    payloads: numberOf(meta, 'payloads'),
    tuplesRemoved: numberOf(meta, 'tuplesRemoved'),
    garbageBytes: numberOf(meta, 'garbageBytes'),
  }
  return { arena, totals }
}

async function fill(
  device: Device,
  region: Region,
  records: number,
  chunks: AsyncIterable<Uint8Array>,
): Promise<void> {
  // A bitmap of removed tuples has the size that its sorted part gives it.
  if (records < region.records) throw damagedLength(region)
  region.take(records - region.records)
  let offset = 0
  for await (const chunk of chunks) {
    if (offset + chunk.byteLength > region.usedBytes) break
    device.upload(region.buffer, chunk, offset)
    offset += chunk.byteLength
  }
  if (offset !== region.usedBytes) {
    throw damagedLength(region)
  }
}

function damagedLength({ label, usedBytes }: Region): WarpdexError {
  return new WarpdexError('DAMAGED_FILE', `the image's ${label} are not ${usedBytes} bytes long`)
}

function numberOf(meta: StructureImage['meta'], name: string): number {
  const value = meta[name]
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value
  throw new WarpdexError('DAMAGED_FILE', `the image's ${name} is ${JSON.stringify(value)}, not a number`)
}
