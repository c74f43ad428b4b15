import { PAGE_BYTES, type Pages, type Slab } from './slab.js'

/**
 * Device memory of one owner that is a run of a slab's pages (`page-pool.ts`). Its pool moves it where it cannot grow, and where free pages are to come
 * together: what is submitted next finds it there, whenever it was recorded.
 */
export class PageRun {
  readonly label: string
  readonly #giveBack: (run: PageRun) => void
  #pages: Pages
  #size: number
  #key: string
  #writes = 0

  /** @param giveBack called when its owner has no more use for it */
  constructor(label: string, pages: Pages, size: number, giveBack: (run: PageRun) => void) {
    this.label = label
    this.#giveBack = giveBack
    this.#pages = pages
    this.#size = size
    this.#key = keyOf(pages, size)
  }

  /** What lies in pages at the moment, to copy it as none of its owner's work. */
  static at(label: string, pages: Pages, size: number): PageRun {
    return new PageRun(label, pages, size, () => {})
  }

  get slab(): Slab {
    return this.#pages.slab
  }

  get firstPage(): number {
    return this.#pages.first
  }

  get buffer(): GPUBuffer {
    return this.#pages.slab.buffer
  }

  /** Bytes before it in the buffer. */
  get offset(): number {
    return this.#pages.first * PAGE_BYTES
  }

  get size(): number {
    return this.#size
  }

  /** The same for runs in the same place: what a bind group over them is kept by. */
  get key(): string {
    return this.#key
  }

  /** How often work was submitted that may write to it. */
  get writes(): number {
    return this.#writes
  }

  /** Called for what is submitted. */
  noteWrite(): void {
    this.#writes++
  }

  /** Called by its pool when it has other pages. */
  settle(pages: Pages, size: number): void {
    this.#pages = pages
    this.#size = size
    this.#key = keyOf(pages, size)
  }

  /** Gives its pages back. Work that is submitted may still use them: the queue is in order, so their next owner comes after. */
  destroy(): void {
    this.#giveBack(this)
  }
}

function keyOf({ slab, first }: Pages, size: number): string {
  return `slab ${slab.number}:${first}:${size}`
}

/** What kernels bind, and what is copied and cleared: a buffer of its own, or a run of pages. */
export type DeviceMemory = GPUBuffer | PageRun

/** The buffer that memory lies in, and where it begins there. */
export function placeOf(memory: DeviceMemory): Pick<PageRun, 'buffer' | 'offset'> {
  return memory instanceof PageRun ? memory : { buffer: memory, offset: 0 }
}

/** As `placeOf`, of what is to be written to. */
export function placeToWrite(memory: DeviceMemory): Pick<PageRun, 'buffer' | 'offset'> {
  if (memory instanceof PageRun) memory.noteWrite()
  return placeOf(memory)
}
