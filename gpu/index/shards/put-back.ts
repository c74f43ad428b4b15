import type { Device } from '../../device/device.js'
import type { Kernel } from '../../device/kernel.js'
import type { Recorder } from '../../device/recorder.js'
import type { Division } from './divider.js'

/** Brings the answers of one shard back to the places of the requests (`put-back.wesl`). */
export class PutBack {
  readonly #putFirst: Kernel
  readonly #putWords: Kernel

  private constructor(putFirst: Kernel, putWords: Kernel) {
    this.#putFirst = putFirst
    this.#putWords = putWords
  }

  static async create(device: Device): Promise<PutBack> {
    const common = { module: 'index/shards/put-back', params: 4 }
    const [putFirst, putWords] = await Promise.all([
      device.kernel({
        ...common,
        entryPoint: 'put_first',
        bindings: ['read', 'read', 'read', 'write', 'write', 'read'],
      }),
      device.kernel({ ...common, entryPoint: 'put_words', bindings: ['read', 'read', 'write'] }),
    ])
    return new PutBack(putFirst, putWords)
  }

  /**
   * Answers of a get of a whole batch.
   * @param answers in the order of the shards; the found bits of each begin with word `firstWord`
   * @param all in the order of the batch; `found` must be zeros before
   */
  recordFirst(
    recorder: Recorder,
    { positions, starts, startsOnDevice }: Pick<Division, 'positions' | 'starts' | 'startsOnDevice'>,
    answers: FirstPayloads,
    all: FirstPayloads,
    payloadWords: number,
  ): void {
    const shards = starts.length - 1
    const count = starts[shards]
    const buffers = [positions, answers.found, answers.payloads, all.found, all.payloads, startsOnDevice]
    recorder.dispatch(this.#putFirst, buffers, [count, 0, shards, payloadWords], count)
  }

  /** Answers of a word a key. */
  recordWords(
    recorder: Recorder,
    { positions, first, count }: ShardPlaces,
    answers: GPUBuffer,
    all: GPUBuffer,
  ): void {
    recorder.dispatch(this.#putWords, [positions, answers, all], [count, first, 0, 0], count)
  }
}

/** Where a shard's keys come from: from number `first` on `count` places of the batch's. */
export interface ShardPlaces {
  readonly positions: GPUBuffer
  readonly first: number
  readonly count: number
}

/** The word with which the found bits of a shard begin, whose first key is number `first`; `put-back.wesl` has the same. */
export function firstWord(shard: number, first: number): number {
  return Math.floor(first / 32) + shard
}

/** A bit and a payload for each key. */
export interface FirstPayloads {
  readonly found: GPUBuffer
  readonly payloads: GPUBuffer
}
