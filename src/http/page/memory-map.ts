import type { RegionStats } from '../../../gpu/index-structure.js'
import type { ServerStatus } from '../status.js'
import { Keyed, make, rows, setText } from './dom.js'
import { amount, bytes, whole } from './format.js'
import { colour } from './plots.js'

export type IndexStatus = ServerStatus['indexes'][number]

/** Bytes of a page of device memory (`gpu/memory/page-pool.ts`). */
const PAGE_BYTES = 1024
/** Edges of a cell and what lies between two, in pixels. */
const CELL = 9
const GAP = 2
const STEP = CELL + GAP
/** Rows of cells that a map has at most, beside those that regions begin. */
const MOST_ROWS = 9

interface Role {
  readonly name: string
  /** What colours it: the rule `role-…` of the style sheet. */
  readonly kind: string
}

const ROLES: Readonly<Record<string, Role>> = {
  nodes: { name: 'nodes', kind: 'tree' },
  heads: { name: 'node heads', kind: 'tree' },
  directory: { name: 'top levels', kind: 'tree' },
  partitions: { name: 'partitions', kind: 'tree' },
  tuples: { name: 'tuples', kind: 'tuples' },
  extents: { name: 'payload lists', kind: 'lists' },
  heap: { name: 'keys', kind: 'keys' },
  links: { name: 'links', kind: 'order' },
  separators: { name: 'separators', kind: 'order' },
  removed: { name: 'removed tuples', kind: 'order' },
  merge: { name: 'merge in progress', kind: 'merge' },
  coming: { name: 'room for a merge', kind: 'merge' },
}

function roleOf(role: string): Role {
  return ROLES[role] ?? { name: role, kind: 'tuples' }
}

/** The device memory of one index, page by page, and what else there is to know of it. */
class MemoryMap {
  readonly element: HTMLElement
  readonly #title = make('h3')
  readonly #holds = make('span', 'scale')
  readonly #canvas = make('canvas')
  readonly #scale = make('p', 'scale')
  readonly #table = make('table')
  readonly #regions: Keyed<RegionStats>
  readonly #facts = make('dl')
  #index: IndexStatus | undefined
  #drawn = ''

