import { ResultCode, WriteOp } from '../../../protocol/types.js'
import type { Device } from '../../device/device.js'
import type { Arena } from '../arena.js'
import type { Items } from '../batch/items.js'
import type { BatchWork } from '../batch/work.js'
import type { TreeShape } from '../layout.js'
import type { Locator, TraversalPlan } from '../partitions/locator.js'

/** Workgroups for payload lists that take one each; each works on one list after the other. */
export const LONG_LIST_GROUPS = 512

/**
 * Settles what becomes of sorted batches, without changing anything: groups items by key and finds each key (`runs.wesl`), matches pairs
 * (`pairs.wesl`), settles the outcome of every item (`resolve.wesl`), and decides where payloads go and what that takes (`plan.wesl`).
 */
export class Settler {
  readonly #unique: boolean
  readonly #locator: Locator | undefined
  readonly #seeds = crypto.getRandomValues(new Uint32Array(2))
  readonly #kernels: ReturnType<typeof kernelsOf>

  /** @param locator finds keys by partitions, where trees of the shape have any */
  constructor(device: Device, shape: TreeShape, unique: boolean, locator: Locator | undefined) {
    this.#unique = unique
    this.#locator = locator
    this.#kernels = kernelsOf(device, shape, locator !== undefined)
  }

  /**
   * Leaves result codes, a byte an item, in the order of the batch (`codes`; none where all items are inserted), and what `columns.wesl` lists
   * of runs.
   * @param plan how to find the runs' keys; one after the other down from the root without it
   */
  record(work: BatchWork, arena: Arena, items: Items, plan: TraversalPlan | undefined): void {
    this.#findRuns(work, arena, plan)
    if (items.hasPairs) this.#findPairs(work)
    this.#resolve(work, items)
    work.words('createRanks', work.count + 1)
    for (const name of ['extentOffsets', 'actions', 'longMoves']) work.words(name)
    work.dispatch(this.#kernels.plan_runs)
    work.scanWithTotal('createRanks', 'creates')
    if (!this.#unique) work.scan('extentOffsets', 'extentWords')
  }

  /** Marks the existing payloads dead that the batch deletes by pair. Changes the tree. */
  recordMarks(work: BatchWork): void {
    this.#matchPairs(work, 1)
  }

  #findRuns(work: BatchWork, arena: Arena, plan: TraversalPlan | undefined): void {
    const { count, recorder, scratch } = work
    const kernels = this.#kernels
    work.words('runsOf')
    work.words('starts', count + 1)
    work.dispatch(kernels.mark_heads)
    work.scan('runsOf', 'runs')
    work.dispatch(kernels.number_runs)
    work.words('places', 2 * count)
    work.words('existing')
    if (plan === undefined || this.#locator === undefined || kernels.take_located === undefined) {
      work.dispatch(kernels.locate_runs)
      return
    }
    const keys = { keys: work.column('keys'), heap: work.buffers.queryHeap }
    const ordered = { count, areOrdered: true }
    const { places, existing } = this.#locator.record({ recorder, scratch, arena }, plan, keys, ordered)
    Object.assign(work.buffers, { itemPlaces: places, itemTuples: existing })
    work.dispatch(kernels.take_located)
  }

  /** Orders the items and counts the existing payloads that each one names. */
  #findPairs(work: BatchWork): void {
    const { count, recorder, scratch, primitives } = work
    const [seed, seedOfRounds] = this.#seeds
    Object.assign(work.params, { seed, seedOfRounds })
    const hashes = work.words('hashes')
    work.dispatch(this.#kernels.hash_items)
    const byHash = primitives.sort(recorder, scratch, hashes, undefined, count, 1)
    const runs = scratch.words(count)
    primitives.gather(recorder, work.column('runsOf'), byHash.values, runs, count, 1)
    const bits = Math.max(1, Math.ceil(Math.log2(count)))
    const byRun = primitives.sort(recorder, scratch, runs, byHash.values, count, 1, { bits })
    work.buffers.pairOrder = byRun.values
    work.words('pairItems', 4 * count)
    work.buffers.matched = work.words('pairLinks', 2 * count)
    recorder.clear(work.words('runPairs'), 0, 4 * count)
    work.words('longRuns')
    work.dispatch(this.#kernels.link_pairs)
    this.#matchPairs(work, 0)
  }

  #matchPairs(work: BatchWork, mark: 0 | 1): void {
    work.params.mark = mark
    work.dispatch(this.#kernels.match_existing)
    work.dispatchGroups(this.#kernels.match_long, Math.min(LONG_LIST_GROUPS, work.count))
  }

  #resolve(work: BatchWork, { appends, allAlive, hasPairs, op }: Items): void {
    const { count, recorder, scratch, primitives } = work
    const { accept_appends: acceptAppends, resolve_runs: resolveRuns } = this.#kernels
    const aliveRanks = work.words('aliveRanks', count + 1)
    const deaths = work.words('deaths')
    if (appends) recorder.clear(deaths, 0, 4 * count)
    if (allAlive) {
      primitives.iota(recorder, aliveRanks, count + 1)
      work.countTotal('aliveRanks', 'payloadsAdded')
      return
    }
    const codes = scratch.bytes(count)
    work.buffers.codes = codes
    primitives.fill(recorder, codes, Math.ceil(count / 4), 0x01010101 * usualCode(op))
    if (!hasPairs) work.words('pairLinks', 2)
    work.dispatch(appends ? acceptAppends : resolveRuns)
    work.scanWithTotal('aliveRanks', 'payloadsAdded')
  }
}

/** The code of most items of a kind; `resolve.wesl` has the same one. */
function usualCode(op: number): number {
  const deletes = op === WriteOp.deleteKey || op === WriteOp.deletePair
  return deletes ? ResultCode.deleted : ResultCode.inserted
}

function kernelsOf(device: Device, { conditions }: TreeShape, hasLocator: boolean) {
  const runs = ['mark_heads', 'number_runs', 'locate_runs'] as const
  const pairs = ['hash_items', 'link_pairs', 'match_existing', 'match_long'] as const
  const serial = device.facts.software
  return {
    ...device.kernels('index/write/runs', runs, conditions),
    ...(hasLocator ? device.kernels('index/write/runs', ['take_located'], conditions) : {}),
    ...device.kernels('index/write/pairs', pairs, conditions),
    ...device.kernels('index/write/resolve', ['accept_appends', 'resolve_runs'], conditions),
    ...device.kernels('index/write/plan', ['plan_runs'], { ...conditions, serial }),
  }
}
