import type { Device } from '../../gpu/device/device.js'
import { calibrateSelections } from '../../gpu/relational/selection/calibrate.js'
import type { ReplyFields } from '../../protocol/replies.js'
import { Calibrator } from './calibrator.js'
import type { EngineOptions } from './engine-options.js'
import { SelectionCalibrator } from './selection-calibrator.js'
import type { StructureFactory } from './structures.js'

/** What is measured on the devices of an engine, so that plans can be chosen by it. */
export class Calibrations {
  readonly traversals: Calibrator
  readonly selections: SelectionCalibrator

  constructor(options: EngineOptions, structures: StructureFactory) {
    const { directory, recalibrate = false, measureSelections: measure = calibrateSelections } = options
    const onWarning = (message: string) => options.onWarning?.(message)
    this.traversals = new Calibrator({ directory, recalibrate, onWarning, structures })
    this.selections = new SelectionCalibrator({ directory, recalibrate, onWarning, measure })
  }

  /**
   * What is known of a device.
   * @param again measures anew what there is, and selections in any case; takes seconds
   */
  async report(device: Device, again: boolean): Promise<ReplyFields['calibrate']> {
    if (again) {
      if (device.traversalCosts !== undefined) await this.traversals.measure(device)
      await this.selections.measure(device)
    }
    const { facts, traversalCosts: traversals, selectionCosts: selections } = device
    const { name, driver, software } = facts
    return {
      adapter: { name, driver, software },
      ...(traversals === undefined ? {} : { traversals }),
      ...(selections === undefined ? {} : { selections }),
    }
  }
}
