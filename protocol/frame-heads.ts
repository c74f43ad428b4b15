import type { FrameLayout, Sections } from './frame.js'

/** What frames with the same head have in common. */
interface FrameShape {
  /** The header's fields but for the id. */
  readonly fields: readonly (readonly [string, unknown])[]
  readonly sections: readonly (readonly [string, string, number])[]
  readonly idBytes: number
}

/** All of a frame that comes before its first section, but for the id. */
interface FrameHead {
  readonly shape: FrameShape
  readonly byteLength: number
  /** Prefix, header and padding. */
  readonly bytes: Uint8Array
  /** Where the id is, in the form that `idBytes` tells. */
  readonly idAt: number
  /** Where each section begins. */
  readonly offsets: readonly number[]
}

/** Heads that were used last, and are compared with before one is looked up by its key, which takes as long as all else. */
const RECENT_HEADS = 4

/** Heads that are kept: those of the requests, or replies, that are under way have few shapes. */
const KEPT_HEADS = 512

/** Headers that are longer when written as text are no rule. */
const KEY_LENGTH = 512

/** Bytes of a frame that is cut from a piece of memory with others, and of such a piece. */
const SMALL_FRAME = 1024
const SLAB_BYTES = 32 * 1024

/** The key "id" in msgpack. */
export const ID_KEY = [0xa2, 0x69, 0x64]

/**
 * Heads of frames, kept because those of small requests differ in nothing but the id most of the time, and to write one takes longer
 * than all else that is done for the request.
 */
export class FrameHeads {
  readonly #heads = new Map<string, FrameHead>()
  /** The last one first. */
  #recent: readonly FrameHead[] = []
  #slab = new ArrayBuffer(0)
  #used = 0

  /**
   * A whole frame.
   * @param layout settles how it is laid out, should that not be known
   */
  encode(
    header: object,
    sections: Sections,
    layout: () => { readonly layout: FrameLayout; readonly head: Uint8Array },
  ): Uint8Array<ArrayBuffer> | undefined {
    const id = 'id' in header ? header.id : undefined
    if (typeof id !== 'number' || id > 0xffff_ffff) return undefined
    const head = this.#headOf(header, sections, idBytes(id), layout)
    if (head === undefined) return undefined
    const frame = this.#room(head.byteLength)
    frame.set(head.bytes)
    writeId(frame, head.idAt, id)
    let i = 0
    for (const name in sections) frame.set(sections[name]!.bytes, head.offsets[i++])
    return frame
  }

  #headOf(
    header: object,
    sections: Sections,
    bytes: number,
    layout: () => { readonly layout: FrameLayout; readonly head: Uint8Array },
  ): FrameHead | undefined {
    for (const head of this.#recent) if (isOf(head.shape, header, sections, bytes)) return head
    const shape = {
      fields: Object.entries(header).filter(([name]) => name !== 'id'),
      sections: Object.entries(sections).map(
        ([name, { type, bytes }]) => [name, type, bytes.byteLength] as const,
      ),
      idBytes: bytes,
    }
    const key = keyOf(shape)
    if (key.length > KEY_LENGTH) return undefined
    const head = this.#heads.get(key) ?? this.#keep(key, shape, layout())
    if (head !== undefined) this.#recent = [head, ...this.#recent.slice(0, RECENT_HEADS - 1)]
    return head
  }

  /** Zeroed memory. That of small frames is cut from one piece, since a piece of its own costs more than the frame. */
  #room(bytes: number): Uint8Array<ArrayBuffer> {
    if (bytes > SMALL_FRAME) return new Uint8Array(bytes)
    if (this.#used + bytes > this.#slab.byteLength) {
      this.#slab = new ArrayBuffer(SLAB_BYTES)
      this.#used = 0
    }
    const room = new Uint8Array(this.#slab, this.#used, bytes)
    this.#used += Math.ceil(bytes / 8) * 8
    return room
  }

  #keep(
    key: string,
    shape: FrameShape,
    { layout, head: bytes }: { layout: FrameLayout; head: Uint8Array },
  ): FrameHead | undefined {
    const { byteLength, sections } = layout
    const idAt = placeOfId(bytes)
    if (idAt === undefined) return undefined
    if (this.#heads.size >= KEPT_HEADS) this.#heads.clear()
    const head = { shape, byteLength, bytes, idAt, offsets: sections.map(({ offset }) => offset) }
    this.#heads.set(key, head)
    return head
  }
}

function keyOf({ fields, sections, idBytes }: FrameShape): string {
  let key = String(idBytes)
  for (const [name, value] of fields) {
    key += `,${name}=${typeof value === 'number' ? value : JSON.stringify(value)}`
  }
  for (const [name, type, length] of sections) key += `;${name} ${type} ${length}`
  return key
}

/** Whether a frame has the shape. An object may have changed since, so none is taken for the same. */
function isOf(shape: FrameShape, header: object, sections: Sections, idBytes: number): boolean {
  if (shape.idBytes !== idBytes) return false
  let fields = 0
  for (const name in header) {
    if (name === 'id') continue
    const known = shape.fields[fields++]
    const value = (header as Readonly<Record<string, unknown>>)[name]
    if (known === undefined || known[0] !== name || known[1] !== value) return false
    if (typeof value === 'object' && value !== null) return false
  }
  let count = 0
  for (const name in sections) {
    const known = shape.sections[count++]
    if (known === undefined || known[0] !== name) return false
    const { type, bytes } = sections[name]!
    if (known[1] !== type || known[2] !== bytes.byteLength) return false
  }
  return fields === shape.fields.length && count === shape.sections.length
}

/** Bytes of a whole number below 2^32 in msgpack. */
function idBytes(id: number): 1 | 2 | 3 | 5 {
  if (id < 0x80) return 1
  if (id < 0x100) return 2
  return id < 0x1_0000 ? 3 : 5
}

function writeId(frame: Uint8Array, at: number, id: number): void {
  const bytes = idBytes(id)
  if (bytes > 1) frame[at++] = bytes === 2 ? 0xcc : bytes === 3 ? 0xcd : 0xce
  for (let shift = bytes === 5 ? 24 : bytes === 3 ? 8 : 0; shift >= 0; shift -= 8) frame[at++] = id >>> shift
}

/** Where the id's value is, if the id is the header's first field: after the header's length, the lead of a map, and the key. */
function placeOfId(head: Uint8Array): number | undefined {
  const lead = head[4]! === 0xde ? 3 : 1
  const at = 4 + lead
  return ID_KEY.every((byte, i) => head[at + i] === byte) ? at + ID_KEY.length : undefined
}
