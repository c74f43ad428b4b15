import type { Device } from '../../device/device.js'
import type { TreeReads } from '../../device-reads.js'
import type { IndexShape, ReadOp } from '../../index-structure.js'
import type { Primitives } from '../../primitives/primitives.js'
import type { Arena } from '../arena.js'
import type { Locator } from '../partitions/locator.js'
import { Traversals } from '../partitions/traversals.js'
import { BreadthFirst } from './breadth-first.js'
import { Count } from './count.js'
import { CountRanges } from './count-ranges.js'
import { Due } from './due.js'
import { Explain } from './explain.js'
import { Get } from './get.js'
import { GetAll } from './get-all.js'
import { GetNext } from './get-next.js'
import { PayloadHits } from './payload-hits.js'
import { ReadContext } from './read-context.js'
import type { ReadOperation } from './read-operation.js'
import { Scan } from './scan.js'
import { ScanResultWriter } from './scan-result.js'

/** The reads of trees of one shape. */
export interface Reads {
  readonly operations: Readonly<{ [Op in ReadOp]: ReadOperation<Op> }>
  readonly context: ReadContext
  readonly get: Get
  readonly getAll: GetAll
  readonly count: Count
  readonly scan: Scan
  /** Only where trees have partitions. */
  readonly traversals: Traversals | undefined
  /** Goes through all levels of a tree, where they are not too many. */
  readonly breadthFirst: BreadthFirst | undefined
}

/** @param locator finds keys by partitions, where trees of the shape have any */
export function createReads(
  device: Device,
  primitives: Primitives,
  shape: IndexShape,
  locator?: Locator,
): Reads {
  const context = new ReadContext(device, primitives, shape, locator)
  const { tree } = context
  const payloadHits = new PayloadHits(context)
  const result = new ScanResultWriter(context)
  const breadthFirst = tree.form === undefined ? new BreadthFirst(context, payloadHits) : undefined
  // The first entries of a range may lie behind any number of nodes that other lanes of a coalesced tree have brought.
  const widely = tree.conditions.coalesced ? undefined : breadthFirst
  const traversals = locator && new Traversals(device, tree, locator)
  const get = new Get(context)
  const getAll = new GetAll(context, payloadHits, result)
  const count = new Count(context)
  const scan = new Scan(context, widely, result, payloadHits)
  const getNext = new GetNext(context)
  const explain = new Explain(context, traversals)
  const countRanges = new CountRanges(context)
  const due = new Due(context)
  const operations = { get, getAll, count, getNext, scan, countRanges, explain, due }
  return { operations, context, get, getAll, count, scan, traversals, breadthFirst }
}

/** What records reads of an arena whose answers stay on the device. */
export function deviceReads(
  { context, get, count, getAll, scan }: Reads,
  arena: Arena,
  payloads: number,
  plan: TreeReads['plan'],
): TreeReads {
  return {
    payloads,
    scansWide: scan.isWide(arena),
    queries: (recorder, scratch, keys) => context.queries(recorder, scratch, keys),
    plan,
    get: (recorder, scratch, columns, plan) => get.record({ recorder, scratch, arena }, columns, plan),
    count: (recorder, queries, counts, keys, own) =>
      count.record(recorder, arena, queries, counts, keys, own),
    getAll: (recorder, scratch, queries, keys, limit) =>
      getAll.record({ recorder, scratch, arena }, queries, keys, limit),
    scan: (recorder, scratch, ranges) => scan.recordParts({ recorder, scratch, arena }, ranges),
  }
}
