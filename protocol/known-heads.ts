import type { Frame, SectionType } from './frame.js'
import { ID_KEY } from './frame-heads.js'

/** Where a section lies in all frames with one head. */
interface Place {
  readonly name: string
  readonly type: SectionType
  readonly offset: number
  readonly end: number
}

/** All that comes before the first section of a frame that was read, and what was made of it. */
export interface KnownHead<T> {
  readonly value: T
  readonly sections: readonly Place[]
  /** The frame's id, which is all that differs. */
  idOf(frame: Uint8Array): number
}

interface Kept<T> extends KnownHead<T> {
  readonly head: Uint8Array
  readonly byteLength: number
  readonly idAt: number
  readonly idEnd: number
}

/** Heads that are compared with: most frames of a connection begin like one of the last. */
const KEPT = 4

/** Larger frames have enough to do beside their heads. */
const MOST_BYTES = 1024

/**
 * Heads of frames that came last and were right, since those of small frames differ in nothing but the id most of the time: a frame that
 * begins with the same bytes, and has as many in all, is as right as the one before, and means the same.
 */
export class KnownHeads<T> {
  /** The last one first. */
  #kept: readonly Kept<T>[] = []

  /** The head that a frame has in common with one that was kept. */
  find(frame: Uint8Array): KnownHead<T> | undefined {
    for (const kept of this.#kept) if (hasHead(frame, kept)) return kept
    return undefined
  }

  /** Keeps the head of a frame, if it can be known by its bytes. */
  keep(bytes: Uint8Array, frame: Frame, value: T): void {
    const idAt = placeOfId(bytes, frame)
    if (idAt === undefined || bytes.byteLength > MOST_BYTES) return
    const sections = Array.from(frame.sections, ([name, { type, bytes: section }]) => {
      const offset = section.byteOffset - bytes.byteOffset
      return { name, type, offset, end: offset + section.byteLength }
    })
    const kept: Kept<T> = {
      value,
      sections,
      head: bytes.slice(0, sections[0]?.offset),
      byteLength: bytes.byteLength,
      idAt,
      idEnd: idAt + idBytes(bytes[idAt]!),
      idOf: (frame) => readId(frame, idAt),
    }
    this.#kept = [kept, ...this.#kept.slice(0, KEPT - 1)]
  }
}

function hasHead<T>(frame: Uint8Array, { head, byteLength, idAt, idEnd }: Kept<T>): boolean {
  if (frame.byteLength !== byteLength) return false
  // Up to the first byte of the id, which tells how many there are.
  for (let i = 0; i < idAt; i++) if (frame[i] !== head[i]) return false
  if (idBytes(frame[idAt]!) !== idEnd - idAt) return false
  for (let i = idEnd; i < head.length; i++) if (frame[i] !== head[i]) return false
  return true
}

/** Where the id's value is, if it is the header's first field and below 2^32, and no field is there twice. */
function placeOfId(bytes: Uint8Array, { header }: Frame): number | undefined {
  const fields = Object.keys(header).length + 1
  if (bytes[4] !== (0x80 | fields) || fields > 15) return undefined
  if (!ID_KEY.every((byte, i) => bytes[5 + i] === byte)) return undefined
  const at = 5 + ID_KEY.length
  return idBytes(bytes[at]!) === 0 ? undefined : at
}

/** Bytes of a whole number in msgpack by the first of them; 0 for other values, and for numbers of 2^32 and more. */
function idBytes(first: number): number {
  if (first < 0x80) return 1
  if (first === 0xcc) return 2
  if (first === 0xcd) return 3
  return first === 0xce ? 5 : 0
}

function readId(frame: Uint8Array, at: number): number {
  const first = frame[at]!
  const bytes = idBytes(first)
  if (bytes === 1) return first
  let id = 0
  for (let i = 1; i < bytes; i++) id = id * 256 + frame[at + i]!
  return id
}
