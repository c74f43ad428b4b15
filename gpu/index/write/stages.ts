import type { Device } from '../../device/device.js'
import type { IndexShape } from '../../index-structure.js'
import type { Primitives } from '../../primitives/primitives.js'
import type { Builder } from '../delta/build.js'
import { createBuilder } from '../delta/create-builder.js'
import { DirectoryKeeper, hasDirectory } from '../delta/directory.js'
import { EntryLister } from '../delta/entries.js'
import { OrderLinker } from '../delta/order-links.js'
import { Remover } from '../delta/remove.js'
import { treeShape } from '../layout.js'
import { BulkBuild } from '../main/bulk-build.js'
import { DirectoryBuilder } from '../main/directory.js'
import { RunMerge } from '../main/merge-run.js'
import type { Locator } from '../partitions/locator.js'
import { KeyWriter } from './created-keys.js'
import { NewTupleWriter } from './new-tuples.js'
import { PairMatcher } from './pairs.js'
import { PayloadWriter } from './payloads.js'
import { Planner } from './plan.js'
import { Resolver } from './resolve.js'
import { RunFinder } from './runs.js'

/** What writes to trees of one shape are made of. */
export interface Stages {
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
  /** Only for CSS-trees that can be made so. */
  readonly bulk: BulkBuild | undefined
}

/** @param locator finds keys by partitions, where trees of the shape have any */
export async function createStages(
  device: Device,
  primitives: Primitives,
  index: IndexShape,
  locator: Locator | undefined,
): Promise<Stages> {
  const shape = treeShape(index)
  const { payloadBytes, unique } = index
  const { css, linked } = shape.conditions
  const variable = shape.form !== undefined
  const merging = css ? RunMerge.create(device, shape) : undefined
  const [runs, pairs, resolver, planner, entries, builder, keys, payloads, newTuples, remover] =
    await Promise.all([
      RunFinder.create(device, primitives, shape, locator),
      PairMatcher.create(device, primitives, shape, payloadBytes),
      Resolver.create(device, primitives, shape, payloadBytes),
      Planner.create(device, primitives, shape, unique),
      EntryLister.create(device, primitives, shape),
      createBuilder(device, primitives, shape),
      variable ? KeyWriter.create(device, primitives, shape) : undefined,
      PayloadWriter.create(device, shape, payloadBytes, unique),
      variable ? undefined : NewTupleWriter.create(device, shape, payloadBytes),
      Remover.create(device, shape),
    ])
  const [linker, directories, separators, merge, bulk] = await Promise.all([
    linked ? OrderLinker.create(device, shape) : undefined,
    hasDirectory(shape) ? DirectoryKeeper.create(device) : undefined,
    css ? DirectoryBuilder.create(device, shape) : undefined,
    merging,
    merging?.then((merge) => BulkBuild.create(device, primitives, index, merge)),
  ])
  const common = { runs, pairs, resolver, planner, entries, builder, keys, payloads, newTuples, remover }
  return { ...common, linker, directories, separators, merge, bulk }
}
