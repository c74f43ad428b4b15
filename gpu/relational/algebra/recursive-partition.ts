import type { Device } from '../../device/device.js'
import type { Kernel } from '../../device/kernel.js'
import type { Recorder } from '../../device/recorder.js'
import type { Scratch } from '../../memory/scratch.js'
import type { KeyWords } from '../../primitives/primitives.js'
import type { Tuples } from './tuples.js'

/** Words of a pair: begin and end in the first relation, begin and end in the second. */
export const PAIR_WORDS = 4

/**
 * Recursive partitioning by pivots (Diamos §4.1; `recursive-partition.wesl`), to be measured against the tiles of equal length that the
 * operators use (`cut.wesl`).
 */
export class RecursivePartition {
  readonly #device: Device
  readonly #kernel: Kernel

  private constructor(device: Device, kernel: Kernel) {
    this.#device = device
    this.#kernel = kernel
  }

  static async create(device: Device, keyWords: KeyWords): Promise<RecursivePartition> {
    const kernel = await device.kernel({
      module: 'relational/algebra/recursive-partition',
      entryPoint: 'divide',
      params: 3,
      conditions: { wide: keyWords === 2 },
      bindings: ['read', 'read', 'read', 'write'],
    })
    return new RecursivePartition(device, kernel)
  }

  /**
   * Cuts two relations, whose numbers of tuples are known, into pairs of ranges that may have equal keys.
   * @param fans parts that a pair is cut into on each level
   * @returns as many pairs as the product of the fans, in the order of keys; ranges of pairs that were discarded are empty
   */
  record(
    recorder: Recorder,
    scratch: Scratch,
    first: Tuples,
    second: Tuples,
    fans: readonly number[],
  ): GPUBuffer {
    let pairs = scratch.words(PAIR_WORDS)
    this.#device.upload(pairs, new Uint8Array(Uint32Array.of(0, first.rows, 0, second.rows).buffer))
    let count = 1
    for (const [level, fan] of fans.entries()) {
      const parts = scratch.words(PAIR_WORDS * count * fan)
      recorder.dispatch(
        this.#kernel,
        [first.columns.keys, second.columns.keys, pairs, parts],
        [count, fan, level % 2],
        count * fan,
      )
      pairs = parts
      count *= fan
    }
    return pairs
  }
}
