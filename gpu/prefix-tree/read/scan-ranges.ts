import type { Kernel } from '../../device/kernel.js'
import type { Recorder } from '../../device/recorder.js'
import type { ScanRequest } from '../../index-structure.js'
import type { Scratch } from '../../memory/scratch.js'
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
    return new ScanRanges(context, await context.kernel('scan-ranges', 'make_ranges', bindings, 3))
  }

  /** The request's ranges, as `range.wesl` draws them. */
  record(recorder: Recorder, scratch: Scratch, request: ScanRequest): GPUBuffer {
    const { tree } = this.#context
    const ranges = scratch.words(request.ranges * (2 * tree.keyWords + 2))
    const columns = [request.from, request.to, request.tokens].map((c) => this.#context.upload(scratch, c))
    const params = [request.ranges, tree.word, flags(request)]
    recorder.dispatch(this.#kernel, [...columns, ranges], params, request.ranges)
    return ranges
  }
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
