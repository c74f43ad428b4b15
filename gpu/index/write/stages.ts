import type { Device } from '../../device/device.js'
import type { IndexShape } from '../../index-structure.js'
import type { Primitives } from '../../primitives/primitives.js'
import { BatchSort } from '../batch/sort.js'
import { createBuilder } from '../delta/create-builder.js'
import { DirectoryKeeper, hasDirectory } from '../delta/directory.js'
import { EntryLister } from '../delta/entries.js'
import { Remover } from '../delta/remove.js'
import { treeShape } from '../layout.js'
import { BulkBuild } from '../main/bulk-build.js'
import { DirectoryBuilder } from '../main/directory.js'
import { RunMerge } from '../main/merge-run.js'
import type { Locator } from '../partitions/locator.js'
import { KeyWriter } from './created-keys.js'
import { OrderLinker } from './order-links.js'
import { PairMatcher } from './pairs.js'
import { PayloadWriter } from './payloads.js'
import { Planner } from './plan.js'
import { Resolver } from './resolve.js'
import { RunFinder } from './runs.js'

/** What writes to trees of one shape are made of. */
export type Stages = ReturnType<typeof createStages>

/** @param locator finds keys by partitions, where trees of the shape have any */
export function createStages(
  device: Device,
  primitives: Primitives,
  index: IndexShape,
  locator: Locator | undefined,
) {
  const shape = treeShape(index)
  const { payloadBytes, unique } = index
  const { css, linked, variable } = shape.conditions
  const merge = css ? new RunMerge(device, shape) : undefined
  return {
    sort: new BatchSort(device, primitives, shape),
    runs: new RunFinder(device, shape, locator),
    pairs: new PairMatcher(device, primitives, shape),
    resolver: new Resolver(device, primitives, shape),
    planner: new Planner(device, shape, unique),
    entries: new EntryLister(device, primitives, shape),
    builder: createBuilder(device, shape),
    payloads: new PayloadWriter(device, shape, payloadBytes, unique),
    remover: new Remover(device, shape),
    /** Only where keys have a variable length. */
    keys: variable ? new KeyWriter(device, shape) : undefined,
    /** Only where tuples are linked in key order. */
    linker: linked ? new OrderLinker(device, shape) : undefined,
    /** Only where trees may have a directory. */
    directories: hasDirectory(shape) ? new DirectoryKeeper(device) : undefined,
    /** Only for CSS-trees. */
    separators: css ? new DirectoryBuilder(device, shape) : undefined,
    merge,
    /** Only for CSS-trees over keys of fixed width. */
    bulk: merge && !variable ? new BulkBuild(device, primitives, index, merge) : undefined,
  }
}