  constructor() {
    const head = make('tr')
    for (const [i, name] of ['Region', 'Live', 'Garbage', 'Free'].entries()) {
      const cell = make('th', i === 0 ? '' : 'number', name)
      cell.setAttribute('scope', 'col')
      head.append(cell)
    }
    const body = make('tbody')
    this.#table.append(make('thead', '', head), body)
    this.#regions = regionRows(body)
    this.#canvas.setAttribute('role', 'img')
    const caption = make('figcaption', '', this.#title, this.#holds)
    this.element = make('figure', 'card map', caption, this.#canvas, this.#scale, this.#table, this.#facts)
    new ResizeObserver(() => this.draw()).observe(this.element)
  }

  update(index: IndexStatus): void {
    this.#index = index
    const { regions } = index
    setText(this.#title, index.name)
    setText(this.#holds, holdsOf(index))
    const hasMap = regions.length > 0
    this.#canvas.hidden = !hasMap
    this.#table.hidden = !hasMap
    this.#regions.show(regions, ({ role }) => role)
    this.#canvas.setAttribute('aria-label', `Memory pages of ${index.name}; the table below has the figures`)
    showFacts(this.#facts, index)
    this.draw()
  }

  /** Draws the map where it has changed, or anew. */
  draw({ anew } = { anew: false }): void {
    const index = this.#index
    if (index === undefined) return
    const { regions } = index
    if (regions.length === 0) {
      setText(this.#scale, awayText(index))
      return
    }
    const width = this.#canvas.clientWidth
    if (width === 0) return
    const state = JSON.stringify([width, devicePixelRatio, regions])
    if (!anew && state === this.#drawn) return
    this.#drawn = state
    const columns = Math.max(1, Math.floor((width + GAP) / STEP))
    const cells = layOut(regions, columns)
    setText(this.#scale, `${whole(cells.pages)} pages of 1 KiB; one square is ${squareText(cells.pagesEach)}`)
    drawCells(this.#canvas, cells, columns)
  }
}

function regionRows(body: HTMLElement): Keyed<RegionStats> {
  const columns = rows<RegionStats>(body, [
    { text: ({ role }) => roleOf(role).name, mark: ({ role }) => `role-${roleOf(role).kind}` },
    { text: ({ usedBytes, garbageBytes }) => bytes(usedBytes - garbageBytes), className: 'number' },
    { text: ({ garbageBytes }) => (garbageBytes === 0 ? '–' : bytes(garbageBytes)), className: 'number' },
    {
      text: ({ bytes: all, usedBytes }) => (all === usedBytes ? '–' : bytes(all - usedBytes)),
      className: 'number',
    },
  ])
  return columns
}

function awayText({ resident, hostBytes }: IndexStatus): string {
  return resident
    ? 'Empty; it has no device memory.'
    : `Paged out: ${bytes(hostBytes)} of host memory. It comes back when it is asked for.`
}

/** What a square stands for. */
function squareText(pages: number): string {
  return pages === 1 ? 'a page' : `${whole(pages)} pages, ${bytes(pages * PAGE_BYTES)}`
}

interface Cells {
  readonly pages: number
  readonly pagesEach: number
  readonly regions: readonly {
    readonly kind: string
    readonly live: number
    readonly garbage: number
    readonly free: number
  }[]
}

/** Divides regions into squares, each for so many pages that all fit; a region begins with a square of its own. */
function layOut(regions: readonly RegionStats[], columns: number): Cells {
  const pages = regions.reduce((sum, { bytes }) => sum + Math.ceil(bytes / PAGE_BYTES), 0)
  let pagesEach = 1
  while (pages / pagesEach > columns * MOST_ROWS) pagesEach *= 2
  const cellBytes = pagesEach * PAGE_BYTES
  return {
    pages,
    pagesEach,
    regions: regions.map(({ role, bytes, usedBytes, garbageBytes }) => {
      const all = Math.max(1, Math.round(bytes / cellBytes))
      const used = Math.min(all, Math.ceil(usedBytes / cellBytes))
      const garbage = Math.min(used, Math.round(garbageBytes / cellBytes))
      return { kind: roleOf(role).kind, live: used - garbage, garbage, free: all - used }
    }),
  }
}

function drawCells(canvas: HTMLCanvasElement, { regions }: Cells, columns: number): void {
  const squares = regions.flatMap(({ kind, live, garbage, free }) => [
    ...Array<readonly [string, string]>(live).fill([kind, 'live']),
    ...Array<readonly [string, string]>(garbage).fill([kind, 'garbage']),
    ...Array<readonly [string, string]>(free).fill([kind, 'free']),
  ])
  const lines = Math.ceil(squares.length / columns)
  const ratio = devicePixelRatio
  canvas.style.height = `${lines * STEP - GAP}px`
  canvas.width = Math.round(canvas.clientWidth * ratio)
  canvas.height = Math.round((lines * STEP - GAP) * ratio)
  const context = canvas.getContext('2d')
  if (context === null) return
  context.scale(ratio, ratio)
  squares.forEach(([kind, content], i) => {
    const x = (i % columns) * STEP
    const y = Math.floor(i / columns) * STEP
    const ink = colour(`role-${kind}`)
    if (content === 'live') {
      context.fillStyle = ink
      context.beginPath()
      context.roundRect(x, y, CELL, CELL, 2)
      context.fill()
      return
    }
    context.strokeStyle = ink
    context.globalAlpha = content === 'free' ? 0.45 : 1
    context.lineWidth = 1
    context.beginPath()
    context.roundRect(x + 0.5, y + 0.5, CELL - 1, CELL - 1, 2)
    if (content === 'garbage') {
      context.moveTo(x + 1, y + CELL - 1)
      context.lineTo(x + CELL - 1, y + 1)
    }
    context.stroke()
    context.globalAlpha = 1
  })
}

/** What maps to what. */
export function holdsOf({ keyType, payloadKind, unique }: IndexStatus): string {
  return `${keyType} to ${payloadKind}${unique ? ', unique' : ''}`
}

export function structureOf({ structure, layout, linked }: IndexStatus): string {
  const name = structure === 'css' ? 'CSS-tree' : 'prefix tree'
  return [name, ...(layout === 'full' ? ['full'] : []), ...(linked === true ? ['linked'] : [])].join(', ')
}

/** How batches of keys were found, the most frequent way first. */
function traversalText({ traversals, structure }: IndexStatus): string {
  const all = Object.entries(traversals).sort(([, one], [, other]) => other - one)
  const sum = all.reduce((total, [, count]) => total + count, 0)
  if (sum === 0) return 'none was needed yet'
  const where = structure === 'css' ? 'search of the sorted part; in the delta ' : ''
  const shares = all.map(([name, count]) =>
    all.length === 1 ? name : `${name} ${Math.round((count / sum) * 100)} %`,
  )
  return `${where}${shares.join(', ')} (${amount(sum)} ${sum === 1 ? 'batch' : 'batches'})`
}

function showFacts(list: HTMLElement, index: IndexStatus): void {
  const { shards, logPosition, logRecords, snapshotPosition, payloads } = index
  const facts: readonly (readonly [string, string])[] = [
    ['Structure', structureOf(index)],
    ['Traversal', traversalText(index)],
    ['Shards', String(shards)],
    ['Payloads', whole(payloads)],
    ['Log', `${whole(Number(logRecords))} records, up to position ${whole(Number(logPosition))}`],
    [
      'Snapshot',
      Number(snapshotPosition) === 0 ? 'none yet' : `of position ${whole(Number(snapshotPosition))}`,
    ],
  ]
  facts.forEach(([name, text], i) => {
    if (list.children[2 * i] === undefined) list.append(make('dt', '', name), make('dd'))
    setText(list.children[2 * i + 1], text)
  })
}

/** The maps of all indexes. */
export class MemoryMaps {
  readonly #maps = new Set<MemoryMap>()
  readonly #parts: Keyed<IndexStatus>

  constructor(parent: HTMLElement) {
    this.#parts = new Keyed(parent, () => {
      const map = new MemoryMap()
      this.#maps.add(map)
      return map
    })
  }

  update(indexes: readonly IndexStatus[]): void {
    this.#parts.show(indexes, ({ name }) => name)
    for (const map of this.#maps) if (!map.element.isConnected) this.#maps.delete(map)
  }

  restyle(): void {
    for (const map of this.#maps) map.draw({ anew: true })
  }
}
