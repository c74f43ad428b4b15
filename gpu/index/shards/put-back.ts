import type { Device, Kernels } from '../../device/device.js'
import type { Recorder } from '../../device/recorder.js'
import type { Division } from './divider.js'

/** Brings the answers of one shard back to the places of the requests (`put-back.wesl`). */
export class PutBack {
  readonly #kernels: Kernels<'put_first' | 'put_words'>

  constructor(device: Device) {
    this.#kernels = device.kernels('index/shards/put-back', ['put_first', 'put_words'])
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
    const outputs = { allFound: all.found, allPayloads: all.payloads }
    const buffers = { positions, ...answers, ...outputs, starts: startsOnDevice }
    recorder.dispatch(this.#kernels.put_first, buffers, { count, first: 0, shards, payloadWords }, count)
  }

  /** Answers of a word a key. */
  recordWords(
    recorder: Recorder,
    { positions, first, count }: ShardPlaces,
    answers: GPUBuffer,
    all: GPUBuffer,
  ): void {
    const buffers = { positions, answers, allAnswers: all }
    recorder.dispatch(this.#kernels.put_words, buffers, { count, first }, count)
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
