import type { Recorder } from '../device/recorder.js'
import { longestFree, scatteredPages, slabToEmpty } from './fragmentation.js'
import { PageRun } from './page-run.js'
import { PAGE_BYTES, type Pages, pagesFor, Slab, type SlabSort, SORTS } from './slab.js'

/** A slab has at least so many bytes. */
const SMALLEST_SLAB = 2 ** 20

/** A slab that nobody has used for so long is given back. */
const UNUSED_MS = 60_000

/** Bytes of runs that are moved at a time, so that requests come in between; a run that is longer moves by itself. */
const MOVED_AT_ONCE = 2 ** 24

/** Runs that could not be moved because somebody used them are looked at again after so long. */
const MOVE_AGAIN_MS = 1000

/** Slabs that are emptied although that did no good to the one before: what does not fit one may have to go before another can. */
const MOST_FUTILE = 4

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
  /** What it records comes before all that is submitted later. */
  record(): Recorder
}

/** What a pool has of one sort. */
export interface SlabFigures {
  readonly sort: SlabSort
  readonly slabs: number
  readonly bytes: number
  /** Bytes of pages that nobody has. */
  readonly freeBytes: number
  /** Bytes of them that lie among live ones, but for the longest piece. */
  readonly scatteredBytes: number
}

/**
 * Device memory in pages (Volk §4.2): slabs are buffers of many pages, and what an owner has is a run of them. So hardly any allocation makes a
 * buffer, which takes a GPU longer than filling it, and what grows goes on in the pages behind it where they are free.
 */
