/** What a run of pages is made of. */
export interface PagePlace {
  readonly buffer: GPUBuffer
  /** Bytes before it in the buffer. */
  readonly offset: number
  readonly size: number
}

/** Device memory of one owner that is a run of a slab's pages (`page-pool.ts`). */
export class PageRun implements PagePlace {
  readonly label: string
  readonly buffer: GPUBuffer
  readonly offset: number
  readonly size: number
  /** The same for runs in the same place: what a bind group over them is kept by. */
  readonly key: string
  readonly #giveBack: () => void

  /** @param giveBack called when its owner has no more use for it */
  constructor(label: string, slab: string, { buffer, offset, size }: PagePlace, giveBack: () => void) {
    this.label = label
    this.buffer = buffer
    this.offset = offset
    this.size = size
    this.key = `${slab}:${offset}:${size}`
    this.#giveBack = giveBack
  }

  /** Gives its pages back. Work that is submitted may still use them: the queue is in order, so their next owner comes after. */
  destroy(): void {
    this.#giveBack()
  }
}

/** What kernels bind, and what is copied and cleared: a buffer of its own, or a run of pages. */
export type DeviceMemory = GPUBuffer | PageRun

/** The buffer that memory lies in, and where it begins there. */
export function placeOf(memory: DeviceMemory): Pick<PagePlace, 'buffer' | 'offset'> {
  return memory instanceof PageRun ? memory : { buffer: memory, offset: 0 }
}
