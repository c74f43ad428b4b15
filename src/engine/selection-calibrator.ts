import type { Device } from '../../gpu/device/device.js'
import { toWarpdexError, WarpdexError } from '../../protocol/errors.js'
import type { SelectionCosts } from '../../protocol/query/selection-costs.js'
import { loadCosts, SELECTION_COSTS, storeCosts } from './calibration.js'

/** Measures what selections cost on a device; gives up, by throwing, once it is stopped. */
export type MeasureSelections = (device: Device, stop: AbortSignal) => Promise<SelectionCosts>

export interface SelectionCalibratorOptions {
  /** The data directory. */
  readonly directory: string
  readonly measure: MeasureSelections
  /** Whether to measure even where costs are on disk. */
  readonly recalibrate: boolean
  onWarning(message: string): void
}

/**
 * Gives devices what selections cost on them: from disk when they are opened, or measured in the background once a selection is large enough
 * to gain by it. Until then selections are planned with default costs.
 */
export class SelectionCalibrator {
  readonly #options: SelectionCalibratorOptions
  readonly #measuring = new Map<Device, Promise<SelectionCosts>>()
  readonly #asked = new WeakSet<Device>()
  readonly #stop = new AbortController()

  constructor(options: SelectionCalibratorOptions) {
    this.#options = options
  }

  /** Gives a device the costs that are on disk, if any are. */
  async load(device: Device): Promise<void> {
    const { directory, recalibrate, onWarning } = this.#options
    device.selectionCosts = recalibrate
      ? undefined
      : await loadCosts(SELECTION_COSTS, directory, adapterOf(device), onWarning)
  }

  /** Has costs measured unless there are some; nobody waits for them. What fails is warned of, and not tried again on the device. */
  want(device: Device): void {
    if (device.selectionCosts !== undefined || this.#asked.has(device)) return
    this.#asked.add(device)
    this.measure(device).catch((thrown) => {
      if (this.#stop.signal.aborted) return
      const { message } = toWarpdexError(thrown)
      this.#options.onWarning(`the costs of selections could not be measured: ${message}`)
    })
  }

  /** Measures, and keeps what was measured; where it cannot be stored it warns. Those who ask meanwhile get the same. */
  measure(device: Device): Promise<SelectionCosts> {
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

  async #measure(device: Device): Promise<SelectionCosts> {
    const { signal } = this.#stop
    signal.throwIfAborted()
    const costs = await this.#options.measure(device, signal)
    device.selectionCosts = costs
    await this.#store(device, costs)
    return costs
  }

  /** Costs that cannot be stored are in use all the same, until the server ends. */
  async #store(device: Device, costs: SelectionCosts): Promise<void> {
    const { directory, onWarning } = this.#options
    try {
      await storeCosts(SELECTION_COSTS, directory, adapterOf(device), costs)
    } catch (thrown) {
      const { message } = toWarpdexError(thrown)
      onWarning(`the costs of selections were measured but could not be stored: ${message}`)
    }
  }
}

/** Another driver may compile the same kernels into slower or faster ones. */
function adapterOf({ facts: { name, driver } }: Device): string {
  return driver === '' || driver === name ? name : `${name}, ${driver}`
}
