import type { ServerStatus } from '../status.js'
import { Keyed, make, rows, setText } from './dom.js'
import { bytes, whole } from './format.js'
import { colour } from './plots.js'

type SlabStatus = ServerStatus['slabs'][number]

/** Bytes of a page of device memory (`gpu/memory/slab.ts`). */
const PAGE_BYTES = 1024
/** Height of a strip in pixels. */
const HEIGHT = 16
/** What colours the owners of the most pages: the rules `role-…` of the style sheet. */
const KINDS = ['tree', 'tuples', 'lists', 'keys', 'order'] as const
const OTHERS = 'others'

interface Owner {
  readonly name: string
  readonly pages: number
  readonly kind: string
}

/** Who has pages, those with the most first; those that have no colour of their own are one. */
function ownersOf(slabs: readonly SlabStatus[]): readonly Owner[] {
  const pages = new Map<string, number>()
  for (const { owned } of slabs)
    for (const run of owned) pages.set(run.owner ?? OTHERS, (pages.get(run.owner ?? OTHERS) ?? 0) + run.pages)
  const rest = pages.get(OTHERS) ?? 0
  pages.delete(OTHERS)
  const sorted = [...pages].sort(([, one], [, other]) => other - one)
  const coloured = KINDS.flatMap((kind, i) => {
    const owner = sorted[i]
    return owner === undefined ? [] : [{ name: owner[0], pages: owner[1], kind }]
  })
  const others = sorted.slice(KINDS.length).reduce((sum, [, count]) => sum + count, rest)
  return others === 0 ? coloured : [...coloured, { name: OTHERS, pages: others, kind: 'merge' }]
}

/** A slab as a strip, in which each run of pages has its owner's colour. */
class Strip {
  readonly element: HTMLElement
  readonly #title = make('h3')
  readonly #figures = make('span', 'scale')
  readonly #canvas = make('canvas')
  #slab: SlabStatus | undefined
  #kinds: ReadonlyMap<string, string> = new Map()

  constructor() {
    this.#canvas.setAttribute('role', 'img')
    const caption = make('figcaption', '', this.#title, this.#figures)
    this.element = make('figure', 'card map', caption, this.#canvas)
    // It has a width once it is on the page.
    new ResizeObserver(() => this.#draw()).observe(this.element)
  }

  update(slab: SlabStatus, kinds: ReadonlyMap<string, string>): void {
    const { number, sort, pages, owned } = slab
    this.#slab = slab
    this.#kinds = kinds
    const taken = owned.reduce((sum, run) => sum + run.pages, 0)
    setText(this.#title, `Slab ${number}, ${sort}`)
    setText(
      this.#figures,
      `${bytes(pages * PAGE_BYTES)}, ${whole(pages - taken)} of ${whole(pages)} pages free`,
    )
    this.#canvas.setAttribute(
      'aria-label',
      `Pages of slab ${number}; the table has the figures of their owners`,
    )
    this.#draw()
  }

  #draw(): void {
    const width = this.#canvas.clientWidth
    if (width === 0 || this.#slab === undefined) return
    const { pages, owned } = this.#slab
    this.#canvas.style.height = `${HEIGHT}px`
    this.#canvas.width = Math.round(width * devicePixelRatio)
    this.#canvas.height = Math.round(HEIGHT * devicePixelRatio)
    const context = this.#canvas.getContext('2d')
    if (context === null) return
    context.scale(devicePixelRatio, devicePixelRatio)
    for (const run of owned) {
      context.fillStyle = colour(`role-${this.#kinds.get(run.owner ?? OTHERS) ?? 'merge'}`)
      const [begin, end] = [run.first, run.first + run.pages].map((page) => (page / pages) * width)
      context.fillRect(begin, 0, Math.max(1, end - begin), HEIGHT)
    }
  }
}

/** All slabs of the device, and who has their pages. */
export class SlabStrips {
  readonly #strips: Keyed<SlabStatus>
  readonly #owners: Keyed<Owner>
  #slabs: readonly SlabStatus[] = []
  #kinds: ReadonlyMap<string, string> = new Map()

  constructor(parent: HTMLElement, owners: HTMLElement) {
    this.#strips = new Keyed(parent, () => {
      const strip = new Strip()
      return { element: strip.element, update: (slab: SlabStatus) => strip.update(slab, this.#kinds) }
    })
    this.#owners = rows<Owner>(owners, [
      { text: ({ name }) => name, mark: ({ kind }) => `role-${kind}` },
      { text: ({ pages }) => bytes(pages * PAGE_BYTES), className: 'number' },
    ])
  }

  update(slabs: readonly SlabStatus[]): void {
    const owners = ownersOf(slabs)
    this.#slabs = slabs
    this.#kinds = new Map(owners.map(({ name, kind }) => [name, kind]))
    // A row keeps its mark, so that one of another colour is another row.
    this.#owners.show(owners, ({ name, kind }) => `${kind} ${name}`)
    this.#strips.show(slabs, ({ number }) => String(number))
  }

  restyle(): void {
    this.update(this.#slabs)
  }
}
