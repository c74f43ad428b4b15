import { asBytes } from '../../../protocol/columns.js'
import type { Kernel } from '../../device/kernel.js'
import type { Recorder } from '../../device/recorder.js'
import type { ScanRequest } from '../../index-structure.js'
import type { Scratch } from '../../memory/scratch.js'
import type { RangeSearch } from './hits.js'
import type { ReadContext } from './read-context.js'

/** Which columns a request has, and how they are meant; `scan-ranges.wesl` has the same numbers. */
const FROM = 1
const TO = 2
const TOKENS = 4
const FROM_EXCLUSIVE = 8
const TO_EXCLUSIVE = 16
const REVERSE = 32

/** Turns the columns of a scan request into ranges of positions. */
export class ScanRanges {
  readonly #context: ReadContext
  readonly #kernel: Kernel

  private constructor(context: ReadContext, kernel: Kernel) {
    this.#context = context
    this.#kernel = kernel
  }

  static async create(context: ReadContext): Promise<ScanRanges> {
    const bindings = ['read', 'read', 'read', 'write'] as const
    const further = context.tree.form === undefined ? [] : (['read'] as const)
    return new ScanRanges(
      context,
      await context.kernel('scan-ranges', 'make_ranges', [...bindings, ...further], 5),
    )
  }

  /** The request's ranges, as `range.wesl` draws them, and where their keys lie. */
  record(recorder: Recorder, scratch: Scratch, request: ScanRequest): Pick<RangeSearch, 'ranges' | 'heap'> {
    const { tree } = this.#context
    const ranges = scratch.words(request.ranges * (2 * tree.keyWords + 2))
    if (tree.form === undefined) {
      const columns = [request.from, request.to, request.tokens].map((c) => this.#context.upload(scratch, c))
      const params = [request.ranges, tree.word, flags(request), 0, 0]
      recorder.dispatch(this.#kernel, [...columns, ranges], params, request.ranges)
      return { ranges, heap: undefined }
    }
    const ends = variableEnds(request)
    const { keys, heap } = this.#context.queries(recorder, scratch, ends.keys, ends.offsets)
    const sequences = this.#context.upload(scratch, asBytes(ends.sequences))
    const params = [request.ranges, tree.word, flags(request), ends.toBegin, ends.tokensBegin]
    recorder.dispatch(this.#kernel, [keys, keys, keys, ranges, sequences], params, request.ranges)
    return { ranges, heap }
  }
}

/** The ends of ranges as one column: those of `from`, then those of `to`, then the keys of `tokens`. */
function variableEnds(request: ScanRequest): {
  keys: Uint8Array
  offsets: Uint32Array
  toBegin: number
  tokensBegin: number
  sequences: Uint32Array
} {
  const tokens = splitTokens(request.tokens, request.tokenOffsets)
  const from = { bytes: request.from ?? NO_BYTES, offsets: request.fromOffsets ?? NO_OFFSETS }
  const to = { bytes: request.to ?? NO_BYTES, offsets: request.toOffsets ?? NO_OFFSETS }
  const columns = [from, to, tokens]
  const keys = new Uint8Array(columns.reduce((sum, { bytes }) => sum + bytes.byteLength, 0))
  const offsets = new Uint32Array(columns.reduce((sum, column) => sum + column.offsets.length - 1, 1))
  let key = 0
  let end = 0
  for (const column of columns) {
    keys.set(column.bytes, end)
    for (let i = 1; i < column.offsets.length; i++) offsets[++key] = end + column.offsets[i]!
    end += column.bytes.byteLength
  }
  const toBegin = from.offsets.length - 1
  return { keys, offsets, toBegin, tokensBegin: toBegin + to.offsets.length - 1, sequences: tokens.sequences }
}

const NO_BYTES = new Uint8Array(0)
const NO_OFFSETS = new Uint32Array(1)
const SEQUENCE_BYTES = 4

/** Tokens of keys of variable length: their keys as a column, and their sequence numbers. */
function splitTokens(
  tokens: Uint8Array | undefined,
  offsets: Uint32Array | undefined,
): { bytes: Uint8Array; offsets: Uint32Array; sequences: Uint32Array } {
  if (tokens === undefined || offsets === undefined) {
    return { bytes: NO_BYTES, offsets: NO_OFFSETS, sequences: new Uint32Array(0) }
  }
  const count = offsets.length - 1
  const keys = { bytes: new Uint8Array(tokens.byteLength), offsets: new Uint32Array(count + 1) }
  const sequences = new Uint32Array(count)
  const view = new DataView(tokens.buffer, tokens.byteOffset, tokens.byteLength)
  let end = 0
  for (let i = 0; i < count; i++) {
    const keyEnd = offsets[i + 1]! - SEQUENCE_BYTES
    keys.bytes.set(tokens.subarray(offsets[i], keyEnd), end)
    end += keyEnd - offsets[i]!
    keys.offsets[i + 1] = end
    sequences[i] = view.getUint32(keyEnd, true)
  }
  return { bytes: keys.bytes.subarray(0, end), offsets: keys.offsets, sequences }
}

function flags(request: ScanRequest): number {
  return (
    (request.from === undefined ? 0 : FROM) |
    (request.to === undefined ? 0 : TO) |
    (request.tokens === undefined ? 0 : TOKENS) |
    (request.fromExclusive ? FROM_EXCLUSIVE : 0) |
    (request.toExclusive ? TO_EXCLUSIVE : 0) |
    (request.reverse ? REVERSE : 0)
  )
}
