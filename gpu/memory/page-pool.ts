import type { Recorder } from '../device/recorder.js'
import { Compactor } from './compactor.js'
import { PageRun } from './page-run.js'
import { PAGE_BYTES, type Pages, pagesFor, type Slab, type SlabSort, SORTS } from './slab.js'
import { type SlabFigures, type SlabMaker, SlabSet } from './slab-set.js'

/**
 * Device memory in pages (Volk §4.2): slabs are buffers of many pages, and what an owner has is a run of them. So hardly any allocation makes a
 * buffer, which takes a GPU longer than filling it, and what grows goes on in the pages behind it where they are free. Where free pages are scattered, runs
 * are moved between requests.
 */
export class PagePool {
  readonly #maker: SlabMaker
  readonly #sets: ReadonlyMap<SlabSort, SlabSet>
  readonly #compactors: readonly Compactor[]
  #isRestocking = false
  #isCompacting = false

  constructor(maker: SlabMaker) {
    this.#maker = maker
    let made = 0
    const number = () => made++
    this.#sets = new Map(SORTS.map((sort) => [sort, new SlabSet(sort, maker, number)]))
    this.#compactors = [...this.#sets.values()].map((slabs) => new Compactor(slabs))
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
    const slabs = this.#of(sort)
    const pages = slabs.take(bytes, label)
    const recorder = this.#maker.record()
    if (this.#clear(recorder, pages, pagesFor(bytes))) recorder.submit()
    const run = new PageRun(label, pages, bytes, (given) => {
      if (slabs.release(given)) this.#lookAfter()
    })
    slabs.hold(run)
    this.#lookAfter()
    return run
  }

  /**
   * Gives a run another number of bytes: where it lies if the pages behind it are free, else in pages behind which there is room. What comes to it is zero.
   * @param usedBytes bytes of its content, which it still has
   * @param leastBytes bytes that do where fewer than `bytes` are free in one piece: making a slab takes longer than moving again
   * @throws WarpdexError `OUT_OF_DEVICE_MEMORY`
   */
  resize(run: PageRun, bytes: number, usedBytes: number, leastBytes = bytes): void {
    if (pagesFor(bytes) <= pagesFor(run.size)) this.#shrink(run, bytes)
    else if (!this.#growInPlace(run, bytes, leastBytes)) this.#moveToGrow(run, bytes, usedBytes, leastBytes)
    this.#lookAfter()
  }

  #shrink(run: PageRun, bytes: number): void {
    const { slab, firstPage: first } = run
    const after = pagesFor(bytes)
    slab.free.release(first + after, pagesFor(run.size) - after)
    run.settle({ slab, first }, bytes)
  }

  /** @returns whether there was room for that */
  #growInPlace(run: PageRun, bytes: number, leastBytes: number): boolean {
    const { slab, firstPage: first } = run
    const before = pagesFor(run.size)
    const added = slab.free.takeAt(first + before, pagesFor(leastBytes) - before, pagesFor(bytes) - before)
    if (added === 0) return false
    const recorder = this.#maker.record()
    if (this.#clear(recorder, { slab, first: first + before }, added)) recorder.submit()
    run.settle({ slab, first }, Math.min(bytes, (before + added) * PAGE_BYTES))
    return true
  }

  #moveToGrow(run: PageRun, bytes: number, usedBytes: number, leastBytes: number): void {
    const slabs = this.#of(run.slab.sort)
    const { slab, first, pages } = slabs.takeToGrow(bytes, leastBytes, run.label)
    const recorder = this.#maker.record()
    const written = Math.floor(usedBytes / PAGE_BYTES)
    this.#clear(recorder, { slab, first: first + written }, pages - written)
    slabs.move(recorder, run, { slab, first }, Math.min(bytes, pages * PAGE_BYTES), usedBytes)
    recorder.submit()
  }

  /**
   * Has slabs made ahead of need from now on, when the device has nothing to do: so many bytes of each sort are free in one piece, and as many as its
   * two largest runs need to go on, which may be the next to move.
   */
  keepReserve(bytes: number): void {
    for (const slabs of this.#sets.values()) slabs.reserveBytes = bytes
    this.#lookAfter()
  }

  get slabs(): readonly Slab[] {
    return [...this.#sets.values()].flatMap(({ slabs }) => slabs)
  }

  figures(): readonly SlabFigures[] {
    return [...this.#sets.values()].filter(({ slabs }) => slabs.length > 0).map(({ figures }) => figures)
  }

  /** Gives slabs back that nobody uses. */
  giveUp(): void {
    for (const slabs of this.#sets.values()) slabs.giveUp()
  }

  #of(sort: SlabSort): SlabSet {
    return this.#sets.get(sort)!
  }

  /**
   * Zeroes pages of which any was handed out before.
   * @returns whether there are any
   */
  #clear(recorder: Recorder, { slab, first }: Pages, pages: number): boolean {
    const dirty = slab.use(first, pages)
    if (dirty === 0) return false
    recorder.clear(slab.buffer, first * PAGE_BYTES, dirty * PAGE_BYTES)
    return true
  }

  /** Sees to it that there is as much ahead of need as there should be, when the device has nothing to do, and that free pages are together. */
  #lookAfter(): void {
    this.#restock()
    this.#compact()
  }

  #restock(): void {
    if (this.#isRestocking) return
    this.#isRestocking = true
    this.#maker.whenIdle(() => {
      this.#isRestocking = false
      for (const slabs of this.#sets.values()) slabs.restock()
      this.#compact()
    })
  }

  /** Moves runs where free pages are scattered, a step after the other, each when the device has done what came before. */
  #compact(): void {
    if (this.#isCompacting || !this.#compactors.some(({ isDue }) => isDue)) return
    this.#isCompacting = true
    this.#maker.whenDone(() => {
      this.#isCompacting = false
      const recorder = this.#maker.record()
      const moved = this.#compactors.filter((compactor) => compactor.isDue && compactor.step(recorder))
      if (moved.length === 0) return
      recorder.submit()
      this.#compact()
    })
  }
}
