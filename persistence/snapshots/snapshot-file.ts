import { type FileHandle, open, rm } from 'node:fs/promises'
import { fileError, unusable } from '../disk/errors.js'
import { damaged, decodeRecord, numberedKey, RecordKind, recordParts } from '../disk/record.js'

/**
 * One part of a snapshot to write: a name and its bytes in order. A chunk is free for reuse when the next one is asked for, which is only when
 * everything of the part before has been.
 */
export interface SnapshotPart {
  readonly name: string
  readonly chunks: Iterable<Uint8Array> | AsyncIterable<Uint8Array>
}

export type SnapshotParts = Iterable<SnapshotPart> | AsyncIterable<SnapshotPart>

/** Which state of which index a snapshot holds. */
export interface SnapshotIdentity {
  readonly index: number
  /** Position of the last log record that the snapshot contains. */
  readonly position: number
}

/** Where a part lies within the file. */
interface PartPlace {
  readonly name: string
  readonly offset: number
  readonly firstFrame: number
  readonly frames: number
}

/** The meta object of a frame: the last one says what the file holds, the others carry data. */
interface FrameMeta {
  readonly end?: { readonly meta: unknown; readonly parts: readonly PartPlace[] }
}

/** Bytes of data in one frame at most: what a reader has to have in memory. */
const CHUNK_BYTES = 4 * 1024 * 1024
const MAX_FRAME_BYTES = 64 * 1024 * 1024

/** Where the snapshot that is going to be at `path` is written. */
export function draftOf(path: string): string {
  return `${path}.tmp`
}

/**
 * Writes the draft of a snapshot, and checks what was written. Nothing is left of one that failed.
 *
 * @param path where the snapshot is going to be
 * @param meta anything that msgpack can hold
 * @returns the bytes of the file
 * @throws WarpdexError `DISK_FULL`, or `INTERNAL` when the disk failed; and what the parts throw
 */
export async function writeDraft(
  path: string,
  identity: SnapshotIdentity,
  meta: unknown,
  parts: SnapshotParts,
): Promise<number> {
  const draft = draftOf(path)
  try {
    const bytes = await writeSnapshotFile(draft, identity, meta, parts)
    await SnapshotReader.verify(draft, identity)
    return bytes
  } catch (error) {
    await rm(draft, { force: true })
    throw fileError(error, path)
  }
}

/** As frames, each a u32 length and a record; synced. */
async function writeSnapshotFile(
  path: string,
  identity: SnapshotIdentity,
  meta: unknown,
  parts: SnapshotParts,
): Promise<number> {
  const file = await open(path, 'wx')
  try {
    let offset = 0
    let frame = 0
    const append = async (frameMeta: FrameMeta, sections: readonly Uint8Array[]): Promise<void> => {
      const record = recordParts(RecordKind.snapshotFrame, frameKey(identity, frame++), frameMeta, sections)
      const length = Buffer.allocUnsafe(4)
      length.writeUInt32LE(record.reduce((sum, part) => sum + part.byteLength, 0))
      offset += await writeAll(file, [length, ...record])
    }
    const places: PartPlace[] = []
    for await (const { name, chunks } of parts) {
      const place = { name, offset, firstFrame: frame }
      for await (const chunk of chunks) {
        for (const piece of piecesOf(chunk)) await append({}, [piece])
      }
      places.push({ ...place, frames: frame - place.firstFrame })
    }
    await append({ end: { meta, parts: places } }, [])
    await file.sync()
    return offset
  } finally {
    await file.close()
  }
}

/** A chunk as pieces that fit in a frame; views. */
export function* piecesOf(chunk: Uint8Array): Generator<Uint8Array> {
  for (let start = 0; start < chunk.byteLength; start += CHUNK_BYTES) {
    yield chunk.subarray(start, start + CHUNK_BYTES)
  }
}

async function writeAll(file: FileHandle, buffers: readonly Uint8Array[]): Promise<number> {
  const total = buffers.reduce((sum, { byteLength }) => sum + byteLength, 0)
  const { bytesWritten } = await file.writev(buffers)
  if (bytesWritten === total) return total
  // The system may take less than it was given; what is left is written buffer by buffer.
  let written = bytesWritten
  for (const buffer of buffers) {
    const done = Math.min(written, buffer.byteLength)
    written -= done
    if (done < buffer.byteLength) await file.writeFile(buffer.subarray(done))
  }
  return total
}

