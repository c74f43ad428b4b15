import type { Device } from '../../device/device.js'
import type { IndexShape } from '../../index-structure.js'
import type { Primitives } from '../../primitives/primitives.js'
import { BatchSort } from '../batch/sort.js'
import type { Builder } from '../delta/build.js'
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
import { NewTupleWriter } from './new-tuples.js'
import { OrderLinker } from './order-links.js'
import { PairMatcher } from './pairs.js'
import { PayloadWriter } from './payloads.js'
import { Planner } from './plan.js'
import { Resolver } from './resolve.js'
import { RunFinder } from './runs.js'

/** What writes to trees of one shape are made of. */
export interface Stages {
  readonly sort: BatchSort
  readonly runs: RunFinder
  readonly pairs: PairMatcher
  readonly resolver: Resolver
  readonly planner: Planner
  readonly entries: EntryLister
  readonly builder: Builder
  /** Only where keys have a variable length. */
  readonly keys: KeyWriter | undefined
  readonly payloads: PayloadWriter
  /** Only where keys have a fixed width. */
  readonly newTuples: NewTupleWriter | undefined
  readonly remover: Remover
  /** Only where tuples are linked in key order. */
  readonly linker: OrderLinker | undefined
  /** Only where trees may have a directory. */
  readonly directories: DirectoryKeeper | undefined
  /** Only for CSS-trees. */
  readonly separators: DirectoryBuilder | undefined
  readonly merge: RunMerge | undefined
  /** Only for CSS-trees over keys of fixed width. */
  readonly bulk: BulkBuild | undefined
}

/** @param locator finds keys by partitions, where trees of the shape have any */
export function createStages(
  device: Device,
  primitives: Primitives,
  index: IndexShape,
  locator: Locator | undefined,
): Stages {
  const shape = treeShape(index)
  const { payloadBytes, unique } = index
  const { css, linked, variable } = shape.conditions
  const merge = css ? new RunMerge(device, shape) : undefined
  return {
    sort: new BatchSort(device, primitives, shape),
    runs: new RunFinder(device, primitives, shape, locator),
    pairs: new PairMatcher(device, primitives, shape, payloadBytes),
    resolver: new Resolver(device, primitives, shape, payloadBytes),
    planner: new Planner(device, primitives, shape, unique),
    entries: new EntryLister(device, primitives, shape),
    builder: createBuilder(device, primitives, shape),
    keys: variable ? new KeyWriter(device, primitives, shape) : undefined,
    payloads: new PayloadWriter(device, shape, payloadBytes, unique),
    newTuples: variable ? undefined : new NewTupleWriter(device, shape, payloadBytes),
    remover: new Remover(device, shape),
    linker: linked ? new OrderLinker(device, shape) : undefined,
    directories: hasDirectory(shape) ? new DirectoryKeeper(device) : undefined,
    separators: css ? new DirectoryBuilder(device, shape) : undefined,
    merge,
    bulk: merge && !variable ? new BulkBuild(device, primitives, index, merge) : undefined,
  }
}
