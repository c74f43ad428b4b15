import { WarpdexError } from '../../../../protocol/errors.js'
import type { Device, Kernels } from '../../../device/device.js'
import type { Kernel } from '../../../device/kernel.js'
import type { DeviceMemory } from '../../../memory/page-run.js'
import type { Scratch } from '../../../memory/scratch.js'
import type { Arena } from '../../arena.js'
import type { BatchWork } from '../../batch/work.js'
import type { Builder } from '../../delta/build.js'
import { type ShareDigits, shareDigits } from '../../delta/neighbours.js'
import { FIXED_HEAD_WORDS, HEAD_WORDS, LANES, SLOTS, type TreeShape } from '../../layout.js'

const KERNELS = [
  'begin_descents',
  'find_groups',
  'descend_level',
  'open_groups',
  'write_nodes',
  'hang_tuples',
] as const

const TOTALS = 3
const CLAIM_WORDS = 4
const BAND_WORDS = 4

/** Places in the table for each claim that there may be, so that searches in it stay short. */
const PLACES_PER_CLAIM = 2

/**
 * Builds `coalesced` trees (Volk §4.2, Figure 6), where 16 partitions of a level lie interleaved and are filled together. The
 * plan is exact and changes nothing: all entries go down level by level, and what they find missing they claim in a table, which is
 * then written at once. It takes one readback, for the number of levels and a bound of the claims (the nodes that a tree on demand
 * would need), and a dispatch a level.
 */
export class CoalescedBuilder implements Builder {
  readonly #device: Device
  readonly #levels: number
  /** Only over keys of variable length. */
  readonly #shareDigits: ShareDigits | undefined
  readonly #kernels: Kernels<(typeof KERNELS)[number]>

  constructor(device: Device, { conditions, form, partitionLevels }: TreeShape) {
    if (typeof partitionLevels !== 'number') {
      throw new WarpdexError('INTERNAL', 'the partitions of a coalesced tree have a fixed number of levels')
    }
    this.#device = device
    this.#levels = partitionLevels
    this.#shareDigits = form && shareDigits(device, conditions)
    this.#kernels = device.kernels('index/partitions/coalesced/build-coalesced', KERNELS, conditions)
  }

  plan(work: BatchWork, bound: number, arena: Arena | undefined): () => Promise<void> {
    this.#shareDigits?.(work, bound)
    if (arena === undefined) addRoot(work, this.#shareDigits !== undefined)
    work.words('states', 2 * bound)
    work.recorder.clear(work.words('totals', TOTALS), 0, 4 * TOTALS)
    work.dispatch(this.#kernels.begin_descents, bound, { count: bound })
    return () => this.#claim(work, bound, arena?.nodes.records ?? LANES)
  }

  /** Fills the table of what entries claim, if they claim anything. */
  async #claim(work: BatchWork, bound: number, firstNode: number): Promise<void> {
    const [most, end, complement] = await this.#device.readWords(work.column('totals'), TOTALS)
    if (end === 0) return
    const levels = this.#levels
    const capacity = PLACES_PER_CLAIM * most + 1
    const bands = Math.floor((end - 1) / levels) + 1
    const recorder = this.#device.record()
    work.recorder = recorder
    work.params.capacity = capacity
    work.buffers.table = this.#table(work.scratch, capacity)
    recorder.clear(work.buffers.table, 0, 4 * CLAIM_WORDS * capacity)
    recorder.clear(work.words('bands', BAND_WORDS * bands), 0, 4 * BAND_WORDS * bands)
    const dispatch = (kernel: Kernel, count: number, depth: number) =>
      work.dispatch(kernel, count, { count, levels, firstNode, capacity, depth, bands })
    dispatch(this.#kernels.find_groups, firstNode / LANES, 0)
    for (let depth = ~complement >>> 0; depth < end; depth++) {
      dispatch(this.#kernels.descend_level, bound, depth)
      if ((depth + 1) % levels > 0 || depth + 1 === end) continue
      dispatch(this.#kernels.open_groups, 1, depth)
    }
    recorder.submit()
  }

  #table(scratch: Scratch, capacity: number): DeviceMemory {
    const bytes = 4 * CLAIM_WORDS * capacity
    const { bindingBytes } = this.#device.facts
    if (bytes <= bindingBytes) return scratch.bytes(bytes)
    throw new WarpdexError(
      'OUT_OF_DEVICE_MEMORY',
      `planning the nodes of a coalesced tree would need ${bytes} bytes at once; the device has ${bindingBytes}: insert fewer keys at a time`,
    )
  }

  record(work: BatchWork, arena: Arena, count: number, firstNode: number): void {
    if (work.buffers.table === undefined) return
    const { capacity } = work.params
    const params = { levels: this.#levels, firstNode, capacity }
    work.buffers.newNodes = arena.nodes.buffer
    work.dispatch(this.#kernels.write_nodes, capacity, params)
    work.dispatch(this.#kernels.hang_tuples, count, { count })
    // New partitions may have old nodes, among which none is looked for again.
    arena.partitions?.destroy()
    arena.partitions = undefined
  }
}

/** The root of an empty tree, in place of one. */
function addRoot(work: BatchWork, variable: boolean): void {
  const headWords = variable ? HEAD_WORDS : FIXED_HEAD_WORDS
  const words = { nodes: LANES * SLOTS, heads: LANES * headWords }
  work.recorder.clear(work.words('nodes', words.nodes), 0, 4 * words.nodes)
  work.recorder.clear(work.words('heads', words.heads), 0, 4 * words.heads)
}
