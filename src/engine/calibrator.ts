import type { Device } from '../../gpu/device/device.js'
import { toWarpdexError } from '../../protocol/errors.js'
import type { IndexDefinition } from '../../protocol/types.js'
import { type Costs, loadCosts, storeCosts } from './calibration.js'
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

  async #calibrate(device: Device): Promise<void> {
    const { directory, structures, onWarning } = this.#options
    const { name } = device.facts
    let costs: Costs | undefined
    if (!this.#recalibrate) costs = await loadCosts(directory, name, onWarning)
    if (costs === undefined) {
      costs = await structures.calibrate?.(device)
      if (costs === undefined) return
      await storeCosts(directory, name, costs)
      this.#recalibrate = false
    }
    device.traversalCosts = costs
  }
}
