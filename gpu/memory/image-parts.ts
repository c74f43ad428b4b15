import { WarpdexError } from '../../protocol/errors.js'
import type { Device } from '../device/device.js'
import type { ImagePart, StructureImage } from '../index-structure.js'
import { HostImage } from './host-copies.js'
import type { DeviceMemory } from './page-run.js'
import type { Region } from './region.js'

/** Bytes that are read back at a time: copying them takes less than a millisecond, in which nothing else is answered. */
export const CHUNK_BYTES = 4 * 1024 * 1024

/** Reads the named part of an image, in order. */
export type ReadPart = (name: string) => ImagePart['chunks']

/** Reads the parts of an image. */
export function partsOf({ parts }: StructureImage): ReadPart {
  return (name) => parts.find((part) => part.name === name)?.chunks ?? []
}

/** Regions by the names of the parts that they become. */
export type NamedRegions = Iterable<readonly [name: string, region: Region]>

/** Regions as they are now: their content is copied on the device at once and read back as it is asked for. */
export function copiedParts(
  device: Device,
  regions: NamedRegions,
): { readonly parts: ImagePart[]; release(): void } {
  const parts: ImagePart[] = []
  const copies: DeviceMemory[] = []
  const release = (): void => {
    for (const copy of copies) copy.destroy()
  }
  try {
    const recorder = device.record()
    for (const [name, region] of regions) {
      const { usedBytes } = region
      const copy = region.copied(recorder)
      copies.push(copy)
      parts.push({ name, bytes: usedBytes, chunks: readBackOnce(device, copy, usedBytes) })
    }
    recorder.submit()
  } catch (error) {
    release()
    throw error
  }
  return { parts, release }
}

/** Bytes that are on the host and do not change. */
export function hostPart(name: string, bytes: Uint8Array): ImagePart {
  const chunks = Array.from({ length: Math.ceil(bytes.byteLength / CHUNK_BYTES) }, (_, i) =>
    bytes.subarray(i * CHUNK_BYTES, (i + 1) * CHUNK_BYTES),
  )
  return { name, bytes: bytes.byteLength, chunks }
}

/** A copy's bytes; it is given back with the last of them, since those of all parts are as large as the index. */
async function* readBackOnce(device: Device, copy: DeviceMemory, bytes: number): AsyncGenerator<Uint8Array> {
  try {
    yield* readBack(device, copy, bytes)
  } finally {
    copy.destroy()
  }
}

/** Reads a buffer. All chunks lie in the same memory, one after the other, which other threads may read. */
export async function* readBack(
  device: Device,
  buffer: DeviceMemory,
  bytes: number,
): AsyncGenerator<Uint8Array> {
  const shared = new Uint8Array(new SharedArrayBuffer(Math.min(CHUNK_BYTES, Math.ceil(bytes / 8) * 8)))
  const memory = { allocate: (bytes: number) => shared.subarray(0, bytes) }
  for (let offset = 0; offset < bytes; offset += CHUNK_BYTES) {
    yield await device.read(buffer, Math.min(CHUNK_BYTES, bytes - offset), offset, memory)
  }
}

/**
 * Fills a region, which must have room, with what was read of a part.
 * @throws WarpdexError `DAMAGED_FILE` when that is not as long as `records` records
 */
export async function fillRegion(
  device: Device,
  region: Region,
  records: number,
  chunks: ImagePart['chunks'],
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
  if (chunks instanceof HostImage) region.keepHostCopy(chunks)
}

function damagedLength({ label, usedBytes }: Region): WarpdexError {
  return new WarpdexError('DAMAGED_FILE', `the image's ${label} are not ${usedBytes} bytes long`)
}
