import { PAGE_BYTES, type Slab } from './slab.js'

/** Free pages that are scattered may be this share of what is live: more of them are brought together. */
const MOST_SCATTERED = 0.3

/** Fewer are not worth it. */
const LEAST_SCATTERED = (64 * 1024) / PAGE_BYTES

/** The longest run of free pages that slabs have, and the slab where it is. */
export function longestFree(slabs: readonly Slab[]): {
  readonly slab: Slab | undefined
  readonly pages: number
} {
  let [longest, at] = [0, undefined as Slab | undefined]
  for (const slab of slabs) {
    const { longest: pages } = slab.free
    if (pages > longest) [longest, at] = [pages, slab]
  }
  return { slab: at, pages: longest }
}

/** Free pages of one sort that are scattered: those in slabs that somebody uses, but for the longest run of them. */
export function scatteredPages(slabs: readonly Slab[]): number {
  const used = slabs.filter(isUsed)
  return used.reduce((sum, { free }) => sum + free.count, 0) - longestFree(used).pages
}

/**
 * The slab of one sort that is to be emptied: where scattered pages are many beside what is live, the one with the most of them for each page
 * that would have to move.
 */
export function slabToEmpty(slabs: readonly Slab[]): Slab | undefined {
  const used = slabs.filter(isUsed)
  const livePages = used.reduce((sum, slab) => sum + live(slab), 0)
  if (scatteredPages(used) <= Math.max(MOST_SCATTERED * livePages, LEAST_SCATTERED)) return undefined
  const longest = longestFree(used)
  const gain = (slab: Slab) => (slab.free.count - (slab === longest.slab ? longest.pages : 0)) / live(slab)
  return used.reduce((best, slab) => (gain(slab) > gain(best) ? slab : best))
}

function isUsed({ runs }: Slab): boolean {
  return runs.size > 0
}

function live({ pages, free }: Slab): number {
  return pages - free.count
}
