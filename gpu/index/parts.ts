import type { Device } from '../device/device.js'
import type { Recorder } from '../device/recorder.js'
import type { IndexShape } from '../index-structure.js'
import type { Scratch } from '../memory/scratch.js'
import { OnDemand } from '../primitives/on-demand.js'
import { Primitives } from '../primitives/primitives.js'
import type { ArenaContent } from './arena.js'
import { DirectoryKeeper, hasDirectory } from './delta/directory.js'
import { treeShape } from './layout.js'
import { DirectoryBuilder } from './main/directory.js'
import { MergeOrder } from './main/merge-order.js'
import { Locator } from './partitions/locator.js'
import { TraversalPlanner } from './partitions/traversal-planner.js'
import { Traversals } from './partitions/traversals.js'
import { TreeReader } from './read/tree-reader.js'
import { Compactor, type TupleOrder } from './write/compact.js'
import { Cutter } from './write/cut.js'
import { LiveOrder } from './write/live-order.js'
import { TreeWriter } from './write/tree-writer.js'

/** What works on trees of one shape and holds nothing of any. */
export interface Parts {
  readonly reader: TreeReader
  readonly writer: TreeWriter
  readonly compactor: Compactor
  /** Made when the first tree is cut, which most never are. */
  readonly cutter: () => Promise<Cutter>
  /** Only where trees may have a directory. */
  readonly directories: DirectoryKeeper | undefined
  /** Only for CSS-trees. */
  readonly separators: DirectoryBuilder | undefined
  readonly traversals: Traversals
  /** Only where trees have partitions. */
  readonly locator: Locator | undefined
  readonly findOrder: (
    recorder: Recorder,
    scratch: Scratch,
    arena: ArenaContent,
    tuples: number,
  ) => Promise<TupleOrder>
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
  const { form, partitionLevels } = tree
  const locator = partitionLevels === undefined ? undefined : await Locator.create(device, primitives, tree)
  const [reader, writer, compactor, directories, liveOrder] = await Promise.all([
    TreeReader.create(device, primitives, shape, locator),
    TreeWriter.create(device, primitives, shape, locator),
    Compactor.create(device, primitives, tree),
    hasDirectory(tree) ? DirectoryKeeper.create(device) : undefined,
    form === undefined ? undefined : LiveOrder.create(device, primitives, tree, form),
  ])
  const traversals = new Traversals(device, locator, new TraversalPlanner(device, tree))
  const hungOrder: Parts['findOrder'] = async (recorder, scratch, arena, tuples) =>
    liveOrder?.order(recorder, scratch, arena, tuples) ?? {
      recorder,
      tuples: reader.order(recorder, scratch, arena, tuples),
    }
  const { css } = tree.conditions
  const [separators, mergeOrder] = await Promise.all([
    css ? DirectoryBuilder.create(device, tree) : undefined,
    css ? MergeOrder.create(device, primitives, tree, hungOrder) : undefined,
  ])
  const findOrder: Parts['findOrder'] = (...args) => mergeOrder?.order(...args) ?? hungOrder(...args)
  let cutter: Promise<Cutter> | undefined
  const provideCutter = () => {
    cutter ??= Cutter.create(device, primitives, shape, compactor)
    return cutter
  }
  return {
    reader,
    writer,
    compactor,
    cutter: provideCutter,
    directories,
    separators,
    locator,
    traversals,
    findOrder,
  }
}
