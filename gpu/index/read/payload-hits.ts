import type { Kernel } from '../../device/kernel.js'
import type { Recorder } from '../../device/recorder.js'
import type { Scratch } from '../../memory/scratch.js'
import type { Arena } from '../arena.js'
import { allocateHits, type Hits, type RangeSearch } from './hits.js'
import { type ReadContext, TREE } from './read-context.js'

/** Tuples of ranges, on the device: `width` places a range, of which the first `lengths[range]` are taken. */
export interface ListedTuples {
  readonly tuples: GPUBuffer
  readonly width: number
  readonly lengths: GPUBuffer
}

/** Finds the live payloads of listed tuples. */
export class PayloadHits {
  readonly #context: ReadContext
  readonly #measure: Kernel
  readonly #measureEnds: Kernel
  readonly #place: Kernel
  readonly #placeLong: Kernel

  private constructor(context: ReadContext, kernels: readonly Kernel[]) {
    this.#context = context
    this.#measure = kernels[0]
    this.#measureEnds = kernels[1]
    this.#place = kernels[2]
    this.#placeLong = kernels[3]
  }

  static async create(context: ReadContext): Promise<PayloadHits> {
    const kernel = (entryPoint: string, ...bindings: ('read' | 'write')[]) =>
      context.kernel(
        'payload-hits',
        entryPoint,
        [...TREE, ...bindings],
        5,
        entryPoint === 'measure_lists' ? 'keys' : undefined,
      )
    return new PayloadHits(
      context,
      await Promise.all([
        kernel('measure_lists', 'read', 'read', 'read', 'write', 'write'),
        kernel('measure_ends', 'read', 'read', 'read', 'write'),
        kernel('place_hits', 'read', 'read', 'read', 'write', 'write', 'write', 'write', 'write'),
        kernel('place_long', 'read', 'read', 'read', 'read', 'read', 'write'),
      ]),
    )
  }

  /**
   * The first `limit` live payloads of each range's tuples.
   * @returns the hits, and how many payloads there are before each place and in all, of which at most `limit` + 1 of any one
   * tuple are counted
   */
  record(
    recorder: Recorder,
    scratch: Scratch,
    arena: Arena,
    search: RangeSearch,
    { tuples, width, lengths }: ListedTuples,
  ): { hits: Hits; positions: GPUBuffer } {
    const { primitives, tree } = this.#context
    const { count, ranges, limit, reverse } = search
    const places = count * width
    const counts = scratch.words(places + 1)
    const positions = scratch.words(places + 1)
    const windows = scratch.words(2 * places)
    const result = allocateHits(scratch, search)
    const params = [count, tree.word, limit, reverse ? 1 : 0, width]
    const further = this.#context.further(arena, 'keys', search)
    const measuring = [...arena.buffers, tuples, lengths, ranges, counts, windows, ...further]
    recorder.dispatch(this.#measure, measuring, params, places + 1)
    recorder.dispatchGroups(
      this.#measureEnds,
      [...arena.buffers, tuples, lengths, windows, counts],
      params,
      2 * count,
    )
    primitives.scan(recorder, scratch, counts, positions, places + 1)
    const longCount = scratch.words(1)
    const longList = scratch.words(places)
    recorder.clear(longCount, 0, 4)
    const listed = [...arena.buffers, tuples, windows, positions]
    const { hits, found, more } = result
    recorder.dispatch(this.#place, [...listed, hits, found, more, longCount, longList], params, places)
    const longGroups = Math.min(places, this.#context.enoughGroups)
    recorder.dispatchGroups(this.#placeLong, [...listed, longCount, longList, hits], params, longGroups)
    return { hits: result, positions }
  }
}
