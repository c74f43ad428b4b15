import type { Recorder } from '../device/recorder.js'
import { PageRun } from './page-run.js'
import { PAGE_BYTES, type Pages, pagesFor, Slab, type SlabSort } from './slab.js'

/** A slab has at least so many bytes. */
const SMALLEST_SLAB = 2 ** 20

/** A slab that nobody has used for so long is given back. */
const UNUSED_MS = 60_000

/** Times its size that a run may take to go on: it moves and doubles, or moves with a batch behind it and is merged with that elsewhere. */
const ROOM_TO_GO_ON = 2.25

/** What slabs need of their device. */
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
  /** Calls back when the device has done what was submitted so far, unless it is over by then. */
  whenDone(call: () => void): void
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

/** The slabs of one sort, and the runs in them. */
export class SlabSet {
  readonly #sort: SlabSort
  readonly #maker: SlabMaker
  readonly #number: () => number
  /** The largest first, so that runs that are moved towards the first leave small ones empty. */
  readonly #slabs: Slab[] = []
  /** Bytes that are to be free; undefined where slabs are made only when they are needed. */
  reserveBytes: number | undefined

  /** @param number gives the number of the next slab */
  constructor(sort: SlabSort, maker: SlabMaker, number: () => number) {
    this.#sort = sort
    this.#maker = maker
    this.#number = number
  }

  get slabs(): readonly Slab[] {
    return this.#slabs
  }

  /** Pages that somebody has. */
  get livePages(): number {
    return this.#slabs.reduce((sum, { pages, free }) => sum + pages - free.count, 0)
  }

  /** Free pages that are scattered: those in slabs that somebody uses, but for the longest run of them. */
  get scatteredPages(): number {
    let [sum, longest] = [0, 0]
    for (const { free, runs } of this.#slabs) {
      if (runs.size === 0) continue
      sum += free.count
      longest = Math.max(longest, free.longest)
    }
    return sum - longest
  }

  /**
   * Pages for a run, in a new slab if there are none.
   * @throws WarpdexError `OUT_OF_DEVICE_MEMORY`
   */
  take(bytes: number, label: string): Pages {
    return this.find(pagesFor(bytes), false) ?? this.#takeNew(bytes, label)
  }

