import type { Resolution as ResolutionName } from '../../../protocol/traversal.js'
import type { Device } from '../../device/device.js'
import type { Kernel } from '../../device/kernel.js'
import type { Recorder } from '../../device/recorder.js'
import type { Scratch } from '../../memory/scratch.js'
import { type Arena, treeBuffers } from '../arena.js'
import { furtherBindings, type TreeShape } from '../layout.js'
import type { Located } from './located.js'
import type { PartitionLists, PartitionTable } from './partitions.js'
import type { Piece } from './result-table.js'

type Kernels = Readonly<Record<'reverseResults' | 'climbResults' | 'settleQueries', Kernel>>

/** What the reversed result table of a piece is made with. */
export interface ReversedTable {
  readonly reversed: GPUBuffer
  readonly payloadCounts: GPUBuffer
  readonly answers: GPUBuffer
}

/** Makes places of intermediate results, from the root on or by the reversed table (Volk §3.1, §3.3). */
export class Resolution {
  readonly #kernels: Kernels

  private constructor(kernels: Kernels) {
    this.#kernels = kernels
  }

  static async create(device: Device, shape: TreeShape): Promise<Resolution> {
    const common = {
      module: 'index/partitions/resolution',
      params: 6,
      conditions: { ...shape.conditions, full: shape.full },
    }
    const reversing = {
      ...common,
      bindings: ['read'] as const,
      further: [
        [3, 'read'],
        [4, 'read'],
        [5, 'read'],
        [6, 'write'],
        [7, 'write'],
        [8, 'write'],
      ] as const,
    }
    const [reverseResults, climbResults, settleQueries] = await Promise.all([
      device.kernel({ ...reversing, entryPoint: 'reverse_results' }),
      device.kernel({ ...reversing, entryPoint: 'climb_results' }),
      device.kernel({
        ...common,
        entryPoint: 'settle_queries',
        bindings: ['read', 'read'],
        further: [
          ...[3, 4, 5, 6].map((binding) => [binding, 'read'] as const),
          [7, 'write'],
          [8, 'write'],
          ...furtherBindings(shape, 'tree'),
        ],
      }),
    ])
    return new Resolution({ reverseResults, climbResults, settleQueries })
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
    { places, residents }: Located,
  ): void {
    const { reverseResults, climbResults, settleQueries } = this.#kernels
    const { live, byLevel } = lists
    const nodes = arena.nodes.buffer
    if (table !== undefined) {
      const { reversed, payloadCounts, answers } = table
      recorder.clear(reversed, 0, 4 * length * count)
      recorder.clear(payloadCounts, 0, 4 * length)
      recorder.clear(answers, 0, 4 * length)
      const buffers = [nodes, results, numbers.buffer, byLevel, reversed, payloadCounts, answers]
      const params = [length * live, first, live, count, 1, word]
      recorder.dispatch(reverseResults, buffers, params, length * live)
      recorder.dispatch(climbResults, buffers, params, length * live)
    }
    const inputs = [nodes, arena.tuples.buffer, results, numbers.buffer, queries.keys]
    // Without reversed results nothing looks at the answers, so that anything may be bound there.
    const answers = table?.answers ?? results
    const buffers = [...inputs, answers, places, residents, ...treeBuffers(arena, queries.heap)]
    const params = [length, first, live, count, table === undefined ? 0 : 1, word]
    recorder.dispatch(settleQueries, buffers, params, length)
  }
}
