import { FreePages } from './free-pages.js'
import { PageRun } from './page-run.js'

/** Bytes of a page: a multiple of what adapters want of the offsets of bindings, and small, because most indexes of a server are. */
export const PAGE_BYTES = 1024

/** A slab has at least so many bytes. */
const SMALLEST_SLAB = 2 ** 20

/** A slab that nobody has used for so long is given back. */
const UNUSED_MS = 60_000

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

/** What a pool needs of its device. */
export interface SlabMaker {
  /** Bytes of the largest slab that is made ahead of need. */
  readonly mostBytes: number
  /** Bytes of the largest run. */
  readonly mostRunBytes: number
  /**
   * Makes a storage buffer of zeros.
   * @throws WarpdexError `OUT_OF_DEVICE_MEMORY`
   */
  create(bytes: number, label: string): GPUBuffer
  /** As `create`, but nothing makes room for it: undefined where there is none. */
  createAhead(bytes: number, label: string): GPUBuffer | undefined
  /** Calls back when the device has had nothing to do for a while. */
  whenIdle(call: () => void): void
  /** Zeroes bytes before what is submitted next. */
  clear(buffer: GPUBuffer, offset: number, bytes: number): void
}

interface Slab {
  readonly key: string
  readonly buffer: GPUBuffer
  readonly pages: number
  readonly free: FreePages
  /** Pages that were handed out at any time: those behind them are zero. */
  used: number
  /** What is handed out. */
  readonly runs: Set<PageRun>
  /** Gives it back when it is long unused. */
  unusedTimer: NodeJS.Timeout | undefined
}

/** What a pool has of one sort. */
export interface SlabFigures {
  readonly sort: SlabSort
  readonly slabs: number
  readonly bytes: number
  /** Bytes of pages that nobody has. */
  readonly freeBytes: number
}

/**
 * Device memory in pages (Volk §4.2): slabs are buffers of many pages, and what an owner has is a run of them. So hardly any allocation makes a
 * buffer, which takes a GPU longer than filling it, and what grows goes on in the pages behind it where they are free.
 */
export class PagePool {
  readonly #maker: SlabMaker
  readonly #slabs = new Map<SlabSort, Slab[]>()
  readonly #placed = new WeakMap<PageRun, { readonly slab: Slab; readonly sort: SlabSort }>()
  #made = 0
  /** Bytes that are to be free of each sort; undefined where slabs are made only when they are needed. */
  #reserveBytes: number | undefined
  #isRestocking = false

  constructor(maker: SlabMaker) {
    this.#maker = maker
  }

  /** Bytes of the pages that so many bytes take. */
  static bytesFor(bytes: number): number {
    return pagesFor(bytes) * PAGE_BYTES
  }

  /**
   * A run of that many bytes, zeroed.
   * @param grows whether there should be room behind it
   * @throws WarpdexError `OUT_OF_DEVICE_MEMORY`
   */
  allocate(sort: SlabSort, bytes: number, label: string, grows = false): PageRun {
    const pages = pagesFor(bytes)
    const found = this.#find(sort, pages, grows) ?? this.#findInNew(sort, pages, label)
    const { slab, first } = found
    this.#clear(slab, first, pages)
    clearTimeout(slab.unusedTimer)
    slab.unusedTimer = undefined
    return this.#place(sort, slab, first, bytes, label)
  }

  /**
   * The same run with another number of bytes, if it can have them where it lies; what comes to it is zero. The former one is of no use any more.
   */
  resize(run: PageRun, bytes: number): PageRun | undefined {
    const { slab, sort } = this.#placed.get(run)!
    const first = run.offset / PAGE_BYTES
    const [before, after] = [pagesFor(run.size), pagesFor(bytes)]
    if (after > before) {
      if (!slab.free.takeAt(first + before, after - before)) return undefined
      this.#clear(slab, first + before, after - before)
    } else {
      slab.free.release(first + after, before - after)
    }
    slab.runs.delete(run)
    return this.#place(sort, slab, first, bytes, run.label)
  }

  /**
   * Has slabs made ahead of need from now on, when the device has nothing to do: so many bytes of each sort are free in one piece, and twice as
   * many as its largest run has, which may be the next to move.
   */
  keepReserve(bytes: number): void {
    this.#reserveBytes = bytes
    this.#restock()
  }

  figures(): readonly SlabFigures[] {
    return [...this.#slabs.keys()].map((sort) => this.#figures(sort))
  }

  /** Gives slabs back that nobody uses. */
  giveUp(): void {
    for (const [sort, slabs] of this.#slabs) for (const slab of [...slabs]) this.#destroyUnused(sort, slab)
  }

  #find(sort: SlabSort, pages: number, grows: boolean): { slab: Slab; first: number } | undefined {
    for (const slab of this.#slabs.get(sort) ?? []) {
      if (slab.free.count < pages) continue
      const first = slab.free.take(pages, grows)
      if (first !== undefined) return { slab, first }
    }
    return undefined
  }

  #findInNew(sort: SlabSort, pages: number, label: string): { slab: Slab; first: number } {
    const slab = this.#make(sort, pages, label)
    return { slab, first: slab.free.take(pages, false)! }
  }

