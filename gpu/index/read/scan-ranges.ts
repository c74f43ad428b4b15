import { asBytes } from '../../../protocol/columns.js'
import { joinRows, type Rows, rowCount, rowsOf } from '../../../protocol/rows.js'
import type { Kernel } from '../../device/kernel.js'
import type { Recorder } from '../../device/recorder.js'
import type { ReadColumns, ScanOptions } from '../../index-structure.js'
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

/** Ranges of a scan as they came, ends and flags. */
export type RangeColumns = ScanOptions & ReadColumns

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
  record(recorder: Recorder, scratch: Scratch, request: RangeColumns): Pick<RangeSearch, 'ranges' | 'heap'> {
    const { tree } = this.#context
    const ranges = scratch.words(request.ranges * (2 * tree.keyWords + 2))
    if (tree.form === undefined) {
      const columns = [request.from, request.to, request.tokens].map((c) =>
        this.#context.upload(scratch, c?.bytes),
      )
      const params = [request.ranges, tree.word, flags(request), 0, 0]
      recorder.dispatch(this.#kernel, [...columns, ranges], params, request.ranges)
      return { ranges, heap: undefined }
    }
    const ends = variableEnds(request)
    const { keys, heap } = this.#context.queries(recorder, scratch, ends.keys)
    const sequences = this.#context.upload(scratch, asBytes(ends.sequences))
    const params = [request.ranges, tree.word, flags(request), ends.toBegin, ends.tokensBegin]
    recorder.dispatch(this.#kernel, [keys, keys, keys, ranges, sequences], params, request.ranges)
    return { ranges, heap }
  }
}

/** The ends of ranges as one column: those of `from`, then those of `to`, then the keys of `tokens`. */
function variableEnds({ from = NO_KEYS, to = NO_KEYS, tokens }: RangeColumns): {
  keys: Rows
  toBegin: number
  tokensBegin: number
  sequences: Uint32Array
} {
  const { sequences, ...keysOfTokens } = splitTokens(tokens)
  const toBegin = rowCount(from, undefined)
  return {
    keys: joinRows([from, to, keysOfTokens], undefined),
    toBegin,
    tokensBegin: toBegin + rowCount(to, undefined),
    sequences,
  }
}

const NO_KEYS: Rows = { bytes: new Uint8Array(0), offsets: new Uint32Array(1) }
const SEQUENCE_BYTES = 4

/** Tokens of keys of variable length: their keys as a column, and their sequence numbers. */
function splitTokens({
  bytes,
  offsets = new Uint32Array(1),
}: Rows = NO_KEYS): Rows & { sequences: Uint32Array } {
  const count = offsets.length - 1
  const keys = Array.from({ length: count }, (_, i) =>
    bytes.subarray(offsets[i], offsets[i + 1]! - SEQUENCE_BYTES),
  )
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const sequences = Uint32Array.from(keys, (_, i) => view.getUint32(offsets[i + 1]! - SEQUENCE_BYTES, true))
  return { ...rowsOf(keys), sequences }
}

function flags(request: RangeColumns): number {
  return (
    (request.from === undefined ? 0 : FROM) |
    (request.to === undefined ? 0 : TO) |
    (request.tokens === undefined ? 0 : TOKENS) |
    (request.fromExclusive ? FROM_EXCLUSIVE : 0) |
    (request.toExclusive ? TO_EXCLUSIVE : 0) |
    (request.reverse ? REVERSE : 0)
  )
}
