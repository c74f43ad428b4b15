import type { ClockKind } from '../../kernel-time.js'
import type { KeyBlob } from '../../keys.js'

/** What one batch of lookups takes from the host's point of view, in microseconds (Figure 8 (f)). */
export interface Stages {
  /** Handing the keys to the driver. */
  readonly upload: number
  /** Recording and submitting. */
  readonly launch: number
  /** What Dawn's calls take of `launch`; the rest is the own layer's. */
  readonly driver: number
  /** Bringing keys into their normal form, and finding them, on the device. */
  readonly kernel: number
  /** All else until the answers are in the host's memory: transfers, and waiting for them. */
  readonly readback: number
}

/** A way of finding keys that is to be measured. */
export interface Subject {
  readonly name: string
  /**
   * An index of distinct keys, each with its number as payload.
   * @throws WarpdexError `OUT_OF_DEVICE_MEMORY`, `TOO_LARGE` where it cannot have so many
   */
  load(keys: KeyBlob): Promise<Loaded>
}

/** Lookups of one batch that are ready to be measured as often as wanted. */
export interface Run<T> {
  readonly clock: ClockKind
  /**
   * @param repeat which of several batches it is that are looked up in turn
   * @throws WarpdexError `OUT_OF_DEVICE_MEMORY`, `TOO_LARGE` for batches that are more than the index can answer at once
   */
  once(repeat: number): Promise<T> | T
  release(): void
}

/** An index that lookups are measured on. */
export interface Loaded {
  /** Bytes of memory that hold content. */
  readonly bytes: number
  /** The number of each key plus one; 0 for those that are not there. */
  answers(queries: KeyBlob): Promise<Uint32Array>
  /**
   * The microseconds of a batch of `count` lookups without getting the keys there and the answers back.
   * @param queries one batch, or several that the repeats take in turn
   */
  timing(queries: KeyBlob, count: number): Run<number>
  /** The same as stages of a request; absent where there are none, because nothing goes to a device. */
  staging?(queries: KeyBlob): Run<Stages>
  destroy(): void
}
