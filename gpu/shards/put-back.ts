import type { Device } from '../device/device.js'
import type { Kernel } from '../device/kernel.js'
import type { Recorder } from '../device/recorder.js'

/** Brings the answers of one shard back to the places of the requests (`put-back.wesl`). */
export class PutBack {
  readonly #putFirst: Kernel
  readonly #putWords: Kernel

  private constructor(putFirst: Kernel, putWords: Kernel) {
    this.#putFirst = putFirst
    this.#putWords = putWords
  }

  static async create(device: Device): Promise<PutBack> {
    const common = { module: 'shards/put-back', params: 3 }
    const [putFirst, putWords] = await Promise.all([
      device.kernel({
        ...common,
        entryPoint: 'put_first',
        bindings: ['read', 'read', 'read', 'write', 'write'],
      }),
      device.kernel({ ...common, entryPoint: 'put_words', bindings: ['read', 'read', 'write'] }),
    ])
    return new PutBack(putFirst, putWords)
  }

  /**
   * Answers of a get.
   * @param positions number in the batch of each key, from number `first` on those of the shard
   * @param found of the batch; zeros before
   */
  recordFirst(
    recorder: Recorder,
    { positions, first, count }: ShardPlaces,
    answers: FirstPayloads,
    all: FirstPayloads,
    payloadWords: number,
  ): void {
    const buffers = [positions, answers.found, answers.payloads, all.found, all.payloads]
    recorder.dispatch(this.#putFirst, buffers, [count, first, payloadWords], count)
  }

  /** Answers of a word a key. */
  recordWords(
    recorder: Recorder,
    { positions, first, count }: ShardPlaces,
    answers: GPUBuffer,
    all: GPUBuffer,
  ): void {
    recorder.dispatch(this.#putWords, [positions, answers, all], [count, first, 0], count)
  }
}

/** Where a shard's keys come from: from number `first` on `count` places of the batch's. */
export interface ShardPlaces {
  readonly positions: GPUBuffer
  readonly first: number
  readonly count: number
}

/** A bit and a payload for each key. */
export interface FirstPayloads {
  readonly found: GPUBuffer
  readonly payloads: GPUBuffer
}
