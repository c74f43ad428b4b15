import { WarpdexError } from '../../../../protocol/errors.js'
import type { Device, Kernels } from '../../../device/device.js'
import type { Recorder } from '../../../device/recorder.js'
import type { Scratch } from '../../../memory/scratch.js'
import type { Arena, KeyHeaps } from '../../arena.js'
import type { Builder, NodePlan } from '../../delta/build.js'
import type { Entries } from '../../delta/entries.js'
import { Neighbours } from '../../delta/neighbours.js'
import { HEAD_WORDS, LANES, SLOTS, type TreeShape } from '../../layout.js'

const KERNELS = [
  'begin_descents',
  'find_groups',
  'descend_level',
  'open_groups',
  'write_nodes',
  'hang_tuples',
] as const

/** The tree that entries are for, as it is before them. */
interface Resident {
  readonly nodes: GPUBuffer
  readonly heads: GPUBuffer
  /** Node numbers that are taken. */
  readonly taken: number
}

/** Entries that go down the tree together. */
interface Descents {
  readonly entries: Entries
  readonly counts: GPUBuffer
  readonly heaps: KeyHeaps
  readonly states: GPUBuffer
  /** What they need, as `begin_descents` counts it. */
  readonly totals: GPUBuffer
  readonly resident: Resident
}

/** Everything that is to be written; `build-coalesced.wesl` says what the buffers hold. */
interface Claims {
  readonly table: GPUBuffer
  readonly capacity: number
  readonly bands: GPUBuffer
}

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
  readonly #neighbours: Neighbours
  readonly #kernels: Kernels<(typeof KERNELS)[number]>

  constructor(device: Device, { conditions, partitionLevels }: TreeShape) {
    if (typeof partitionLevels !== 'number') {
      throw new WarpdexError('INTERNAL', 'the partitions of a coalesced tree have a fixed number of levels')
    }
    this.#device = device
    this.#levels = partitionLevels
    this.#neighbours = new Neighbours(device, conditions)
    this.#kernels = device.kernels('index/partitions/coalesced/build-coalesced', KERNELS, conditions)
  }

  plan(
    recorder: Recorder,
    scratch: Scratch,
    entries: Entries,
    counts: GPUBuffer,
    heaps: KeyHeaps,
    arena: Arena | undefined,
  ): NodePlan {
    const { bound, keys, places } = entries
    const shared = this.#neighbours.record(recorder, scratch, entries, counts, heaps)
    const resident = residentOf(recorder, scratch, arena)
    const [states, totals] = [scratch.words(2 * bound), scratch.words(TOTALS)]
    recorder.clear(totals, 0, 4 * TOTALS)
    const columns = { digitsShared: shared, keys, placesOut: places, countsIn: counts, states, totals }
    const buffers = { ...columns, ...heaps, heads: resident.heads }
    recorder.dispatch(this.#kernels.begin_descents, buffers, { count: bound }, bound)
    const descents = { entries, counts, heaps, states, totals, resident }
    let claims: Claims | undefined
    return {
      complete: async () => {
        claims = await this.#claim(scratch, descents)
      },
      record: (building, target, count) => {
        if (claims !== undefined) this.#write(building, target, descents, claims, count)
      },
    }
  }

  /** What entries claim; undefined where there are none. */
  async #claim(scratch: Scratch, descents: Descents): Promise<Claims | undefined> {
    const { entries, counts, heaps, states, totals, resident } = descents
    const [most, end, complement] = await this.#device.readWords(totals, TOTALS)
    if (end === 0) return undefined
    const levels = this.#levels
    const capacity = PLACES_PER_CLAIM * most + 1
    const bands = Math.floor((end - 1) / levels) + 1
    const claims = {
      table: this.#table(scratch, capacity),
      capacity,
      bands: scratch.words(BAND_WORDS * bands),
    }
    const recorder = this.#device.record()
    recorder.clear(claims.table, 0, 4 * CLAIM_WORDS * capacity)
    recorder.clear(claims.bands, 0, 4 * BAND_WORDS * bands)
    const params = (count: number, depth: number) => {
      return { count, levels, firstNode: resident.taken, capacity, depth, bands }
    }
    const groups = resident.taken / LANES
    const buffers = {
      nodes: resident.nodes,
      heads: resident.heads,
      keys: entries.keys,
      places: entries.places,
      counts,
      states,
      table: claims.table,
      bands: claims.bands,
      ...heaps,
    }
    recorder.dispatch(this.#kernels.find_groups, buffers, params(groups, 0), groups)
    for (let depth = ~complement >>> 0; depth < end; depth++) {
      recorder.dispatch(this.#kernels.descend_level, buffers, params(entries.bound, depth), entries.bound)
      if ((depth + 1) % levels > 0 || depth + 1 === end) continue
      recorder.dispatch(this.#kernels.open_groups, buffers, params(1, depth), 1)
    }
    recorder.submit()
    return claims
  }

  #table(scratch: Scratch, capacity: number): GPUBuffer {
    const bytes = 4 * CLAIM_WORDS * capacity
    const { bindingBytes } = this.#device.facts
    if (bytes <= bindingBytes) return scratch.bytes(bytes)
    throw new WarpdexError(
      'OUT_OF_DEVICE_MEMORY',
      `planning the nodes of a coalesced tree would need ${bytes} bytes at once; the device has ${bindingBytes}: insert fewer keys at a time`,
    )
  }

  #write(building: Recorder, arena: Arena, descents: Descents, claims: Claims, count: number): void {
    const { entries, states, resident } = descents
    const { table, capacity, bands } = claims
    const buffers = {
      ...arena.bindings,
      newNodes: arena.nodes.buffer,
      entries: entries.entries,
      table,
      bands,
      states,
    }
    const params = { levels: this.#levels, firstNode: resident.taken, capacity }
    building.dispatch(this.#kernels.write_nodes, buffers, params, capacity)
    building.dispatch(this.#kernels.hang_tuples, buffers, { count }, count)
    // New partitions may have old nodes, among which none is looked for again.
    arena.partitions?.destroy()
    arena.partitions = undefined
  }
}

function residentOf(recorder: Recorder, scratch: Scratch, arena: Arena | undefined): Resident {
  if (arena?.heads !== undefined) {
    const { nodes, heads } = arena
    return { nodes: nodes.buffer, heads: heads.buffer, taken: nodes.records }
  }
  const words = { nodes: LANES * SLOTS, heads: LANES * HEAD_WORDS }
  const root = { nodes: scratch.words(words.nodes), heads: scratch.words(words.heads), taken: LANES }
  recorder.clear(root.nodes, 0, 4 * words.nodes)
  recorder.clear(root.heads, 0, 4 * words.heads)
  return root
}
