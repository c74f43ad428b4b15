import type { Device } from '../device/device.js'
import type { Primitives } from './primitives.js'

/** How long a GPU is kept busy before it is measured: one that was idle gets to its clock only then, and is up to six times slower until then. */
const WARM_UP_MS = 800
/** How long it works before each run: within a second of short runs alone, between which the host takes its time, its clock falls by half. */
const KEEP_WARM_MS = 2
/** Left alone for longer, it is warmed up again. */
const LEFT_ALONE_MS = 50
/** Kernels of a submission, however fast they are. */
const MOST_KERNELS = 256
/** Words that each kernel writes. */
const WORDS = 2 ** 24

/**
 * Keeps a GPU at the clock at which it works under load, so that all that is measured is measured at the same. Others get their turn on it every
 * few milliseconds. A CPU needs none of it.
 */
export class WarmDevice {
  readonly #device: Device
  readonly #primitives: Primitives
  /** Kernels that take `KEEP_WARM_MS`, as far as is known. */
  #kernels = 1
  /** When it was last at work. */
  #left = Number.NEGATIVE_INFINITY

  constructor(device: Device, primitives: Primitives) {
    this.#device = device
    this.#primitives = primitives
  }

  /** Whether the device is to be kept warm at all. What does so takes the place of other data in its caches. */
  get isNeeded(): boolean {
    return !this.#device.facts.software
  }

  /**
   * Keeps the device busy until it works as fast as under load. It must have no rest meanwhile, so two submissions are under way: after short
   * ones with pauses an H200 now and then stayed at half of its clock.
   */
  async warmUp(stop?: AbortSignal): Promise<void> {
    if (!this.isNeeded) return
    const end = performance.now() + WARM_UP_MS
    const isOver = () => performance.now() >= end || stop?.aborted === true
    const workOn = async () => {
      do await this.#work()
      while (!isOver())
    }
    await Promise.all([workOn(), workOn()])
  }

  /** Keeps it so; to be called before each run. */
  async keepWarm(stop?: AbortSignal): Promise<void> {
    if (!this.isNeeded) return
    if (performance.now() - this.#left > LEFT_ALONE_MS) await this.warmUp(stop)
    await this.#work()
  }

  /** Runs something on the warm device. */
  async run<T>(once: () => Promise<T>, stop?: AbortSignal): Promise<T> {
    await this.keepWarm(stop)
    const result = await once()
    this.#left = performance.now()
    return result
  }

  /**
   * What each of several takes, in all repeats. They take turns, each behind the same work, so that whatever becomes of the device's clock and
   * whatever else it does falls on all of them alike. Kernels are compiled in a round that does not count.
   * @param stop ends it, with its reason
   */
  async byTurns(
    each: readonly ((repeat: number) => Promise<number>)[],
    repeats: number,
    stop?: AbortSignal,
  ): Promise<number[][]> {
    const taken = each.map((): number[] => [])
    for (let repeat = 0; repeat <= repeats; repeat++) {
      for (const [i, once] of each.entries()) {
        stop?.throwIfAborted()
        const value = await this.run(() => once(repeat), stop)
        if (repeat > 0) taken[i].push(value)
      }
    }
    return taken
  }

  async #work(): Promise<void> {
    const kernels = this.#kernels
    const scratch = this.#device.scratch()
    const submitted = performance.now()
    try {
      const buffer = scratch.words(WORDS)
      const recorder = this.#device.record()
      for (let i = 0; i < kernels; i++) this.#primitives.fill(recorder, buffer, WORDS, i)
      recorder.submit()
    } finally {
      scratch.release()
    }
    await this.#device.workDone()
    const taken = performance.now() - Math.max(submitted, this.#left)
    this.#left = performance.now()
    const fitting = Math.min(2 * kernels, Math.round((kernels * KEEP_WARM_MS) / taken))
    this.#kernels = Math.max(1, Math.min(MOST_KERNELS, fitting))
  }
}
