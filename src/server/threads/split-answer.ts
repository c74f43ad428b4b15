import { aligned } from '../../../protocol/columns.js'
import type { Section } from '../../../protocol/frame.js'
import type { Answered } from '../gate/engine-gate.js'

/** The bitmaps of a single key: a get of one is what there is most of. */
const ONE_FOUND = Uint8Array.of(1)
const NONE_FOUND = Uint8Array.of(0)

/** The answer to a get of first payloads. */
export interface AnsweredGet extends Answered {
  readonly sections: {
    readonly found: Section
    readonly payloads: Section
    readonly payloadOffsets?: Section
  }
}

/**
 * Cuts the answer to a get whose keys were those of several gets.
 * @param counts keys of each of them
 */
export function splitAnswer(answer: AnsweredGet, counts: readonly number[]): readonly Answered[] {
  const { fields, sections, release } = answer
  const { found, payloads, payloadOffsets } = sections
  const all = counts.reduce((sum, count) => sum + count, 0)
  const offsets = payloadOffsets && aligned(payloadOffsets.bytes, Uint32Array)
  const width = payloads.bytes.byteLength / Math.max(1, all)
  let left = counts.length
  const leave = () => {
    if (--left === 0) release?.()
  }
  let first = 0
  return counts.map((count) => {
    const start = first
    first += count
    const bytes = payloads.bytes.subarray(
      offsets ? offsets[start] : start * width,
      offsets ? offsets[first] : first * width,
    )
    const own = {
      found: { ...found, bytes: bits(found.bytes, start, count) },
      ...(offsets && { payloadOffsets: { type: 'u32' as const, bytes: rebased(offsets, start, count) } }),
      payloads: { ...payloads, bytes },
    }
    return { fields, sections: own, release: release && leave }
  })
}

/** `count` bits of a bitmap from bit `start` on, as a bitmap of their own. */
function bits(bitmap: Uint8Array, start: number, count: number): Uint8Array {
  if (count === 1) return (bitmap[start >> 3]! >> (start & 7)) & 1 ? ONE_FOUND : NONE_FOUND
  const own = new Uint8Array(Math.ceil(count / 8))
  const shift = start & 7
  const byte = start >> 3
  for (let i = 0; i < own.length; i++) {
    own[i] = (bitmap[byte + i]! >> shift) | ((bitmap[byte + i + 1] ?? 0) << (8 - shift))
  }
  if ((count & 7) !== 0) own[own.length - 1]! &= (1 << (count & 7)) - 1
  return own
}

/** Offsets of `count` payloads, counted from the first of them. */
function rebased(offsets: Uint32Array, start: number, count: number): Uint8Array {
  const own = offsets.slice(start, start + count + 1)
  const base = own[0]!
  for (let i = 0; i < own.length; i++) own[i]! -= base
  return new Uint8Array(own.buffer)
}
