import type { Device, Kernels } from '../../../gpu/device/device.js'
import type { Recorder } from '../../../gpu/device/recorder.js'
import type { DeviceMemory } from '../../../gpu/memory/page-run.js'
import type { Scratch } from '../../../gpu/memory/scratch.js'
import { PAPER_KERNELS } from '../kernels.js'
import type { SortedKeys } from './cut.js'

/** Words of a pair: begin and end in the first relation, begin and end in the second. */
export const PAIR_WORDS = 4

/** Recursive partitioning by pivots (Diamos §4.1; `recursive-partition.wesl`). */
export class RecursivePartition {
  readonly #device: Device
  readonly #kernels: Kernels<'divide'>

  constructor(device: Device) {
    this.#device = device
    this.#kernels = device.kernels('diamos/recursive-partition', ['divide'], {}, PAPER_KERNELS)
  }

  /**
   * Cuts two relations into pairs of ranges that may have equal keys.
   * @param fans parts that a pair is cut into on each level
   * @returns as many pairs as the product of the fans, in the order of keys; ranges of pairs that were discarded are empty
   */
  record(
    recorder: Recorder,
    scratch: Scratch,
    first: SortedKeys,
    second: SortedKeys,
    fans: readonly number[],
  ): DeviceMemory {
    let pairs = scratch.words(PAIR_WORDS)
    this.#device.upload(pairs, new Uint8Array(Uint32Array.of(0, first.count, 0, second.count).buffer))
    let count = 1
    for (const [level, fan] of fans.entries()) {
      const parts = scratch.words(PAIR_WORDS * count * fan)
      const buffers = { firstKeys: first.keys, secondKeys: second.keys, pairs, parts }
      const params = { pairs: count, fan, secondLeads: level % 2 }
      recorder.dispatch(this.#kernels.divide, buffers, params, count * fan)
      pairs = parts
      count *= fan
    }
    return pairs
  }
}
