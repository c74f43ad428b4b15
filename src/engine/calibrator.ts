import type { Device } from '../../gpu/device/device.js'
import { toWarpdexError, WarpdexError } from '../../protocol/errors.js'
import { type CostField, type CostKind, type CostsOf, loadCosts, storeCosts } from './calibration.js'
import type { EngineOptions } from './engine-options.js'

/** Measures costs on a device. Gives up, by throwing, once it is stopped; undefined where there is nothing to measure. */
type Measure<F extends CostField> = (device: Device, stop: AbortSignal) => Promise<CostsOf<F> | undefined>

/** Gives devices costs of one kind, so that plans can be chosen by them: from disk, or measured once and stored. */
export class Calibrator<F extends CostField> {
  readonly #kind: CostKind<F>
  readonly #options: EngineOptions
  readonly #measureOn: Measure<F>
  #recalibrate: boolean
  readonly #loaded = new WeakSet<Device>()
  readonly #provided = new WeakMap<Device, Promise<void>>()
  readonly #measuring = new Map<Device, Promise<void>>()
  readonly #stop = new AbortController()

  constructor(kind: CostKind<F>, options: EngineOptions, measure: Measure<F>) {
    this.#kind = kind
    this.#options = options
    this.#measureOn = measure
    this.#recalibrate = options.recalibrate ?? false
  }

  /** Gives a device the costs that are on disk and may be used, if any are. */
  async load(device: Device): Promise<void> {
    const { directory, onWarning = () => {} } = this.#options
    const { field, adapterOf } = this.#kind
    this.#loaded.add(device)
    const load = () => loadCosts(this.#kind, directory, adapterOf(device.facts), onWarning)
    device[field] = this.#recalibrate ? undefined : await load()
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
      if (device[this.#kind.field] === undefined) await this.measure(device)
    } catch (thrown) {
      if (!this.#stop.signal.aborted) this.#warn('could not be measured', thrown)
    }
  }

  /** Measures, and keeps what was measured; where it cannot be stored it warns. Those who ask meanwhile get the same. */
  measure(device: Device): Promise<void> {
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

  async #measure(device: Device): Promise<void> {
    const { field, adapterOf } = this.#kind
    const { signal } = this.#stop
    signal.throwIfAborted()
    const costs = await this.#measureOn(device, signal)
    if (costs === undefined) return
    device[field] = costs
    this.#recalibrate = false
    try {
      await storeCosts(this.#kind, this.#options.directory, adapterOf(device.facts), costs)
    } catch (thrown) {
      // They are in use all the same, until the server ends.
      this.#warn('were measured but could not be stored', thrown)
    }
  }

  #warn(what: string, thrown: unknown): void {
    const { message } = toWarpdexError(thrown)
    this.#options.onWarning?.(`the costs of ${this.#kind.of} ${what}: ${message}`)
  }
}
