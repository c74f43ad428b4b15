import type { Device } from '../../gpu/device/device.js'
import { toWarpdexError } from '../../protocol/errors.js'
import type { IndexDefinition } from '../../protocol/types.js'
import { type Costs, loadCosts, storeCosts, TRAVERSAL_COSTS } from './calibration.js'
import type { StructureFactory } from './structures.js'

export interface CalibratorOptions {
  /** The data directory. */
  readonly directory: string
  readonly structures: StructureFactory
  /** Whether to measure even where costs are on disk. */
  readonly recalibrate: boolean
  onWarning(message: string): void
}

/**
 * Gives a device what traversal strategies cost on it, before it holds the first index that has strategies to choose from: from disk,
 * or measured once and stored.
 */
export class Calibrator {
  readonly #options: CalibratorOptions
  readonly #provided = new WeakMap<Device, Promise<void>>()
  #recalibrate: boolean

  constructor(options: CalibratorOptions) {
    this.#options = options
    this.#recalibrate = options.recalibrate
  }

  /** Whatever fails is warned of: without costs, keys are found sequentially. */
  async provide(device: Device, { layout, partitionLevels }: IndexDefinition): Promise<void> {
    if (layout !== 'full' && partitionLevels === undefined) return
    let provided = this.#provided.get(device)
    if (provided === undefined) {
      provided = this.#calibrate(device).catch((thrown) => {
        const { message } = toWarpdexError(thrown)
        this.#options.onWarning(`the costs of the traversal strategies could not be measured: ${message}`)
      })
      this.#provided.set(device, provided)
    }
    await provided
  }

  /** Measures, and keeps what was measured, where there is something to measure. */
  async measure(device: Device): Promise<void> {
    const { directory, structures } = this.#options
    const costs = await structures.calibrate?.(device)
    if (costs === undefined) return
    device.traversalCosts = costs
    await storeCosts(TRAVERSAL_COSTS, directory, device.facts.name, costs)
    this.#recalibrate = false
  }

  async #calibrate(device: Device): Promise<void> {
    const { directory, onWarning } = this.#options
    let costs: Costs | undefined
    if (!this.#recalibrate) {
      costs = await loadCosts(TRAVERSAL_COSTS, directory, device.facts.name, onWarning)
    }
    if (costs === undefined) await this.measure(device)
    else device.traversalCosts = costs
  }
}