  /**
   * Pages for a run that grows, with room behind them if possible: as many as are free in one piece, up to what `bytes` takes; where `leastBytes` have no
   * room either, a new slab's.
   * @throws WarpdexError `OUT_OF_DEVICE_MEMORY`
   */
  takeToGrow(bytes: number, leastBytes: number, label: string): Pages & { readonly pages: number } {
    const most = pagesFor(bytes)
    const longest = this.#slabs.reduce((sofar, { free }) => Math.max(sofar, free.longest), 0)
    const pages = longest < pagesFor(leastBytes) ? most : Math.min(most, longest)
    return { ...(this.find(pages, true) ?? this.#takeNew(bytes, label)), pages }
  }

  #takeNew(bytes: number, label: string): Pages {
    const pages = pagesFor(bytes)
    // As large as the others together, so that there are few.
    const ahead = Math.max(pages * PAGE_BYTES, this.#sizeAhead)
    const buffer = this.#maker.createAhead(ahead, `a slab for ${label}`)
    const slab = this.#add(buffer ?? this.#maker.create(pages * PAGE_BYTES, label))
    return { slab, first: slab.free.takeFirst(pages)! }
  }

  /** Free pages for a run; with `grows` there is room behind them if possible. Slabs that nobody uses come last, so that they can be given back. */
  find(pages: number, grows: boolean): Pages | undefined {
    const slabs = this.#slabs.filter(({ free }) => free.count >= pages)
    const unused = slabs.filter(({ runs }) => runs.size === 0)
    for (const slab of [...slabs.filter(({ runs }) => runs.size > 0), ...unused]) {
      const first = grows ? slab.free.takeLongest(pages) : slab.free.takeFirst(pages)
      if (first !== undefined) return { slab, first }
    }
    return undefined
  }

  /** The first free pages for a run that lie before those that it has, in a slab that somebody uses. */
  findBefore(run: PageRun): Pages | undefined {
    const pages = pagesFor(run.size)
    for (const slab of this.#slabs) {
      const isOwn = slab === run.slab
      const first =
        slab.runs.size === 0 ? undefined : slab.free.takeFirst(pages, isOwn ? run.firstPage : slab.pages)
      if (first !== undefined) return { slab, first }
      if (isOwn) return undefined
    }
    return undefined
  }

  /** Makes a slab ahead of need, if one is due. */
  restock(): void {
    const bytes = this.missing()
    const buffer = bytes === 0 ? undefined : this.#maker.createAhead(bytes, 'a slab ahead of need')
    if (buffer === undefined) return
    this.#add(buffer)
    // The first use of a buffer has the device zero all of it.
    const recorder = this.#maker.record()
    recorder.clear(buffer, 0, PAGE_BYTES)
    recorder.submit()
  }

  /**
   * Bytes of the slab that the reserve lacks: 0 where its two largest runs, which may be of one structure and grow at once, could go on, and at least half
   * of the reserve is there.
   */
  missing(without?: Slab): number {
    if (this.reserveBytes === undefined) return 0
    const { mostBytes, mostRunBytes } = this.#maker
    let [largest, second, longest] = [0, 0, 0]
    for (const slab of this.#slabs) {
      for (const { size } of slab.runs) {
        if (size >= mostRunBytes) continue
        if (size > largest) [largest, second] = [size, largest]
        else second = Math.max(second, size)
      }
      if (slab !== without) longest = Math.max(longest, slab.free.longest)
    }
    const room = Math.min(mostBytes, ROOM_TO_GO_ON * (largest + second))
    if (longest * PAGE_BYTES >= Math.max(room, this.reserveBytes / 2)) return 0
    return Math.max(pagesFor(Math.max(this.reserveBytes, room)) * PAGE_BYTES, this.#sizeAhead)
  }

  /** Bytes of the next slab. */
  get #sizeAhead(): number {
    const pages = this.#slabs.reduce((sum, slab) => sum + slab.pages, 0)
    const bytes = Math.max(SMALLEST_SLAB, pages * PAGE_BYTES)
    return pagesFor(Math.min(this.#maker.mostBytes, bytes)) * PAGE_BYTES
  }

  #add(buffer: GPUBuffer): Slab {
    const slab = new Slab(this.#sort, this.#number(), buffer)
    this.#slabs.push(slab)
    this.#slabs.sort((one, other) => other.pages - one.pages)
    return slab
  }

  /** Takes up a run that has pages here. */
  hold(run: PageRun): void {
    const { slab } = run
    clearTimeout(slab.unusedTimer)
    slab.unusedTimer = undefined
    slab.runs.add(run)
  }

  /** Takes a run's pages back; whether it had any still. */
  release(run: PageRun): boolean {
    const { slab, firstPage, size } = run
    // A run may be given back twice, as a buffer may be destroyed twice.
    if (!slab.runs.delete(run)) return false
    slab.free.release(firstPage, pagesFor(size))
    if (slab.runs.size === 0) this.#awaitUse(slab)
    return true
  }

  /**
   * Records that a run, with what it holds, gets other pages.
   * @param copiedBytes bytes of that which are there already
   */
  move(
    recorder: Recorder,
    run: PageRun,
    pages: Pages,
    bytes: number,
    usedBytes: number,
    copiedBytes = 0,
  ): void {
    const { slab, firstPage, size } = run
    const former = PageRun.at(run.label, { slab, first: firstPage }, size)
    const target = PageRun.at(run.label, pages, bytes)
    this.release(run)
    run.settle(pages, bytes)
    this.hold(run)
    pages.slab.use(pages.first, pagesFor(bytes))
    recorder.copy(former, copiedBytes, target, copiedBytes, usedBytes - copiedBytes)
  }

  /** Gives a slab back that nobody is going to use for long; keeps what the reserve would lack without it. */
  #awaitUse(slab: Slab): void {
    const giveBack = () => {
      if (this.missing(slab) === 0) this.destroyUnused(slab)
    }
    slab.unusedTimer = setTimeout(giveBack, UNUSED_MS).unref()
  }

  destroyUnused(slab: Slab): void {
    // A run that is on its way there has its pages already.
    if (slab.free.count < slab.pages || !this.#slabs.includes(slab)) return
    clearTimeout(slab.unusedTimer)
    this.#slabs.splice(this.#slabs.indexOf(slab), 1)
    slab.buffer.destroy()
  }

  /** Gives slabs back that nobody uses. */
  giveUp(): void {
    for (const slab of [...this.#slabs]) this.destroyUnused(slab)
  }

  get figures(): SlabFigures {
    const pages = this.#slabs.reduce((sum, slab) => sum + slab.pages, 0)
    const free = this.#slabs.reduce((sum, slab) => sum + slab.free.count, 0)
    return {
      sort: this.#sort,
      slabs: this.#slabs.length,
      bytes: pages * PAGE_BYTES,
      freeBytes: free * PAGE_BYTES,
      scatteredBytes: this.scatteredPages * PAGE_BYTES,
    }
  }
}
