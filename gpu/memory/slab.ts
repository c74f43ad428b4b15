import { FreePages } from './free-pages.js'
import type { PageRun } from './page-run.js'

/** Bytes of a page: a multiple of what adapters want of the offsets of bindings, and small, because most indexes of a server are. */
export const PAGE_BYTES = 1024

/**
 * What a slab holds. A dispatch may not bind one buffer as read-only and as writable, so kernels that write one sort read another. Those that
 * read what they write elsewhere bind it as writable, too.
 *
 * - `tree`: nodes, their heads, tuples and payload extents
 * - `keys`: the keys of tuples
 * - `derived`: what is found out about these: their order, partitions, which tuples are removed
 * - `columns`: of relations
 * - `copies`: of any of these at one moment, which are written by copying alone, from slabs of other sorts; and strings of relations
 */
export type SlabSort = (typeof SORTS)[number]

export const SORTS = ['tree', 'keys', 'derived', 'columns', 'copies'] as const

/** Pages next to each other in a slab. */
export interface Pages {
  readonly slab: Slab
  /** Number of the first one. */
  readonly first: number
}

/** A buffer of many pages. */
export class Slab {
  readonly sort: SlabSort
  readonly number: number
  readonly buffer: GPUBuffer
  readonly pages: number
  readonly free: FreePages
  /** What is handed out. */
  readonly runs = new Set<PageRun>()
  /** Gives it back when it is long unused. */
  unusedTimer: NodeJS.Timeout | undefined
  /** Pages that were handed out at any time: those behind them are zero. */
  #used = 0

  constructor(sort: SlabSort, number: number, buffer: GPUBuffer) {
    this.sort = sort
    this.number = number
    this.buffer = buffer
    this.pages = pagesFor(buffer.size)
    this.free = new FreePages(this.pages)
  }

  /** Notes that pages are handed out; how many of them somebody had before. */
  use(first: number, pages: number): number {
    const dirty = Math.min(first + pages, this.#used) - first
    this.#used = Math.max(this.#used, first + pages)
    return Math.max(0, dirty)
  }
}

export function pagesFor(bytes: number): number {
  return Math.max(1, Math.ceil(bytes / PAGE_BYTES))
}
