import type { Device } from '../../gpu/device/device.js'
import { calibrateSelections } from '../../gpu/relational/selection/calibrate.js'
import type { SelectionCosts } from '../../protocol/query/selection-costs.js'
import type { ReplyFields } from '../../protocol/replies.js'
import { type Costs, SELECTION_COSTS, TRAVERSAL_COSTS } from './calibration.js'
import { Calibrator } from './calibrator.js'
import type { EngineOptions } from './engine-options.js'
import type { StructureFactory } from './structures.js'

/** What is measured on the devices of an engine. */
export class Calibrations {
  /** Of traversal strategies, before a device holds the first index that has some to choose from. */
  readonly traversals: Calibrator<Costs>
  /** Of selections: measured once one is large enough to gain by it; until then they are planned with default costs. */
  readonly selections: Calibrator<SelectionCosts>

  constructor(given: EngineOptions, structures: StructureFactory) {
    const { directory, recalibrate = false, measureSelections = calibrateSelections } = given
    const options = { directory, recalibrate, onWarning: (message: string) => given.onWarning?.(message) }
    this.traversals = new Calibrator(options, {
      kind: TRAVERSAL_COSTS,
      adapterOf: ({ facts }) => facts.name,
      measure: async (device) => structures.calibrate?.(device),
      costsOf: ({ traversalCosts }) => traversalCosts,
      keep: (device, costs) => {
        device.traversalCosts = costs
      },
    })
    this.selections = new Calibrator(options, {
      kind: SELECTION_COSTS,
      // Another driver may compile the same kernels into slower or faster ones.
      adapterOf: ({ facts: { name, driver } }) =>
        driver === '' || driver === name ? name : `${name}, ${driver}`,
      measure: measureSelections,
      costsOf: ({ selectionCosts }) => selectionCosts,
      keep: (device, costs) => {
        device.selectionCosts = costs
      },
    })
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
