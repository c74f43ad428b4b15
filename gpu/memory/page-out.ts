import { randomFillSync } from 'node:crypto'
import type { Device, Kernels } from '../device/device.js'
import type { Recorder } from '../device/recorder.js'
import type { ImagePart } from '../index-structure.js'
import { type HostChunk, HostImage } from './host-copies.js'
import { CHUNK_BYTES, type NamedRegions } from './image-parts.js'
import type { DeviceMemory } from './page-run.js'
import type { DeviceColumn } from './readback.js'
import type { Region } from './region.js'
import type { ResultMemory } from './result-memory.js'
import { PAGE_BYTES, pagesFor } from './slab.js'

const DIGEST_WORDS = 4

/** Pages that the host has are read, too, where no more lie between two that it has not: another copy takes longer than their bytes. */
const BRIDGED_PAGES = 16

/** As so much of its bytes counts a piece of which only digests are read: their share is smaller, but other work waits for the device, too. */
const DIGESTS_SHARE = 1 / 16

/** Where digests begin. Images stay in the process. */
const [seed0, seed1, seed2, seed3] = randomFillSync(new Uint32Array(4))
const SEED = { seed0, seed1, seed2, seed3 }

/** A part of a region that is to be a chunk on the host. */
interface Piece {
  readonly region: Region
  /** Its first byte in the region. */
  readonly first: number
  readonly bytes: number
  /** What the host has of it, as it was when the region came from there. */
  readonly known: HostChunk | undefined
}

/** Pages next to each other. */
interface Stretch {
  readonly first: number
  readonly bytes: number
}

/** A piece that is not as the host has it. */
interface ChangedPiece {
  readonly piece: Piece
  readonly known: HostChunk
  readonly digests: Uint32Array
}

/** Regions that do not change meanwhile, in host memory. Of those that came from there only pages are read that have changed since. */
export async function hostParts(device: Device, regions: NamedRegions): Promise<ImagePart[]> {
  const parts = [...regions].map(([name, region]) => {
    const unchanged = region.isUnchanged ? region.hostCopy : undefined
    const pieces = unchanged === undefined ? piecesOf(region) : []
    return { name, bytes: region.usedBytes, unchanged, pieces }
  })
  const changed = parts.flatMap(({ pieces }) => pieces)
  const chunks = await new PageOut(device).chunksOf(changed)
  return parts.map(({ name, bytes, unchanged, pieces }) => {
    return { name, bytes, chunks: unchanged ?? new HostImage(pieces.map((piece) => chunks.get(piece)!)) }
  })
}

function piecesOf(region: Region): Piece[] {
  const { usedBytes, hostCopy } = region
  return Array.from({ length: Math.ceil(usedBytes / CHUNK_BYTES) }, (_, i) => {
    const first = i * CHUNK_BYTES
    return { region, first, bytes: Math.min(CHUNK_BYTES, usedBytes - first), known: hostCopy?.chunks[i] }
  })
}

/** Brings pieces of regions to the host. */
class PageOut {
  readonly #device: Device
  readonly #kernels: Kernels<'digest_pages'>
  readonly #chunks = new Map<Piece, HostChunk>()

  constructor(device: Device) {
    this.#device = device
    this.#kernels = device.kernels('memory/page-out', ['digest_pages'])
  }