export class PagePool {
  readonly #maker: SlabMaker
  readonly #slabs: Readonly<Record<SlabSort, Slab[]>> = {
    tree: [],
    keys: [],
    derived: [],
    columns: [],
    copies: [],
  }
  #made = 0
  /** Bytes that are to be free of each sort; undefined where slabs are made only when they are needed. */
  #reserveBytes: number | undefined
  /** Runs that may be moved; undefined where none are unless they grow. */
  #movable: (() => Iterable<PageRun>) | undefined
  #isWaiting = false
  /** How often owners have taken pages or given them back. */
  #changes = 0
  /** Of sorts of which it did no good to empty slabs, how many these were since the last of so many changes. */
  readonly #futile = new Map<SlabSort, { readonly changes: number; readonly slabs: number }>()

  constructor(maker: SlabMaker) {
    this.#maker = maker
  }

  /** Bytes of the pages that so many bytes take. */
  static bytesFor(bytes: number): number {
    return pagesFor(bytes) * PAGE_BYTES
  }

  /**
   * A run of that many bytes, zeroed.
   * @throws WarpdexError `OUT_OF_DEVICE_MEMORY`
   */
  allocate(sort: SlabSort, bytes: number, label: string): PageRun {
    this.#changes++
    const pages = this.#take(sort, bytes, label, false)
    this.#clear(pages, pagesFor(bytes))
    const run = new PageRun(label, pages, bytes, (given) => this.#release(given))
    this.#hold(run)
    return run
  }

  /**
   * Gives a run another number of bytes: where it lies if the pages behind it are free, else in pages behind which there is room. What comes to it is zero.
   * @param usedBytes bytes of its content, which it still has
   * @throws WarpdexError `OUT_OF_DEVICE_MEMORY`
   */
  resize(run: PageRun, bytes: number, usedBytes: number): void {
    this.#changes++
    const { slab, firstPage: first } = run
    const [before, after] = [pagesFor(run.size), pagesFor(bytes)]
    if (after <= before) {
      slab.free.release(first + after, before - after)
      run.settle({ slab, first }, bytes)
    } else if (!slab.isClosing && slab.free.takeAt(first + before, after - before)) {
      this.#clear({ slab, first: first + before }, after - before)
      run.settle({ slab, first }, bytes)
    } else {
      const pages = this.#take(slab.sort, bytes, run.label, true)
      this.#clear(pages, after)
      const recorder = this.#maker.record()
      this.#move(recorder, run, pages, bytes, usedBytes)
      recorder.submit()
    }
    this.#lookAfter()
  }

  /**
   * Has slabs made ahead of need from now on, when the device has nothing to do: so many bytes of each sort are free in one piece, and twice as
   * many as its largest run has, which may be the next to move.
   */
  keepReserve(bytes: number): void {
    this.#reserveBytes = bytes
    this.#lookAfter()
  }

  /**
   * Has free pages kept together from now on: where they are scattered, slabs are emptied and given back when the device has nothing to do.
   * @param movable the runs that nobody uses at the moment
   */
  keepTogether(movable: () => Iterable<PageRun>): void {
    this.#movable = movable
  }

  get slabs(): readonly Slab[] {
    return SORTS.flatMap((sort) => this.#slabs[sort])
  }

  figures(): readonly SlabFigures[] {
    return SORTS.filter((sort) => this.#slabs[sort].length > 0).map((sort) => this.#figures(sort))
  }

  /** Gives slabs back that nobody uses. */
  giveUp(): void {
    for (const sort of SORTS) for (const slab of [...this.#slabs[sort]]) this.#destroyUnused(slab)
  }

  /** Pages for a run; with `grows` there is room behind them if possible. */
  #take(sort: SlabSort, bytes: number, label: string, grows: boolean): Pages {
    const pages = pagesFor(bytes)
    const found = this.#find(sort, pages, grows)
    if (found !== undefined) return found
    const need = pages * PAGE_BYTES
    try {
      return (
        this.#findAhead(sort, pages, label) ?? this.#firstOf(sort, this.#maker.create(need, label), pages)
      )
    } catch (error) {
      // Slabs that are being emptied are better than nothing, and others may have made room in one.
      const last = this.#find(sort, pages, grows, true)
      if (last === undefined) throw error
      return last
    }
  }

  /** Slabs that nobody uses come last, so that they can be given back. */
  #find(sort: SlabSort, pages: number, grows: boolean, alsoClosing = false): Pages | undefined {
    const slabs = this.#slabs[sort].filter(
      ({ free, isClosing }) => free.count >= pages && (alsoClosing || !isClosing),
    )
    const unused = slabs.filter(({ runs }) => runs.size === 0)
    for (const slab of [...slabs.filter(({ runs }) => runs.size > 0), ...unused]) {
      const first = slab.free.take(pages, grows)
      if (first !== undefined) return { slab, first }
    }
    return undefined
  }

  /** Pages of a new slab that is as large as those of its sort together, so that there are few; undefined where there is no room for that. */
  #findAhead(sort: SlabSort, pages: number, label: string): Pages | undefined {
    const bytes = Math.max(pages * PAGE_BYTES, this.#sizeAhead(sort))
    const buffer = this.#maker.createAhead(bytes, `a slab for ${label}`)
    return buffer && this.#firstOf(sort, buffer, pages)
  }

  #firstOf(sort: SlabSort, buffer: GPUBuffer, pages: number): Pages {
    const slab = this.#add(sort, buffer)
    return { slab, first: slab.free.take(pages, false)! }
  }

  /** Those that are being emptied count by what has to move. */
  #sizeAhead(sort: SlabSort): number {
    const pages = this.#slabs[sort].reduce(
      (sum, slab) => sum + slab.pages - (slab.isClosing ? slab.free.count : 0),
      0,
    )
    const bytes = Math.max(SMALLEST_SLAB, pages * PAGE_BYTES)
    return PagePool.bytesFor(Math.min(this.#maker.mostBytes, bytes))
  }

  #add(sort: SlabSort, buffer: GPUBuffer): Slab {
    const slab = new Slab(sort, this.#made++, buffer)
    this.#slabs[sort].push(slab)
    return slab
  }

  /** Gives a run other pages, with what it holds. */
  #move(recorder: Recorder, run: PageRun, pages: Pages, bytes: number, usedBytes: number): void {
    const { slab, firstPage, size } = run
    const former = new PageRun(run.label, { slab, first: firstPage }, size, () => {})
    slab.free.release(firstPage, pagesFor(size))
    slab.runs.delete(run)
    run.settle(pages, bytes)
    this.#hold(run)
    recorder.copy(former, 0, run, 0, usedBytes)
    if (slab.runs.size === 0) this.#awaitUse(slab)
  }

  #hold(run: PageRun): void {
    const { slab } = run
    clearTimeout(slab.unusedTimer)
    slab.unusedTimer = undefined
    slab.runs.add(run)
    this.#lookAfter()
  }

  #release(run: PageRun): void {
    const { slab, firstPage, size } = run
    // A run may be given back twice, as a buffer may be destroyed twice.
    if (!slab.runs.delete(run)) return
    this.#changes++
    slab.free.release(firstPage, pagesFor(size))
    if (slab.runs.size === 0) this.#awaitUse(slab)
    this.#lookAfter()
  }

  /** Gives a slab back that nobody is going to use for long; keeps what the reserve would lack without it. */
  #awaitUse(slab: Slab): void {
    slab.closing = undefined
    const giveBack = () => {
      if (this.#missing(slab.sort, slab) === 0) this.#destroyUnused(slab)
    }
    slab.unusedTimer = setTimeout(giveBack, UNUSED_MS).unref()
  }

  /** Zeroes pages of which any was handed out before. */
  #clear({ slab, first }: Pages, pages: number): void {
    const dirty = slab.use(first, pages)
    if (dirty === 0) return
    const recorder = this.#maker.record()
    recorder.clear(slab.buffer, first * PAGE_BYTES, dirty * PAGE_BYTES)
    recorder.submit()
  }

  #destroyUnused(slab: Slab): void {
    const slabs = this.#slabs[slab.sort]
    if (slab.runs.size > 0 || !slabs.includes(slab)) return
    clearTimeout(slab.unusedTimer)
    slabs.splice(slabs.indexOf(slab), 1)
    slab.buffer.destroy()
  }

  /** Sees to it, when the device has nothing to do, that there is as much ahead of need as there should be, and that free pages are together. */
  #lookAfter(): void {
    if (this.#isWaiting || (this.#reserveBytes === undefined && this.#movable === undefined)) return
    this.#isWaiting = true
    this.#maker.whenIdle(() => {
      this.#isWaiting = false
      for (const sort of SORTS) {
        this.#restock(sort)
        this.#gather(sort)
      }
    })
  }

  #restock(sort: SlabSort): void {
    const bytes = this.#missing(sort)
    const buffer = bytes === 0 ? undefined : this.#maker.createAhead(bytes, 'a slab ahead of need')
    if (buffer === undefined) return
    this.#add(sort, buffer)
    // The first use of a buffer has the device zero all of it.
    const recorder = this.#maker.record()
    recorder.clear(buffer, 0, PAGE_BYTES)
    recorder.submit()
  }

  /** Bytes of the slab that the reserve of a sort lacks, 0 where at least half of the reserve is there. */
  #missing(sort: SlabSort, without?: Slab): number {
    if (this.#reserveBytes === undefined) return 0
    const slabs = this.#slabs[sort].filter((slab) => slab !== without && !slab.isClosing)
    let largest = 0
    for (const { runs } of this.#slabs[sort]) for (const { size } of runs) largest = Math.max(largest, size)
    const free = longestFree(slabs).pages * PAGE_BYTES
    const wanted = Math.min(this.#maker.mostRunBytes, Math.max(this.#reserveBytes, 2 * largest))
    return 2 * free >= wanted ? 0 : Math.max(PagePool.bytesFor(wanted), this.#sizeAhead(sort))
  }

  /** Empties a slab where free pages are scattered, as far as its runs may be moved, a part at a time. */
  #gather(sort: SlabSort): void {
    if (this.#movable === undefined) return
    const slabs = this.#slabs[sort]
    const slab = slabs.find(({ isClosing }) => isClosing) ?? this.#close(slabs)
    if (slab === undefined) return
    const { closing } = slab
    const recorder = this.#maker.record()
    let moved = 0
    for (const run of this.#movable()) {
      if (run.slab !== slab) continue
      if (moved > 0 && moved + run.size > MOVED_AT_ONCE) break
      const count = pagesFor(run.size)
      const pages = this.#find(sort, count, false) ?? this.#findAhead(sort, count, run.label)
      if (pages === undefined) {
        slab.closing = undefined
        break
      }
      pages.slab.use(pages.first, count)
      this.#move(recorder, run, pages, run.size, run.size)
      moved += run.size
      if (slab.runs.size === 0) break
    }
    recorder.submit()
    if (!slab.isClosing) {
      const isFutile = closing?.changes === this.#changes && scatteredPages(slabs) >= closing.scattered
      if (isFutile) this.#futile.set(sort, { changes: this.#changes, slabs: this.#futileSlabs(sort) + 1 })
      if (slab.runs.size === 0 && this.#missing(sort, slab) === 0) this.#destroyUnused(slab)
    } else if (moved === 0) {
      setTimeout(() => this.#lookAfter(), MOVE_AGAIN_MS).unref()
    }
  }

  #futileSlabs(sort: SlabSort): number {
    const futile = this.#futile.get(sort)
    return futile?.changes === this.#changes ? futile.slabs : 0
  }

  /** Begins to empty a slab, if one is to be. */
  #close(slabs: readonly Slab[]): Slab | undefined {
    const slab = slabToEmpty(slabs)
    if (slab === undefined || this.#futileSlabs(slab.sort) >= MOST_FUTILE) return undefined
    slab.closing = { scattered: scatteredPages(slabs), changes: this.#changes }
    return slab
  }

  #figures(sort: SlabSort): SlabFigures {
    const slabs = this.#slabs[sort]
    const pages = slabs.reduce((sum, slab) => sum + slab.pages, 0)
    const free = slabs.reduce((sum, slab) => sum + slab.free.count, 0)
    return {
      sort,
      slabs: slabs.length,
      bytes: pages * PAGE_BYTES,
      freeBytes: free * PAGE_BYTES,
      scatteredBytes: scatteredPages(slabs) * PAGE_BYTES,
    }
  }
}
