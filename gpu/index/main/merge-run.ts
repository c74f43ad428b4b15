import { LIMITS } from '../../../protocol/limits.js'
import type { Device, Kernels } from '../../device/device.js'
import type { Recorder } from '../../device/recorder.js'
import type { DeviceMemory } from '../../memory/page-run.js'
import type { Region } from '../../memory/region.js'
import type { Scratch } from '../../memory/scratch.js'
import { groupsFor, kernelsFor, type Strategy, strategyFor } from '../../primitives/strategy.js'
import type { Arena } from '../arena.js'
import type { TreeShape } from '../layout.js'

/** Tuples of a tile of the output; as in `merge-run.wesl`. */
const TILE = { cooperative: 2048, serial: 512 }

/**
 * Times the length of a run that the sorted part may have at most to be merged with it at once. A delta of an eighth would be due to be
 * merged, too. Where more such runs follow, the directory and the room for the tuples are not made anew for each. On a CPU moving 64
 * tuples takes about as long as hanging one into nodes, and merging it from there; a GPU moves hundreds of millions in the time that
 * the log of a run takes.
 */
const MOST_BESIDE = { cpu: { alone: 8, goesOn: 64 }, gpu: { alone: 64, goesOn: 2048 } }

/** A merge that has all the memory that it needs. */
export interface PlannedMerge {
  readonly merged: Region
  readonly tiles: number
  readonly equal: DeviceMemory
  readonly taken: DeviceMemory
}

/**
 * Merges what a batch creates with a CSS-tree's sorted part at once (`merge-run.wesl`): created tuples are in key order, so neither nodes
 * nor the order of a delta are needed. The old part stays as it is, until the caller puts the new one in its place.
 */
export class RunMerge {
  readonly #strategy: Strategy
  readonly #shape: TreeShape
  readonly #mostBeside: (typeof MOST_BESIDE)['cpu']
  readonly #kernels: Kernels<'merge_tiles'>
  /** Only where a workgroup shares a tile. */
  readonly #shared: Kernels<'find_diagonals'> | undefined

  /** @param strategy the one that suits the device, unless given */
  constructor(device: Device, shape: TreeShape, strategy = strategyFor(device)) {
    const { tupleStride } = shape
    const serial = strategy === 'serial'
    const quads = tupleStride % 4 === 0
    const pairs = !quads && tupleStride % 2 === 0
    const module = 'index/main/merge-run'
    const conditions = { ...shape.conditions, quads, pairs }
    this.#strategy = strategy
    this.#shape = shape
    this.#mostBeside = MOST_BESIDE[device.facts.software ? 'cpu' : 'gpu']
    this.#kernels = kernelsFor(device, strategy, module, ['merge_tiles'], conditions)
    this.#shared = serial ? undefined : device.kernels(module, ['find_diagonals'], conditions)
  }

  /** Whether what is created may join the sorted part at once: not where there is a delta, or a tuple that has left. */
  isPossible({ sorted, tuples, isBeingMerged }: Arena): boolean {
    if (sorted === undefined || sorted.hasRemoved || isBeingMerged) return false
    return tuples.records === sorted.tuples && sorted.tuples > 0
  }

  /**
   * Whether so many created tuples are to be merged at once.
   * @param goesOn whether more such batches follow
   */
  suits(arena: Arena, created: number, goesOn: boolean): boolean {
    if (!this.isPossible(arena)) return false
    const most = created * this.#mostBeside[goesOn ? 'goesOn' : 'alone']
    return created > LIMITS.mergedTuples && most >= arena.sorted!.tuples
  }

  /**
   * Takes what the merge needs beside that, so that recording it does not fail for want of memory.
   * @param merged where both go, with as many records as both have tuples
   * @param equal a word that is set to 1 if a key of the run is in the sorted part, where that may be; not for keys of variable length
   */
  plan(scratch: Scratch, merged: Region, equal = scratch.words(1)): PlannedMerge {
    const tile = TILE[this.#strategy === 'serial' ? 'serial' : 'cooperative']
    const tiles = Math.ceil(merged.records / tile)
    return { merged, tiles, equal, taken: scratch.words(tiles + 1) }
  }

  /** Records the merge of an arena's sorted part and the run that was written right behind it. */
  record(recorder: Recorder, arena: Arena, { merged, tiles, equal, taken }: PlannedMerge): void {
    const { sorted, heap, bindings } = arena
    const params = { sorted: sorted?.tuples ?? 0, count: merged.records, tiles, shape: this.#shape.word }
    // No key of a request is looked at.
    const buffers = { ...bindings, queryHeap: heap?.buffer, merged: merged.buffer, equal, taken }
    if (this.#shared) recorder.dispatch(this.#shared.find_diagonals, buffers, params, tiles + 1)
    recorder.dispatchGroups(this.#kernels.merge_tiles, buffers, params, groupsFor(this.#strategy, tiles))
  }
}
