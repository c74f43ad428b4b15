import type { Device, Kernels } from '../../device/device.js'
import type { DeviceMemory, PageRun } from '../../memory/page-run.js'
import type { Primitives } from '../../primitives/primitives.js'
import type { Arena } from '../arena.js'
import type { TreeShape } from '../layout.js'
import type { PartitionLists, PartitionTable } from './partitions.js'
import { BLOCK_PARTITIONS } from './traversal-costs.js'

/** Partitions up to which small blocks share a workgroup, and queries share it beyond that: one for each of its invocations. */
const GROUP_PARTITIONS = 64

/** The block of an empty place; `layout.wesl` has the same number. */
const NONE = 0xffffffff

/** Orders partitions by level and by block. */
export class PartitionLister {
  readonly #device: Device
  readonly #primitives: Primitives
  readonly #kernels: Kernels<'list_levels' | 'list_blocks' | 'place_partitions'>

  constructor(device: Device, primitives: Primitives, { conditions }: TreeShape) {
    const entryPoints = ['list_levels', 'list_blocks', 'place_partitions'] as const
    this.#device = device
    this.#primitives = primitives
    this.#kernels = device.kernels('index/partitions/partition-lists', entryPoints, conditions)
  }

  /**
   * The lists of a table that is up to date, made once for each state of it.
   * @param blockBands bands of a block, the paper's |B| / m
   * @throws WarpdexError `OUT_OF_DEVICE_MEMORY`
   */
  async lists(arena: Arena, table: PartitionTable, blockBands: number): Promise<PartitionLists> {
    return table.lists.get(blockBands) ?? table.keepLists(await this.#list(arena, table, blockBands))
  }

  async #list(arena: Arena, table: PartitionTable, blockBands: number): Promise<PartitionLists> {
    const { count, levels } = table
    const device = this.#device
    const kernels = this.#kernels
    const tree = { ...arena.bindings, ...table.bindings }
    return device.withScratch(async (scratch) => {
      const nodes = arena.nodes.records
      const [levelOf, blockRoots, numbers] = [
        scratch.words(count),
        scratch.words(count),
        scratch.words(nodes),
      ]
      const [predecessors, positions] = [scratch.words(count), scratch.words(count)]
      const height = levels * blockBands
      const params = { count, levels, height }
      const recorder = device.record()
      recorder.clear(numbers, 0, 4 * nodes)
      const levelled = { ...tree, levels: levelOf, newNumbers: numbers }
      recorder.dispatch(kernels.list_levels, levelled, params, count)
      const byLevel = this.#primitives.sort(recorder, scratch, levelOf, undefined, count, 1).values
      const blocked = { ...tree, byLevel, blockRoots, numbers, predecessors }
      recorder.dispatch(kernels.list_blocks, blocked, params, count)
      const sorted = this.#primitives.sort(recorder, scratch, blockRoots, byLevel, count, 1)
      const placed = { byBlock: sorted.values, positions }
      recorder.dispatch(kernels.place_partitions, placed, params, count)
      recorder.submit()
      const blockRootOf = await device.readWords(sorted.keys, count)
      const empty = blockRootOf.indexOf(NONE)
      const bounds = groupsOf(empty < 0 ? blockRootOf : blockRootOf.subarray(0, empty))
      const blocks = scratch.words(bounds.length)
      device.upload(blocks, new Uint8Array(bounds.buffer))
      const bindings = this.#keep({
        byLevel: [byLevel, count],
        byBlock: [sorted.values, count],
        numbers: [numbers, nodes],
        positions: [positions, count],
        predecessors: [predecessors, count],
        blocks: [blocks, bounds.length],
      })
      const bytes = Object.values(bindings).reduce((total, { size }) => total + size, 0)
      const sharing = Math.max(1, Math.floor(GROUP_PARTITIONS / largestOf(bounds)))
      return { blockBands, blockCount: bounds.length / 2, sharing, bindings, bytes }
    })
  }

  /** Pages with so many words of each of some buffers. The kernels could not write them there, since they read the table's own pages. */
  #keep<Name extends string>(
    lists: Readonly<Record<Name, readonly [DeviceMemory, words: number]>>,
  ): Record<Name, PageRun> {
    const kept: Partial<Record<Name, PageRun>> = {}
    const recorder = this.#device.record()
    try {
      for (const name in lists) {
        const [words, count] = lists[name]
        const pages = this.#device.allocatePages('derived', 4 * count, `partition list ${name}`)
        kept[name] = pages
        recorder.copy(words, 0, pages, 0, 4 * count)
      }
      recorder.submit()
      return kept as Record<Name, PageRun>
    } catch (error) {
      for (const name in kept) kept[name]?.destroy()
      throw error
    }
  }
}

/**
 * Begin and end of what each workgroup goes down in a sorted column of blocks: one block, or several small ones. Those too large for
 * its memory are cut.
 */
function groupsOf(sorted: Uint32Array): Uint32Array<ArrayBuffer> {
  const bounds: number[] = []
  let begin = 0
  for (let block = 0; block < sorted.length; ) {
    let end = block + 1
    while (end < sorted.length && sorted[end] === sorted[block] && end - block < BLOCK_PARTITIONS) end++
    if (end - begin > GROUP_PARTITIONS && block > begin) {
      bounds.push(begin, block)
      begin = block
    }
    block = end
  }
  bounds.push(begin, sorted.length)
  return Uint32Array.from(bounds)
}

/** Partitions of the workgroup that has the most. */
function largestOf(bounds: Uint32Array): number {
  let largest = 1
  for (let i = 0; i < bounds.length; i += 2) largest = Math.max(largest, bounds[i + 1] - bounds[i])
  return largest
}