/** A snapshot whose every byte has been checked. */
export class SnapshotReader {
  readonly meta: unknown
  readonly #path: string
  readonly #identity: SnapshotIdentity
  readonly #places: ReadonlyMap<string, PartPlace>

  private constructor(
    path: string,
    identity: SnapshotIdentity,
    { meta, parts }: NonNullable<FrameMeta['end']>,
  ) {
    this.meta = meta
    this.#path = path
    this.#identity = identity
    this.#places = new Map(parts.map((place) => [place.name, place]))
  }

  /**
   * @throws WarpdexError `DAMAGED_FILE` when a frame is damaged, missing, too many or of another version; `Unusable` when the
   *   system does not let the file be read
   */
  static async verify(path: string, identity: SnapshotIdentity): Promise<SnapshotReader> {
    const file = await asked(path, open(path, 'r'))
    try {
      const { size } = await asked(path, file.stat())
      let offset = 0
      // Nothing of a frame is kept, but of the last one.
      let memory = Buffer.alloc(0)
      const allocate = (bytes: number): Buffer => {
        if (memory.length < bytes) memory = Buffer.allocUnsafeSlow(bytes)
        return memory.subarray(0, bytes)
      }
      for (let frame = 0; ; frame++) {
        const { meta, next } = await readFrame(file, path, identity, frame, offset, allocate)
        offset = next
        if (meta.end === undefined) continue
        if (offset !== size) throw damaged(`${path} goes on after its end`)
        return new SnapshotReader(path, identity, meta.end)
      }
    } finally {
      await file.close()
    }
  }

  /** Names of the parts, in the order in which they were written. */
  get parts(): string[] {
    return [...this.#places.keys()]
  }

  /**
   * Reads one part. Every chunk is a buffer of its own.
   *
   * @throws WarpdexError as `verify`
   */
  async *read(name: string): AsyncGenerator<Uint8Array> {
    const place = this.#places.get(name)
    if (place === undefined) throw damaged(`${this.#path} has no part ${JSON.stringify(name)}`)
    const file = await asked(this.#path, open(this.#path, 'r'))
    try {
      let { offset } = place
      for (let frame = place.firstFrame; frame < place.firstFrame + place.frames; frame++) {
        const { sections, next } = await readFrame(file, this.#path, this.#identity, frame, offset)
        offset = next
        yield sections[0]
      }
    } finally {
      await file.close()
    }
  }
}

/** What the system says about a file. */
async function asked<T>(path: string, answer: Promise<T>): Promise<T> {
  try {
    return await answer
  } catch (cause) {
    throw unusable(path, cause)
  }
}

interface Frame {
  readonly meta: FrameMeta
  readonly sections: readonly Uint8Array[]
  /** Where the next frame begins. */
  readonly next: number
}

async function readFrame(
  file: FileHandle,
  path: string,
  identity: SnapshotIdentity,
  frame: number,
  offset: number,
  allocate: (bytes: number) => Buffer = Buffer.allocUnsafe,
): Promise<Frame> {
  const what = `frame ${frame} of ${path}`
  const length = (await readExactly(file, path, Buffer.allocUnsafe(4), offset, what)).readUInt32LE(0)
  if (length > MAX_FRAME_BYTES) throw damaged(`${what} has a damaged length`)
  const bytes = await readExactly(file, path, allocate(length), offset + 4, what)
  const key = frameKey(identity, frame)
  const { meta, sections } = decodeRecord<FrameMeta>(RecordKind.snapshotFrame, key, bytes, what)
  return { meta, sections, next: offset + 4 + length }
}

/** Fills a buffer. */
async function readExactly(
  file: FileHandle,
  path: string,
  buffer: Buffer,
  offset: number,
  what: string,
): Promise<Buffer> {
  const { length } = buffer
  for (let done = 0; done < length; ) {
    const { bytesRead } = await asked(path, file.read(buffer, done, length - done, offset + done))
    if (bytesRead === 0) throw damaged(`${what} is cut off`)
    done += bytesRead
  }
  return buffer
}

/** Frames are bound to their snapshot and their place in it. */
function frameKey({ index, position }: SnapshotIdentity, frame: number): Buffer {
  const ordinal = Buffer.allocUnsafe(4)
  ordinal.writeUInt32BE(frame, 0)
  return Buffer.concat([numberedKey(index, position), ordinal])
}
