import type { Device } from '../../device/device.js'
import { Primitives } from '../../primitives/primitives.js'
import { GeneratedKernels } from '../expressions/generated-kernels.js'
import { Joins } from '../joins/joins.js'
import { ColumnMeasurer } from '../order/column-facts.js'
import { GroupStarts } from '../order/row-groups.js'
import { Selections } from '../selection/selections.js'
import { LiveRowKernels } from '../stored/live-rows.js'
import { AppendBits } from './append-bits.js'
import { Fetch } from './fetch.js'

const known = new WeakMap<Device, Promise<QueryKernels>>()

/** Those of a device, made when they are first asked for. */
export function queryKernelsOf(device: Device): Promise<QueryKernels> {
  let kernels = known.get(device)
  if (kernels === undefined) {
    kernels = QueryKernels.create(device)
    known.set(device, kernels)
    // What failed for want of memory may succeed later.
    kernels.catch(() => known.delete(device))
  }
  return kernels
}

/** The kernels that queries need beside each other, made once for a device. */
export class QueryKernels {
  readonly primitives: Primitives
  /** Of rows' expressions, by their text. */
  readonly generated: GeneratedKernels
  readonly fetch: Fetch
  readonly columnFacts: ColumnMeasurer
  readonly groupStarts: GroupStarts
  readonly appendBits: AppendBits
  readonly joins: Joins
  readonly selections: Selections
  readonly liveRows: LiveRowKernels

  private constructor(device: Device, primitives: Primitives) {
    this.primitives = primitives
    this.generated = new GeneratedKernels(device)
    this.fetch = new Fetch(device)
    this.columnFacts = new ColumnMeasurer(device)
    this.groupStarts = new GroupStarts(device)
    this.appendBits = new AppendBits(device)
    this.joins = new Joins(device, primitives)
    this.selections = new Selections(device)
    this.liveRows = new LiveRowKernels(device)
  }

  /**
   * Makes them, compiled.
   * @param primitives what the device's other users have, if there are any
   */
  static async create(device: Device, primitives?: Primitives): Promise<QueryKernels> {
    const kernels = new QueryKernels(device, primitives ?? (await Primitives.create(device)))
    await device.compiled()
    return kernels
  }
}
