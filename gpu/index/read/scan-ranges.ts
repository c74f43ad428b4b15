import { asBytes } from '../../../protocol/columns.js'
import { joinRows, type Rows, rowCount, rowsOf } from '../../../protocol/rows.js'
import type { Kernels } from '../../device/device.js'
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
  readonly #kernels: Kernels<'make_ranges'>

  constructor(context: ReadContext) {
    this.#context = context
    this.#kernels = context.kernels('scan-ranges', ['make_ranges'])
  }

  /** The request's ranges, as `range.wesl` draws them, and where their keys lie. */
  record(recorder: Recorder, scratch: Scratch, request: RangeColumns): Pick<RangeSearch, 'ranges' | 'heap'> {
    const { tree } = this.#context
    const ranges = scratch.words(request.ranges * (2 * tree.keyWords + 2))
    const common = { count: request.ranges, shape: tree.word, flags: flags(request) }
    if (tree.form === undefined) {
      const upload = (column: Rows | undefined) => this.#context.upload(scratch, column?.bytes)
      const columns = {
        fromKeys: upload(request.from),
        toKeys: upload(request.to),
        tokens: upload(request.tokens),
      }
      const params = { ...common, toBegin: 0, tokensBegin: 0 }
      recorder.dispatch(this.#kernels.make_ranges, { ...columns, ranges }, params, request.ranges)
      return { ranges, heap: undefined }
    }
    const { keys: ends, sequences, ...begins } = variableEnds(request)
    const { keys, heap } = this.#context.queries(recorder, scratch, ends)
    const tokenSequences = this.#context.upload(scratch, asBytes(sequences))
    const buffers = { fromKeys: keys, toKeys: keys, tokens: keys, ranges, tokenSequences }
    recorder.dispatch(this.#kernels.make_ranges, buffers, { ...common, ...begins }, request.ranges)
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
