import type { Device, Kernels } from '../../../gpu/device/device.js'
import type { Recorder } from '../../../gpu/device/recorder.js'
import type { DeviceMemory } from '../../../gpu/memory/page-run.js'
import type { Scratch } from '../../../gpu/memory/scratch.js'
import { PAPER_KERNELS } from '../kernels.js'
import { Cut, type SortedTuples } from './cut.js'
import { type CtaJoin, ctaJoinConditions, type Joined } from './join.js'

/** Pools at most: as many as a device has workgroups at a time, so that all of them are filled side by side. */
const MOST_POOLS = 1024

/** Tuples of a page unless said otherwise: filling one takes a workgroup far longer than taking it. */
const PAGE_ROWS = 4096

const NONE = 0xffff_ffff

export interface PageOptions {
  readonly pageRows?: number
  /** Pages that there are; unless given as many as the larger relation would take, and one for each pool. */
  readonly pages?: number
}

/** A relation as a list of pages, each workgroup's behind those of the one before. */
export interface PageList extends Joined {
  readonly pageRows: number
  readonly pages: number
  /** Workgroups. */
  readonly poolCount: number
  readonly pools: DeviceMemory
  readonly table: DeviceMemory
  readonly used: DeviceMemory
}

/** JOIN into a list of pages (`join-pages.wesl`): neither a count before nor a gather behind. */
export class JoinPages {
  readonly #cut: Cut
  readonly #kernels: Kernels<'join_into_pages'>

  constructor(device: Device, algorithm: CtaJoin) {
    const conditions = ctaJoinConditions(algorithm)
    this.#cut = new Cut(device)
    this.#kernels = device.kernels('diamos/join-pages', ['join_into_pages'], conditions, PAPER_KERNELS)
  }

  record(
    recorder: Recorder,
    scratch: Scratch,
    first: SortedTuples,
    second: SortedTuples,
    { pageRows = PAGE_ROWS, pages }: PageOptions = {},
  ): PageList {
    const { tiles, cuts } = this.#cut.record(recorder, scratch, first, second)
    const share = Math.max(1, Math.ceil(tiles / MOST_POOLS))
    const poolCount = Math.ceil(tiles / share)
    const most = pages ?? poolCount + Math.ceil(Math.max(first.count, second.count) / pageRows)
    const list = {
      keys: scratch.words(Math.max(1, most * pageRows)),
      payloads: scratch.words(Math.max(1, 2 * most * pageRows)),
      pageRows,
      pages: most,
      poolCount,
      pools: scratch.words(Math.max(1, poolCount)),
      table: scratch.words(Math.max(1, 2 * most)),
      used: scratch.words(1),
    }
    recorder.clear(list.used, 0, 4)
    const buffers = {
      firstKeys: first.keys,
      secondKeys: second.keys,
      firstPayloads: first.payloads,
      secondPayloads: second.payloads,
      cuts,
      outKeys: list.keys,
      outPayloads: list.payloads,
      pools: list.pools,
      table: list.table,
      used: list.used,
    }
    const total = first.count + second.count
    const params = { tiles, total, pools: poolCount, share, pageRows, pages: most }
    recorder.dispatchGroups(this.#kernels.join_into_pages, buffers, params, poolCount)
    return list
  }
}

/**
 * The tuples of a list in its order.
 * @throws Error if the pages were too few
 */
export async function readPages(
  device: Device,
  list: PageList,
): Promise<{ readonly keys: Uint32Array; readonly payloads: Uint32Array }> {
  const [used] = await device.readWords(list.used, 1)
  if (used! > list.pages) throw new Error(`${used} pages were taken of ${list.pages}`)
  const [pools, table, keys, payloads] = await Promise.all([
    device.readWords(list.pools, list.poolCount),
    device.readWords(list.table, 2 * used!),
    device.readWords(list.keys, used! * list.pageRows),
    device.readWords(list.payloads, 2 * used! * list.pageRows),
  ])
  const places: (readonly [begin: number, end: number])[] = []
  for (const first of pools) {
    for (let page = first; page !== NONE; page = table[2 * page]!) {
      const begin = page * list.pageRows
      places.push([begin, begin + table[2 * page + 1]!])
    }
  }
  return { keys: piecesOf(keys, places, 1), payloads: piecesOf(payloads, places, 2) }
}

function piecesOf(
  words: Uint32Array,
  places: readonly (readonly [number, number])[],
  width: number,
): Uint32Array {
  const found = new Uint32Array(width * places.reduce((sum, [begin, end]) => sum + end - begin, 0))
  let at = 0
  for (const [begin, end] of places) {
    found.set(words.subarray(width * begin, width * end), at)
    at += width * (end - begin)
  }
  return found
}
