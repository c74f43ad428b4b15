import type { Device } from '../../device/device.js'
import { Primitives } from '../../primitives/primitives.js'
import { GeneratedKernels } from '../expressions/generated-kernels.js'
import { Joins } from '../joins/joins.js'
import { ColumnMeasurer } from '../order/column-facts.js'
import { GroupStarts } from '../order/row-groups.js'
import { Selections } from '../selection/selections.js'
import { AppendBits } from './append-bits.js'
import { Fetch } from './fetch.js'
import { RowPairsWriter } from './row-pairs.js'

type Make = (device: Device, primitives: Promise<Primitives>) => unknown

/** How each part is made, all at a time. */
const PARTS = {
  primitives: (_: Device, primitives: Promise<Primitives>) => primitives,
  /** Of rows' expressions, by their text. */
  generated: async (device: Device) => new GeneratedKernels(device),
  fetch: async (device: Device) => new Fetch(device),
  columnFacts: async (device: Device) => new ColumnMeasurer(device),
  groupStarts: async (device: Device) => new GroupStarts(device),
  appendBits: async (device: Device) => new AppendBits(device),
  rowPairs: async (device: Device) => new RowPairsWriter(device),
  joins: async (device: Device, primitives: Promise<Primitives>) => new Joins(device, await primitives),
  selections: (device: Device) => new Selections(device),
} satisfies Readonly<Record<string, Make>>

type Parts = typeof PARTS

/** The kernels that queries need beside each other, made once for a device. */
export type QueryKernels = { readonly [Part in keyof Parts]: Awaited<ReturnType<Parts[Part]>> }

export const QueryKernels = {
  /** @param primitives what the device's other users have, if there are any */
  async create(device: Device, primitives?: Primitives): Promise<QueryKernels> {
    const shared = primitives === undefined ? Primitives.create(device) : Promise.resolve(primitives)
    const makers: readonly (readonly [string, Make])[] = Object.entries(PARTS)
    const made = await Promise.all(
      makers.map(async ([name, make]) => [name, await make(device, shared)] as const),
    )
    await device.compiled()
    // `Object.entries` has forgotten which part is which; the type knows.
    return Object.fromEntries(made) as QueryKernels
  },
}
