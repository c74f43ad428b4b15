import type { Device } from '../../gpu/device/device.js'
import { toWarpdexError, WarpdexError } from '../../protocol/errors.js'
import { type CostKind, loadCosts, storeCosts } from './calibration.js'

export interface CalibratorOptions {
  /** The data directory. */
  readonly directory: string
  /** Whether to measure even where costs are on disk. */
  readonly recalibrate: boolean
  onWarning(message: string): void
}

/** How costs of a kind are measured, and where devices have them. */
export interface Measured<T> {
  readonly kind: CostKind<T>
  /** By what costs are told apart on disk. */
  adapterOf(device: Device): string
  /** Gives up, by throwing, once it is stopped; undefined where there is nothing to measure. */
  measure(device: Device, stop: AbortSignal): Promise<T | undefined>
  costsOf(device: Device): T | undefined
  keep(device: Device, costs: T | undefined): void
}

/** Gives devices costs of one kind, so that plans can be chosen by them: from disk, or measured once and stored. */
export class Calibrator<T> {
  readonly #options: CalibratorOptions
  readonly #measured: Measured<T>
  #recalibrate: boolean
  readonly #loaded = new WeakSet<Device>()
  readonly #provided = new WeakMap<Device, Promise<void>>()
  readonly #measuring = new Map<Device, Promise<T | undefined>>()
  readonly #stop = new AbortController()

  constructor(options: CalibratorOptions, measured: Measured<T>) {
    this.#options = options
    this.#measured = measured
    this.#recalibrate = options.recalibrate
  }

  /** Gives a device the costs that are on disk and may be used, if any are. */
  async load(device: Device): Promise<void> {
    const { directory, onWarning } = this.#options
    const { kind, adapterOf, keep } = this.#measured
    this.#loaded.add(device)
    const load = () => loadCosts(kind, directory, adapterOf(device), onWarning)
    keep(device, this.#recalibrate ? undefined : await load())
  }

  /** Has costs measured unless there are some. What fails is warned of, and not tried again on the device. */
  provide(device: Device): Promise<void> {
    const provided = this.#provided.get(device) ?? this.#provide(device)
    this.#provided.set(device, provided)
    return provided
  }

  async #provide(device: Device): Promise<void> {
    try {
      if (!this.#loaded.has(device)) await this.load(device)
      if (this.#measured.costsOf(device) === undefined) await this.measure(device)
    } catch (thrown) {
      if (!this.#stop.signal.aborted) this.#warn('could not be measured', thrown)
    }
  }

  /** Measures, and keeps what was measured; where it cannot be stored it warns. Those who ask meanwhile get the same. */
  measure(device: Device): Promise<T | undefined> {
    let measuring = this.#measuring.get(device)
    if (measuring === undefined) {
      measuring = this.#measure(device).finally(() => this.#measuring.delete(device))
      this.#measuring.set(device, measuring)
    }
    return measuring
  }

  /** Stops what is being measured. */
  async close(): Promise<void> {
    this.#stop.abort(new WarpdexError('SHUTTING_DOWN', 'the server is shutting down'))
    await Promise.allSettled(this.#measuring.values())
  }

  async #measure(device: Device): Promise<T | undefined> {
    const { kind, adapterOf, measure, keep } = this.#measured
    const { signal } = this.#stop
    signal.throwIfAborted()
    const costs = await measure(device, signal)
    if (costs === undefined) return undefined
    keep(device, costs)
    this.#recalibrate = false
    try {
      await storeCosts(kind, this.#options.directory, adapterOf(device), costs)
    } catch (thrown) {
      // They are in use all the same, until the server ends.
      this.#warn('were measured but could not be stored', thrown)
    }
    return costs
  }

  #warn(what: string, thrown: unknown): void {
    const { message } = toWarpdexError(thrown)
    this.#options.onWarning(`the costs of ${this.#measured.kind.of} ${what}: ${message}`)
  }
}
