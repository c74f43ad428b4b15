import type { Resolution as ResolutionName } from '../../../protocol/traversal.js'
import type { Device, Kernels } from '../../device/device.js'
import type { Recorder } from '../../device/recorder.js'
import type { Scratch } from '../../memory/scratch.js'
import type { Arena } from '../arena.js'
import type { TreeShape } from '../layout.js'
import type { Located } from './located.js'
import type { PartitionLists, PartitionTable } from './partitions.js'
import type { Piece } from './result-table.js'

/** What the reversed result table of a piece is made with. */
export interface ReversedTable {
  readonly reversed: GPUBuffer
  readonly payloadCounts: GPUBuffer
  readonly answers: GPUBuffer
}

/** Makes places of intermediate results, from the root on or by the reversed table (Volk §3.1, §3.3). */
export class Resolution {
  readonly #kernels: Kernels<'reverse_results' | 'climb_results' | 'settle_queries'>

  constructor(device: Device, { conditions, full }: TreeShape) {
    const entryPoints = ['reverse_results', 'climb_results', 'settle_queries'] as const
    this.#kernels = device.kernels('index/partitions/resolution', entryPoints, { ...conditions, full })
  }

  /** Buffers for the reversed tables of pieces of up to `length` queries; none are needed for serial resolution. */
  provide(
    scratch: Scratch,
    resolution: ResolutionName,
    partitions: number,
    length: number,
  ): ReversedTable | undefined {
    if (resolution === 'serial') return undefined
    return {
      reversed: scratch.words(length * partitions),
      payloadCounts: scratch.words(length),
      answers: scratch.words(length),
    }
  }

  record(
    recorder: Recorder,
    arena: Arena,
    { count, numbers }: PartitionTable,
    lists: PartitionLists,
    { queries, word, first, length, results }: Piece,
    table: ReversedTable | undefined,
    located: Located,
  ): void {
    const kernels = this.#kernels
    const { live, byLevel } = lists
    const shape = { first, live, partitions: count, shape: word }
    const buffers = { ...arena.bindings, ...table, results, numbers: numbers.buffer, byLevel }
    if (table !== undefined) {
      const { reversed, payloadCounts, answers } = table
      recorder.clear(reversed, 0, 4 * length * count)
      recorder.clear(payloadCounts, 0, 4 * length)
      recorder.clear(answers, 0, 4 * length)
      const params = { threads: length * live, ...shape, hasAnswers: 1 }
      recorder.dispatch(kernels.reverse_results, buffers, params, length * live)
      recorder.dispatch(kernels.climb_results, buffers, params, length * live)
    }
    const settled = {
      ...buffers,
      ...located,
      queries: queries.keys,
      queryHeap: queries.heap,
      // Without reversed results nothing looks at the answers, so that anything may be bound there.
      answersIn: table?.answers ?? results,
    }
    const params = { threads: length, ...shape, hasAnswers: table === undefined ? 0 : 1 }
    recorder.dispatch(kernels.settle_queries, settled, params, length)
  }
}
