import { LIMITS } from '../../../protocol/limits.js'
import type { Device } from '../../device/device.js'
import type { Kernel } from '../../device/kernel.js'
import type { Recorder } from '../../device/recorder.js'
import type { Scratch } from '../../memory/scratch.js'
import { groupsFor, type Strategy, strategyFor } from '../../primitives/strategy.js'
import { type Arena, keyHeaps } from '../arena.js'
import { furtherBindings, type TreeShape } from '../layout.js'
import type { MergeRoom } from './merge-rooms.js'

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
  readonly room: MergeRoom
  readonly tiles: number
  readonly equal: GPUBuffer
  readonly taken: GPUBuffer
}

/**
 * Merges what a batch creates with a CSS-tree's sorted part at once (`merge-run.wesl`): created tuples are in key order, so neither nodes
 * nor the order of a delta are needed. The old part stays as it is, until the caller puts the new one in its place.
 */
export class RunMerge {
  readonly #strategy: Strategy
  readonly #shape: TreeShape
  readonly #mostBeside: (typeof MOST_BESIDE)['cpu']
  readonly #mergeTiles: Kernel
  /** Only where a workgroup shares a tile. */
  readonly #findDiagonals: Kernel | undefined

  private constructor(
    strategy: Strategy,
    shape: TreeShape,
    mergeTiles: Kernel,
    findDiagonals: Kernel | undefined,
    software: boolean,
  ) {
    this.#strategy = strategy
    this.#shape = shape
    this.#mostBeside = MOST_BESIDE[software ? 'cpu' : 'gpu']
    this.#mergeTiles = mergeTiles
    this.#findDiagonals = findDiagonals
  }

  /** @param strategy the one that suits the device, unless given */
  static async create(device: Device, shape: TreeShape, strategy = strategyFor(device)): Promise<RunMerge> {
    const { conditions, tupleStride } = shape
    const serial = strategy === 'serial'
    const quads = tupleStride % 4 === 0
    const pairs = !quads && tupleStride % 2 === 0
    const common = { module: 'index/main/merge-run', params: 4, bindings: ['read'] as const }
    const checked = conditions.variable ? [] : [[2, 'write'] as const]
    const further = furtherBindings(shape, 'keys')
    const kernel = { ...common, conditions: { ...conditions, serial, quads, pairs } }
    const [mergeTiles, findDiagonals] = await Promise.all([
      device.kernel({
        ...kernel,
        entryPoint: 'merge_tiles',
        further: [[1, 'write'], ...checked, ...(serial ? [] : [[3, 'read'] as const]), ...further],
      }),
      serial
        ? undefined
        : device.kernel({ ...kernel, entryPoint: 'find_diagonals', further: [[3, 'write'], ...further] }),
    ])
    return new RunMerge(strategy, shape, mergeTiles, findDiagonals, device.facts.software)
  }

  /**
   * Whether so many created tuples are to be merged at once: not where there is a delta, or a tuple that has left.
   * @param goesOn whether more such batches follow
   */
  suits({ sorted, tuples, isBeingMerged }: Arena, created: number, goesOn: boolean): boolean {
    if (sorted === undefined || sorted.hasRemoved || isBeingMerged) return false
    if (tuples.records !== sorted.tuples || sorted.tuples === 0) return false
    const most = created * this.#mostBeside[goesOn ? 'goesOn' : 'alone']
    return created > LIMITS.mergedTuples && most >= sorted.tuples
  }

  /**
   * Takes what the merge needs beside its room, so that recording it does not fail for want of memory.
   * @param equal a word that is set to 1 if a key of the run is in the sorted part, where that may be; not for keys of variable length
   */
  plan(scratch: Scratch, room: MergeRoom, equal = scratch.words(1)): PlannedMerge {
    const tile = TILE[this.#strategy === 'serial' ? 'serial' : 'cooperative']
    const tiles = Math.ceil(room.merged.records / tile)
    return { room, tiles, equal, taken: scratch.words(tiles + 1) }
  }

  /** Records the merge of an arena's sorted part and the run that was written right behind it. */
  record(recorder: Recorder, arena: Arena, { room, tiles, equal, taken }: PlannedMerge): void {
    const { tuples, sorted, heap } = arena
    const { merged } = room
    const params = [sorted?.tuples ?? 0, merged.records, tiles, this.#shape.word]
    // No key of a request is looked at.
    const heaps = keyHeaps(arena, heap?.buffer)
    const buffers = [tuples.buffer, merged.buffer, ...(heap === undefined ? [equal] : [])]
    if (this.#findDiagonals !== undefined) {
      recorder.dispatch(this.#findDiagonals, [tuples.buffer, taken, ...heaps], params, tiles + 1)
      buffers.push(taken)
    }
    const groups = groupsFor(this.#strategy, tiles)
    recorder.dispatchGroups(this.#mergeTiles, [...buffers, ...heaps], params, groups)
  }
}
