import {
  asBytes,
  type Column,
  columnOf,
  countOf,
  joinColumns,
  NO_VALUES,
  valuesOf,
} from '../../../protocol/columns.js'
import { SEQUENCE_BYTES } from '../../../protocol/types.js'
import type { Kernels } from '../../device/device.js'
import type { RangeOptions, ReadColumns, ScanOptions } from '../../index-structure.js'
import type { RangeSearch } from './hits.js'
import type { ReadContext, ReadWork } from './read-context.js'

/** Which columns a request has, and how they are meant; `scan-ranges.wesl` has the same numbers. */
const FROM = 1
const TO = 2
const TOKENS = 4
const FROM_EXCLUSIVE = 8
const TO_EXCLUSIVE = 16
const REVERSE = 32

/** Ranges as they came, ends and flags. */
export type RangeColumns = RangeOptions & Pick<ScanOptions, 'reverse'> & ReadColumns

/** Turns the columns of a request into ranges of positions. */
export class ScanRanges {
  readonly #context: ReadContext
  readonly #kernels: Kernels<'make_ranges'>

  constructor(context: ReadContext) {
    this.#context = context
    this.#kernels = context.kernels('scan-ranges', ['make_ranges'])
  }

  /** The request's ranges, as `range.wesl` draws them, and where their keys lie. */
  record(
    { recorder, scratch }: Pick<ReadWork, 'recorder' | 'scratch'>,
    request: RangeColumns,
  ): Pick<RangeSearch, 'ranges' | 'heap'> {
    const { tree } = this.#context
    const ranges = scratch.words(request.ranges * (2 * tree.keyWords + 2))
    const common = { count: request.ranges, shape: tree.word, flags: flags(request) }
    if (tree.form === undefined) {
      const upload = (column: Column | undefined) => this.#context.upload(scratch, column?.bytes)
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

/** The ends of ranges as one column: those of `from`, then those of `to`, then the keys of `tokens`; and the sequence numbers of `tokens`. */
function variableEnds({ from = NO_VALUES, to = NO_VALUES, tokens = NO_VALUES }: RangeColumns): {
  keys: Column
  toBegin: number
  tokensBegin: number
  sequences: Uint32Array
} {
  const toBegin = countOf(from)
  const positions = valuesOf(tokens)
  const sequences = Uint32Array.from(positions, ({ buffer, byteOffset, byteLength }) =>
    new DataView(buffer, byteOffset + byteLength - SEQUENCE_BYTES).getUint32(0, true),
  )
  const keysOfTokens = columnOf(positions.map((position) => position.subarray(0, -SEQUENCE_BYTES)))
  const keys = joinColumns([from, to, keysOfTokens])
  return { keys, toBegin, tokensBegin: toBegin + countOf(to), sequences }
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
