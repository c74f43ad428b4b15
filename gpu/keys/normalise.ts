import type { Device, Kernels } from '../device/device.js'
import type { Recorder } from '../device/recorder.js'
import type { DeviceMemory } from '../memory/page-run.js'
import type { Scratch } from '../memory/scratch.js'
import type { DeviceWord, Primitives } from '../primitives/primitives.js'

/**
 * How keys become free of prefixes of each other: `terminated` ones (strings, bytes) are escaped and ended, `raw` ones (tuples)
 * are so as they come.
 */
export type NormalForm = 'terminated' | 'raw'

/** Words of a key's record (`record.wesl`). */
export const RECORD_WORDS = 2

/** Keys as on the wire. Each has 4096 bytes at most, and raw ones are no prefixes of each other. */
export interface WireKeys {
  /** Words: the place of each key in `bytes`, and the end of the last; the first is 0. */
  readonly offsets: DeviceMemory
  readonly bytes: DeviceMemory
  readonly count: number
  /** Bytes of all keys together. */
  readonly byteLength: number
}

/** Keys in their normal form (`record.wesl`). */
export interface NormalKeys {
  readonly heap: DeviceMemory
  /** Two words a key. */
  readonly records: DeviceMemory
  /** How many words of the heap are used. */
  readonly heapWords: DeviceWord
}

/** Brings keys of variable length into their normal form (`normalise.wesl`). */
export class KeyNormaliser {
  readonly #primitives: Primitives
  readonly #form: NormalForm
  readonly #kernels: Kernels<'measure_keys' | 'write_keys'>

  constructor(device: Device, primitives: Primitives, form: NormalForm) {
    const conditions = { terminated: form === 'terminated' }
    this.#primitives = primitives
    this.#form = form
    this.#kernels = device.kernels('keys/normalise', ['measure_keys', 'write_keys'], conditions)
  }

  /** Records the work; reads nothing back. Heap and records are scratch buffers. */
  record(recorder: Recorder, scratch: Scratch, keys: WireKeys): NormalKeys {
    const { offsets, bytes, count, byteLength } = keys
    const records = scratch.words(RECORD_WORDS * count)
    const starts = scratch.words(count + 1)
    const heap = scratch.words(mostHeapWords(this.#form, count, byteLength))
    const heapWords = { buffer: starts, index: count }
    const column = { offsets, column: bytes }
    const measured = { ...column, measured: records, words: starts }
    recorder.dispatch(this.#kernels.measure_keys, measured, { count }, count)
    this.#primitives.scan(recorder, scratch, starts, starts, count, heapWords)
    const placed = { ...column, starts, placed: records, heap }
    recorder.dispatch(this.#kernels.write_keys, placed, { count }, count)
    return { heap, records, heapWords }
  }
}

/**
 * The most words that keys can take. A terminated key of n bytes has up to 2n + 2 if all are zeros, hence up to 2n + 4 when it
 * is filled up; a raw one up to n + 3. Keys with zeros are rare, so that half of it usually stays unused, but counting zeros
 * on the host would touch every byte once more, and this is scratch memory, bounded by twice what a frame holds.
 */
export function mostHeapWords(form: NormalForm, count: number, byteLength: number): number {
  return form === 'terminated' ? Math.floor(byteLength / 2) + count : Math.floor((byteLength + 3 * count) / 4)
}