  /** As large a slab as those of its sort together, where there is room for that, so that there are few; else one for what is needed. */
  #make(sort: SlabSort, pages: number, label: string): Slab {
    const need = pages * PAGE_BYTES
    const bytes = Math.max(need, this.#sizeAhead(sort))
    const ahead = bytes > need ? this.#maker.createAhead(bytes, `a slab for ${label}`) : undefined
    return this.#add(sort, ahead ?? this.#maker.create(need, label))
  }

  #sizeAhead(sort: SlabSort): number {
    const all = Math.max(SMALLEST_SLAB, this.#figures(sort).bytes)
    return PagePool.bytesFor(Math.min(this.#maker.mostBytes, all))
  }

  #add(sort: SlabSort, buffer: GPUBuffer): Slab {
    const pages = pagesFor(buffer.size)
    const slab: Slab = {
      key: `slab ${this.#made++}`,
      buffer,
      pages,
      free: new FreePages(pages),
      used: 0,
      runs: new Set(),
      unusedTimer: undefined,
    }
    const slabs = this.#slabs.get(sort) ?? []
    this.#slabs.set(sort, slabs)
    slabs.push(slab)
    return slab
  }

  /** Sees to it that there is as much ahead of need as there should be, when the device has nothing to do. */
  #restock(): void {
    if (this.#reserveBytes === undefined || this.#isRestocking) return
    this.#isRestocking = true
    this.#maker.whenIdle(() => {
      this.#isRestocking = false
      for (const sort of SORTS) {
        const bytes = this.#missing(sort)
        const buffer = bytes === 0 ? undefined : this.#maker.createAhead(bytes, 'a slab ahead of need')
        if (buffer === undefined) continue
        this.#add(sort, buffer)
        // The first use of a buffer has the device zero all of it.
        this.#maker.clear(buffer, 0, PAGE_BYTES)
      }
    })
  }

  /** Bytes of the slab that the reserve of a sort lacks, 0 where at least half of the reserve is there. */
  #missing(sort: SlabSort, without?: Slab): number {
    if (this.#reserveBytes === undefined) return 0
    const slabs = (this.#slabs.get(sort) ?? []).filter((slab) => slab !== without)
    let [largest, free] = [0, 0]
    for (const slab of slabs) {
      free = Math.max(free, slab.free.longest * PAGE_BYTES)
      for (const { size } of slab.runs) largest = Math.max(largest, size)
    }
    const wanted = Math.min(this.#maker.mostRunBytes, Math.max(this.#reserveBytes, 2 * largest))
    return 2 * free >= wanted ? 0 : Math.max(PagePool.bytesFor(wanted), this.#sizeAhead(sort))
  }

  #place(sort: SlabSort, slab: Slab, first: number, bytes: number, label: string): PageRun {
    const place = { buffer: slab.buffer, offset: first * PAGE_BYTES, size: bytes }
    const run: PageRun = new PageRun(label, slab.key, place, () => {
      // A run may be given back twice, as a buffer may be destroyed twice.
      if (!slab.runs.delete(run)) return
      slab.free.release(first, pagesFor(bytes))
      if (slab.runs.size > 0) return
      slab.unusedTimer = setTimeout(() => this.#giveBackUnused(sort, slab), UNUSED_MS).unref()
    })
    this.#placed.set(run, { slab, sort })
    slab.runs.add(run)
    this.#restock()
    return run
  }

  /** Keeps what the reserve would lack without it. */
  #giveBackUnused(sort: SlabSort, slab: Slab): void {
    if (this.#missing(sort, slab) === 0) this.#destroyUnused(sort, slab)
  }

  /** Zeroes pages of which any was handed out before. */
  #clear(slab: Slab, first: number, pages: number): void {
    const dirty = Math.min(first + pages, slab.used) - first
    if (dirty > 0) this.#maker.clear(slab.buffer, first * PAGE_BYTES, dirty * PAGE_BYTES)
    slab.used = Math.max(slab.used, first + pages)
  }

  #destroyUnused(sort: SlabSort, slab: Slab): void {
    const slabs = this.#slabs.get(sort)!
    if (slab.runs.size > 0 || !slabs.includes(slab)) return
    clearTimeout(slab.unusedTimer)
    slabs.splice(slabs.indexOf(slab), 1)
    slab.buffer.destroy()
  }

  #figures(sort: SlabSort): SlabFigures {
    const slabs = this.#slabs.get(sort) ?? []
    const pages = slabs.reduce((sum, slab) => sum + slab.pages, 0)
    const free = slabs.reduce((sum, slab) => sum + slab.free.count, 0)
    return { sort, slabs: slabs.length, bytes: pages * PAGE_BYTES, freeBytes: free * PAGE_BYTES }
  }
}

function pagesFor(bytes: number): number {
  return Math.max(1, Math.ceil(bytes / PAGE_BYTES))
}
