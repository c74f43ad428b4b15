import type { Kernels } from '../../device/device.js'
import { GROUP_SIZE } from '../../device/recorder.js'
import type { ReadRequest } from '../../index-structure.js'
import type { ArenaBindings } from '../arena.js'
import { EXTENT_HEADER } from '../layout.js'
import { type ReadContext, type ReadWork, words } from './read-context.js'
import type { Asked, ReadOperation, SearchedTree } from './read-operation.js'
import { ScanRanges } from './scan-ranges.js'

/** The number of entries of each range, without any entry leaving its place (`count-ranges.wesl`). */
export class CountRanges implements ReadOperation<'countRanges'> {
  readonly #context: ReadContext
  readonly #ranges: ScanRanges
  readonly #nodes: Kernels<'count_nodes'>
  /** Only of CSS-trees. */
  readonly #sorted: Kernels<'find_windows' | 'count_sorted'> | undefined

  constructor(context: ReadContext) {
    this.#context = context
    this.#ranges = new ScanRanges(context)
    this.#nodes = context.kernels('count-ranges', ['count_nodes'])
    this.#sorted = context.tree.conditions.css
      ? context.kernels('count-ranges', ['find_windows', 'count_sorted'])
      : undefined
  }

  async run(
    { arena }: SearchedTree,
    request: ReadRequest<'countRanges'>,
    columns: Asked<'countRanges'>,
  ): Promise<BigUint64Array> {
    const count = request.ranges
    const [counts] = await this.#context.run((recorder, scratch) => {
      const work = { recorder, scratch, arena }
      const { ranges, heap: queryHeap } = this.#ranges.record(work, { ...request, ...columns })
      const counts = scratch.words(count)
      const buffers = { ...arena.bindings, queryHeap, ranges, counts }
      const params = { ranges: count, shape: this.#context.tree.word, isWhole: 0, laneBits: 0 }
      // Nothing hangs in the nodes of a CSS-tree whose delta is empty.
      if (arena.tuples.records === arena.sorted?.tuples) recorder.clear(counts, 0, 4 * count)
      else recorder.dispatch(this.#nodes.count_nodes, buffers, params, count)
      this.#addSorted(work, buffers, params)
      return [{ buffer: counts, bytes: 4 * count }]
    })
    return BigUint64Array.from(words(counts), BigInt)
  }

  #addSorted({ recorder, scratch, arena }: ReadWork, buffers: ArenaBindings, params: Params): void {
    const { sorted, extents } = arena
    if (this.#sorted === undefined || sorted === undefined || sorted.tuples === 0) return
    const { ranges } = params
    const isWhole = !sorted.hasRemoved && extents.records === EXTENT_HEADER
    const threads = this.#context.enoughGroups * GROUP_SIZE
    const laneBits = isWhole ? 0 : Math.max(0, Math.floor(Math.log2(threads / ranges)))
    const given = { ...params, isWhole: isWhole ? 1 : 0, laneBits }
    const columns = { ...buffers, windows: scratch.words(2 * ranges) }
    recorder.dispatch(this.#sorted.find_windows, columns, given, 2 * ranges)
    recorder.dispatch(this.#sorted.count_sorted, columns, given, ranges * 2 ** laneBits)
  }
}

/** What the kernels are told. */
type Params = Readonly<Record<'ranges' | 'shape' | 'isWhole' | 'laneBits', number>>
