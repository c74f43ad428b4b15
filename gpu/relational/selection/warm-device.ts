import type { Device } from '../../device/device.js'
import { RandomWords } from './random-words.js'

/** How long a GPU is kept busy before it is measured: one that was idle gets to its clock only then. */
const WARM_UP_MS = 600
/** And how long before each run, between which the host takes its time: within a second of short runs alone the clock is half of that again. */
const KEEP_WARM_MS = 2
/** Kernels between which others get their turn. */
const TOGETHER = 16
/** However fast they are. */
const MOST_KERNELS = 256
/** Words that each kernel writes at most. */
const MOST_WORDS = 2 ** 24

/** Keeps a GPU at the clock at which it works under load, so that all that is measured is measured at the same; a CPU needs none of it. */
export class WarmDevice {
  readonly #device: Device
  readonly #random: RandomWords
  readonly #buffer: GPUBuffer
  readonly #words: number
  /** Kernels that it works for so long as it has to before a run. */
  #kernels = TOGETHER

  private constructor(device: Device, random: RandomWords, buffer: GPUBuffer, words: number) {
    this.#device = device
    this.#random = random
    this.#buffer = buffer
    this.#words = words
  }

  /**
   * @param rows of what is to be measured
   * @throws WarpdexError `OUT_OF_DEVICE_MEMORY`
   */
  static async create(device: Device, rows: number): Promise<WarmDevice> {
    const words = Math.min(rows, MOST_WORDS)
    const random = await RandomWords.create(device)
    return new WarmDevice(device, random, await device.allocate(4 * words, 'keeping warm'), words)
  }

  destroy(): void {
    this.#buffer.destroy()
  }

  /** Keeps the device busy until it works as fast as under load. */
  async warmUp(stop: AbortSignal | undefined): Promise<void> {
    if (this.#device.facts.software) return
    const end = performance.now() + WARM_UP_MS
    let fastest = Number.POSITIVE_INFINITY
    do {
      const begin = performance.now()
      await this.#work(TOGETHER)
      fastest = Math.min(fastest, performance.now() - begin)
    } while (performance.now() < end && !stop?.aborted)
    this.#kernels = Math.max(1, Math.min(MOST_KERNELS, Math.ceil((TOGETHER * KEEP_WARM_MS) / fastest)))
  }

  /** Keeps it so; to be called before each run. */
  async keepWarm(): Promise<void> {
    if (!this.#device.facts.software) await this.#work(this.#kernels)
  }

  async #work(kernels: number): Promise<void> {
    const recorder = this.#device.record()
    for (let i = 0; i < kernels; i++) this.#random.record(recorder, this.#buffer, this.#words, i)
    recorder.submit()
    await this.#device.workDone()
  }
}
