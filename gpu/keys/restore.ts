import type { Device, Kernels } from '../device/device.js'
import type { Recorder } from '../device/recorder.js'
import type { DeviceMemory } from '../memory/page-run.js'
import type { Scratch } from '../memory/scratch.js'
import type { DeviceWord, Primitives } from '../primitives/primitives.js'
import { type Strategy, strategyFor } from '../primitives/strategy.js'
import type { NormalForm, NormalKeys } from './normalise.js'

/**
 * Words that one invocation restores: neighbours side by side on GPUs; runs on CPUs, because finding the place in a long key
 * with escapes means reading the key up to there.
 */
const WORDS_PER_INVOCATION = { subgroups: 1, cooperative: 1, serial: 64 }

/** Keys as on the wire, in scratch buffers. */
export interface RestoredKeys {
  /** `count` + 1 words, the first 0. Where fewer records count, the ones past them are empty. */
  readonly offsets: DeviceMemory
  /** The bytes; zeros fill up the last word. */
  readonly bytes: DeviceMemory
}

/** Brings keys from their normal form back to the wire's (`restore.wesl`). */
export class KeyRestorer {
  readonly #primitives: Primitives
  readonly #wordsPerInvocation: number
  readonly #kernels: Kernels<'measure_originals' | 'restore_bytes'>

  /** @param strategy the one that suits the device, unless given */
  constructor(
    device: Device,
    primitives: Primitives,
    form: NormalForm,
    strategy: Strategy = strategyFor(device),
  ) {
    const conditions = { terminated: form === 'terminated' }
    this.#primitives = primitives
    this.#wordsPerInvocation = WORDS_PER_INVOCATION[strategy]
    this.#kernels = device.kernels('keys/restore', ['measure_originals', 'restore_bytes'], conditions)
  }

  /**
   * Records the work; reads nothing back.
   * @param mostBytes what the caller has room for; bytes past it are not written, and the last offset tells of them
   * @param live how many records count if the device knows it to be fewer than `count`
   */
  record(
    recorder: Recorder,
    scratch: Scratch,
    { heap, records }: Pick<NormalKeys, 'heap' | 'records'>,
    count: number,
    mostBytes: number,
    live?: DeviceWord,
  ): RestoredKeys {
    const offsets = scratch.words(count + 1)
    const bytes = scratch.bytes(mostBytes)
    const total = { buffer: offsets, index: count }
    recorder.dispatch(this.#kernels.measure_originals, { records, lengths: offsets }, { count }, count)
    this.#primitives.scan(recorder, scratch, offsets, offsets, count, total, live)
    recorder.dispatch(
      this.#kernels.restore_bytes,
      { records, heap, offsets, column: bytes },
      { count, bytes: mostBytes, wordsPerInvocation: this.#wordsPerInvocation },
      Math.ceil(mostBytes / (4 * this.#wordsPerInvocation)),
    )
    return { offsets, bytes }
  }
}