  async chunksOf(pieces: readonly Piece[]): Promise<ReadonlyMap<Piece, HostChunk>> {
    if (pieces.length === 0) return this.#chunks
    await this.#device.compiled()
    const comparedBytes = ({ bytes, known }: Piece) => (known === undefined ? bytes : bytes * DIGESTS_SHARE)
    const compared = batches(pieces, comparedBytes)
    // While the host copies what was read of some, the device has others to read.
    const ends = await Promise.allSettled([this.#bring(compared), this.#bring(compared)])
    for (const end of ends) if (end.status === 'rejected') throw end.reason
    return this.#chunks
  }

  async #bring(compared: Iterable<readonly Piece[]>): Promise<void> {
    const memory = reusedMemory()
    for (const pieces of compared) {
      const changed = await this.#compare(pieces, memory)
      // A chunk of which any page has changed is copied on the host as a whole.
      for (const some of batches(changed, ({ piece }) => piece.bytes)) await this.#readChanged(some, memory)
    }
  }

  /**
   * Reads the digests of pieces and, in the same round trip, those pieces themselves that the host has nothing of.
   * @returns what is left to be read
   */
  async #compare(pieces: readonly Piece[], memory: ResultMemory): Promise<ChangedPiece[]> {
    const unknown = pieces.filter(({ known }) => known === undefined)
    const words = sum(pieces, ({ bytes }) => pagesFor(bytes)) * DIGEST_WORDS
    const [found, ...wholes] = await this.#device.withScratch((scratch) => {
      const digests = scratch.words(words)
      const recorder = this.#device.record()
      this.#digest(recorder, pieces, digests)
      const columns = [{ buffer: digests, bytes: 4 * words, offset: 0 }, ...unknown.map(columnOf)]
      return this.#device.submitAndRead(recorder, columns, memory)
    })
    this.#device.hostCopies.readBytes += sum(unknown, ({ bytes }) => bytes)
    let last = 0
    const nextDigests = ({ bytes }: Piece) => {
      const first = last
      last += 4 * DIGEST_WORDS * pagesFor(bytes)
      return new Uint32Array(found.slice(first, last).buffer)
    }
    const changed: ChangedPiece[] = []
    for (const piece of pieces) {
      const { known } = piece
      const digests = nextDigests(piece)
      if (known === undefined) this.#chunks.set(piece, { bytes: wholes.shift()!.slice(), digests })
      else if (isSame(piece, known, digests)) this.#chunks.set(piece, known)
      else changed.push({ piece, known, digests })
    }
    return changed
  }

  /** Has the digests of pieces written one after the other. Those of a region are neighbours, in one dispatch. */
  #digest(recorder: Recorder, pieces: readonly Piece[], digests: DeviceMemory): void {
    const stretches = new Map<Region, Stretch>()
    for (const { region, first, bytes } of pieces) {
      const begun = stretches.get(region) ?? { first, bytes: 0 }
      stretches.set(region, { first: begun.first, bytes: begun.bytes + bytes })
    }
    let firstDigest = 0
    for (const [{ buffer }, { first, bytes }] of stretches) {
      const count = pagesFor(bytes)
      const params = { ...SEED, count, words: bytes / 4, firstQuad: first / 16, firstDigest }
      recorder.dispatch(this.#kernels.digest_pages, { quads: buffer, digests }, params, count)
      firstDigest += count
    }
  }

  async #readChanged(changed: readonly ChangedPiece[], memory: ResultMemory): Promise<void> {
    const stretches = changed.map(changedStretches)
    const columns = changed.flatMap(({ piece }, i) =>
      stretches[i].map(({ first, bytes }) => columnOf({ ...piece, first: piece.first + first, bytes })),
    )
    const read = await this.#device.submitAndRead(this.#device.record(), columns, memory)
    this.#device.hostCopies.readBytes += sum(columns, ({ bytes }) => bytes)
    for (const [i, { piece, known, digests }] of changed.entries()) {
      const bytes = new Uint8Array(piece.bytes)
      bytes.set(known.bytes.subarray(0, piece.bytes))
      for (const { first } of stretches[i]) bytes.set(read.shift()!, first)
      this.#chunks.set(piece, { bytes, digests })
    }
  }
}

function columnOf({ region, first, bytes }: Omit<Piece, 'known'>): Required<DeviceColumn> {
  return { buffer: region.buffer, bytes, offset: first }
}

function isSame({ bytes }: Piece, known: HostChunk, digests: Uint32Array): boolean {
  return known.bytes.byteLength === bytes && digests.every((word, i) => word === known.digests[i])
}

/** The pages of a piece that are not as the host has them, with few between them that are. */
function changedStretches({ piece, known, digests }: ChangedPiece): Stretch[] {
  const stretches: { first: number; pages: number }[] = []
  for (let page = 0; page < pagesFor(piece.bytes); page++) {
    if (hasSameDigest(page, known.digests, digests)) continue
    const last = stretches.at(-1)
    if (last !== undefined && page - (last.first + last.pages) <= BRIDGED_PAGES) {
      last.pages = page + 1 - last.first
    } else {
      stretches.push({ first: page, pages: 1 })
    }
  }
  return stretches.map(({ first, pages }) => {
    const begin = first * PAGE_BYTES
    return { first: begin, bytes: Math.min(pages * PAGE_BYTES, piece.bytes - begin) }
  })
}

/** A page that one of them does not have is none. */
function hasSameDigest(page: number, one: Uint32Array, other: Uint32Array): boolean {
  const first = page * DIGEST_WORDS
  for (let i = first; i < first + DIGEST_WORDS; i++) if (one[i] !== other[i]) return false
  return true
}

/** Neighbours, as many at a time as have the bytes of a chunk together; one that has more is by itself. */
function* batches<T>(all: readonly T[], bytesOf: (one: T) => number): Generator<T[]> {
  let [batch, bytes]: [T[], number] = [[], 0]
  for (const one of all) {
    if (batch.length > 0 && bytes + bytesOf(one) > CHUNK_BYTES) {
      yield batch
      ;[batch, bytes] = [[], 0]
    }
    batch.push(one)
    bytes += bytesOf(one)
  }
  if (batch.length > 0) yield batch
}

/** The same memory for each read: what one has brought is copied before the next. */
function reusedMemory(): ResultMemory {
  let kept = new Uint8Array(0)
  const allocate = (bytes: number) => {
    if (kept.byteLength < bytes) kept = new Uint8Array(bytes)
    return kept.subarray(0, bytes)
  }
  return { allocate }
}

function sum<T>(all: readonly T[], bytesOf: (one: T) => number): number {
  return all.reduce((total, one) => total + bytesOf(one), 0)
}
