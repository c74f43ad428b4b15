import type { Device } from '../device/device.js'
import type { IndexShape } from '../index-structure.js'
import { OnDemand } from '../primitives/on-demand.js'
import { Primitives } from '../primitives/primitives.js'
import { hasTop, TopKeeper } from './delta/top.js'
import { EntryExport } from './entries/export.js'
import { Renumbering } from './entries/renumber.js'
import { treeShape } from './layout.js'
import { DirectoryBuilder } from './main/directory.js'
import { mergeOrder } from './main/merge-order.js'
import { Locator } from './partitions/locator.js'
import type { Traversals } from './partitions/traversals.js'
import { createReads, type Reads } from './read/reads.js'
import { Compactor } from './write/compact.js'
import { Cutter } from './write/cut.js'
import { liveOrder } from './write/live-order.js'
import { TreeWriter } from './write/tree-writer.js'

/** What works on trees of one shape and holds nothing of any. */
export interface Parts {
  readonly reads: Reads
  readonly writer: TreeWriter
  readonly compactor: Compactor
  /** Made when the first tree is cut, which most never are. */
  readonly cutter: () => Cutter
  /** Made for the first snapshot. */
  readonly entryExport: () => EntryExport
  /** Only of indexes that are not unique. */
  readonly renumbering: Renumbering | undefined
  /** Only where trees may have a table of their top. */
  readonly tops: TopKeeper | undefined
  /** Only for CSS-trees. */
  readonly separators: DirectoryBuilder | undefined
  /** Only where trees have partitions. */
  readonly traversals: Traversals | undefined
  /** Only where trees have partitions. */
  readonly locator: Locator | undefined
}

/** The parts of each device by shape: making them again for each of thousands of trees would take longer than all else. */
const partsByDevice = new WeakMap<Device, OnDemand<IndexShape, Parts>>()

/** The parts for trees of a shape, made once. */
export function partsFor(device: Device, shape: IndexShape): Promise<Parts> {
  const parts = partsByDevice.get(device) ?? new OnDemand((shape) => makeParts(device, shape))
  partsByDevice.set(device, parts)
  return parts.get(shape)
}

async function makeParts(device: Device, shape: IndexShape): Promise<Parts> {
  const primitives = await Primitives.create(device)
  const tree = treeShape(shape)
  const { partitionLevels, conditions } = tree
  const locator = partitionLevels === undefined ? undefined : new Locator(device, primitives, tree)
  const reads = createReads(device, primitives, shape, locator)
  const deltaOrder = liveOrder(device, primitives, tree, reads.breadthFirst)
  const findOrder = conditions.css ? mergeOrder(device, primitives, tree, deltaOrder) : deltaOrder
  const compactor = new Compactor(device, primitives, tree, findOrder)
  let cutter: Cutter | undefined
  let entryExport: EntryExport | undefined
  const parts: Parts = {
    reads,
    writer: new TreeWriter(device, primitives, shape, locator),
    entryExport: () => {
      entryExport ??= new EntryExport(device, primitives, shape, findOrder)
      return entryExport
    },
    renumbering: shape.unique ? undefined : new Renumbering(device, reads.context),
    compactor,
    cutter: () => {
      cutter ??= new Cutter(reads.context, compactor, findOrder)
      return cutter
    },
    tops: hasTop(tree) ? new TopKeeper(device) : undefined,
    separators: conditions.css ? new DirectoryBuilder(device, tree) : undefined,
    locator,
    traversals: reads.traversals,
  }
  await device.compiled()
  return parts
}
