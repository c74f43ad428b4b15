/** Milliseconds of waiting before the first pause: most small requests are answered by then. */
const AT_ONCE_MS = 0.1

/** A pause is this part of the wait so far, so that an answer comes later by no more than that part. */
const PART_OF_WAIT = 1 / 8

/** Milliseconds of a pause at most, since nothing else runs in the thread meanwhile. */
const LONGEST_MS = 0.5

/** Nobody writes or wakes it: to wait for it is to sleep. */
const never = new Int32Array(new SharedArrayBuffer(4))

/**
 * Puts the thread to sleep for a part of the time that it waits for the device. While a promise of Dawn is pending, Dawn asks
 * its device in every turn of the event loop, without rest, and so takes a core. Where the device is the CPU, that is a core
 * less for the work that is waited for.
 */
export class PollingPauses {
  #waits = 0
  /** When a wait last began or ended. */
  #since = 0
  #turning = false

  /** Settles as `work` does, and pauses meanwhile. */
  async during<T>(work: Promise<T>): Promise<T> {
    this.#waits++
    this.#since = performance.now()
    if (!this.#turning) setImmediate(this.#turn)
    this.#turning = true
    try {
      return await work
    } finally {
      this.#waits--
      this.#since = performance.now()
    }
  }

  readonly #turn = (): void => {
    const waited = performance.now() - this.#since
    if (this.#waits > 0 && waited > AT_ONCE_MS) {
      Atomics.wait(never, 0, 0, Math.min(waited * PART_OF_WAIT, LONGEST_MS))
    }
    this.#turning = this.#waits > 0
    if (this.#turning) setImmediate(this.#turn)
  }
}
