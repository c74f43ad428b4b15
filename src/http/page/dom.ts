/** The element of the page with that id; the page is known to have it. */
export function byId(id: string): HTMLElement {
  const element = document.getElementById(id)
  if (element === null) throw new Error(`the page has no #${id}`)
  return element
}

/** Makes an element. */
export function make<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  className = '',
  ...children: readonly (Node | string)[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag)
  if (className !== '') element.className = className
  element.append(...children)
  return element
}

/** Sets an element's text where it is another one, so that what is selected stays so. */
export function setText(element: Element, text: string): void {
  if (element.textContent !== text) element.textContent = text
}

/** Parts of the page, one a key, that are kept as long as their key is there. */
export class Keyed<T> {
  readonly #parent: HTMLElement
  readonly #create: (value: T) => { readonly element: HTMLElement; update(value: T): void }
  readonly #parts = new Map<string, { readonly element: HTMLElement; update(value: T): void }>()

  constructor(
    parent: HTMLElement,
    create: (value: T) => { readonly element: HTMLElement; update(value: T): void },
  ) {
    this.#parent = parent
    this.#create = create
  }

  /** Brings the parts up to date and into the values' order. */
  show(values: readonly T[], keyOf: (value: T) => string): void {
    const keys = new Set(values.map(keyOf))
    for (const [key, { element }] of this.#parts) {
      if (keys.has(key)) continue
      element.remove()
      this.#parts.delete(key)
    }
    values.forEach((value, i) => {
      const key = keyOf(value)
      const part = this.#parts.get(key) ?? this.#create(value)
      this.#parts.set(key, part)
      part.update(value)
      const place = this.#parent.children[i]
      if (place !== part.element) this.#parent.insertBefore(part.element, place ?? null)
    })
  }
}

/** A column of a table. */
export interface Column<T> {
  readonly text: (value: T) => string
  /** A second, quieter line. */
  readonly below?: (value: T) => string
  readonly className?: string
  /** Whether the text is that of a failure. */
  readonly bad?: (value: T) => boolean
  /** The rule of a coloured mark before it, which stays as it is. */
  readonly mark?: (value: T) => string
}

/** Rows of a table, the first column of which heads them. */
export function rows<T>(body: HTMLElement, columns: readonly Column<T>[]): Keyed<T> {
  return new Keyed(body, (value) => {
    const element = make('tr')
    const cells = columns.map(({ below, className, mark }, i) => {
      const text = make('span')
      const sub = make('span', 'sub')
      const cell = make(i === 0 ? 'th' : 'td', className, text, ...(below === undefined ? [] : [sub]))
      if (mark !== undefined) cell.prepend(make('span', `swatch ${mark(value)}`))
      if (i === 0) cell.setAttribute('scope', 'row')
      element.append(cell)
      return { text, sub }
    })
    const update = (value: T) => {
      columns.forEach(({ text, below, bad }, i) => {
        setText(cells[i].text, text(value))
        if (bad !== undefined) cells[i].text.classList.toggle('bad', bad(value))
        if (below !== undefined) setText(cells[i].sub, below(value))
      })
    }
    return { element, update }
  })
}
