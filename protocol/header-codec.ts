import { Packr } from 'msgpackr'
import { badRequest, type WarpdexError } from './errors.js'
import { LIMITS } from './limits.js'

/** Bytes that follow the lead byte of a msgpack value, for the leads 0xc0 to 0xdf of fixed size; undefined elsewhere. */
const FIXED_BYTES: readonly (number | undefined)[] = Array.from({ length: 32 }, (_, i) => {
  const sizes: Record<number, number> = {
    0: 0, // nil
    2: 0, // false
    3: 0, // true
    10: 4, // float 32
    11: 8, // float 64
    12: 1, // unsigned integers
    13: 2,
    14: 4,
    15: 8,
    16: 1, // signed integers
    17: 2,
    18: 4,
    19: 8,
  }
  return sizes[i]
})

/** Absent fields are left out (`skipValues`, which the types lack): msgpackr would write an undefined one as an extension. */
const PACKING = { useRecords: false, skipValues: [undefined], int64AsType: 'number' } as const
const packr = new Packr(PACKING)

/**
 * A header as msgpack: nil, booleans, numbers, texts, arrays, and maps with texts as keys. Absent fields of objects are left out. Pages have a smaller codec of
 * the same bytes (`header-codec-browser.ts`).
 *
 * @throws WarpdexError `BAD_REQUEST` for what is nested too deeply, or cannot be said
 */
export function packHeader(header: object): Uint8Array {
  const packed = packr.pack(header)
  checkPlain(packed)
  return packed
}

/**
 * The header that msgpack holds.
 *
 * @throws WarpdexError `BAD_REQUEST` for anything but one complete plain value
 */
export function unpackHeader(bytes: Uint8Array): unknown {
  checkPlain(bytes)
  try {
    return packr.unpack(bytes)
  } catch {
    throw badRequest('the frame header is not valid msgpack')
  }
}

/**
 * Refuses msgpack that is anything but one complete value made of nil, booleans, numbers, strings, arrays and maps. The
 * decoder understands more (records that define code, references, expressions, binary), all of which an attacker could
 * use and no header needs, it trusts counts, and it goes down into nested values by recursion, as does most of what comes after it; after
 * this walk every count is covered by bytes that are there, and the depth has a bound.
 *
 * @throws WarpdexError `BAD_REQUEST`
 */
function checkPlain(bytes: Uint8Array): void {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  /** For every array and map around the next value, how many values are missing in all once it is complete. */
  const open: number[] = []
  let position = 0
  let missing = 1
  while (missing > 0) {
    while (missing === open.at(-1)) open.pop()
    // Every missing value takes a byte at least, so this also bounds the counts of arrays and maps.
    if (missing > bytes.length - position) throw malformed('it ends inside a value')
    const lead = bytes[position++]
    missing--
    if (lead <= 0x7f || lead >= 0xe0) continue
    const outside = missing
    if (lead <= 0x8f) missing += (lead & 0x0f) * 2
    else if (lead <= 0x9f) missing += lead & 0x0f
    else if (lead <= 0xbf) position += lead & 0x1f
    else {
      const size = FIXED_BYTES[lead - 0xc0]
      if (size !== undefined) {
        position += size
        continue
      }
      const width = countWidth(lead)
      if (width > bytes.length - position) throw malformed('it ends inside a value')
      const count =
        width === 1 ? bytes[position] : width === 2 ? view.getUint16(position) : view.getUint32(position)
      position += width
      if (lead <= 0xdb) position += count
      else missing += lead <= 0xdd ? count : count * 2
    }
    if (missing > outside && open.push(outside) > LIMITS.headerDepth) throw tooDeep()
  }
  if (position !== bytes.length) throw malformed('its length is not that of one value')
}

/** Bytes of the count after the lead of a long string, array or map. */
function countWidth(lead: number): 1 | 2 | 4 {
  if (lead === 0xd9) return 1
  if (lead === 0xda || lead === 0xdc || lead === 0xde) return 2
  if (lead === 0xdb || lead === 0xdd || lead === 0xdf) return 4
  throw malformed('it holds binary or extension values')
}

function tooDeep(): WarpdexError {
  return badRequest(`the frame header is nested deeper than ${LIMITS.headerDepth} levels of arrays and maps`)
}

function malformed(what: string): WarpdexError {
  return badRequest(
    `the frame header is not plain msgpack: ${what}; a header is one map of nil, booleans, numbers, strings, arrays and maps`,
  )
}
