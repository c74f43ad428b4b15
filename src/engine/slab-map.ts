import type { PageRun } from '../../gpu/memory/page-run.js'
import { PAGE_BYTES, type Slab, type SlabSort } from '../../gpu/memory/slab.js'

/** What has pages, in words for people. */
export interface PageOwner {
  readonly label: string
  readonly runs: readonly PageRun[]
}

/** Neighbouring pages of one owner. */
export interface OwnedPages {
  /** Undefined for those that are not told apart. */
  readonly owner?: string
  /** Number of the first one. */
  readonly first: number
  readonly pages: number
}

/** What lies where in a slab; all other pages are free. */
export interface SlabMap {
  readonly number: number
  readonly sort: SlabSort
  readonly pages: number
  readonly owned: readonly OwnedPages[]
}

/** The slabs of a device with whose their pages are. */
export function slabMaps(slabs: readonly Slab[], owners: readonly PageOwner[]): readonly SlabMap[] {
  const labels = new Map(owners.flatMap(({ label, runs }) => runs.map((run) => [run, label] as const)))
  return slabs.map(({ number, sort, pages, runs }) => {
    const placed = [...runs].sort((one, other) => one.firstPage - other.firstPage)
    return { number, sort, pages, owned: joined(placed, labels) }
  })
}

function joined(runs: readonly PageRun[], labels: ReadonlyMap<PageRun, string>): readonly OwnedPages[] {
  const owned: { owner?: string; first: number; pages: number }[] = []
  for (const run of runs) {
    const owner = labels.get(run)
    const [first, pages] = [run.firstPage, Math.ceil(run.size / PAGE_BYTES)]
    const before = owned.at(-1)
    if (before !== undefined && before.owner === owner && before.first + before.pages === first) {
      before.pages += pages
    } else {
      owned.push({ ...(owner === undefined ? {} : { owner }), first, pages })
    }
  }
  return owned
}
