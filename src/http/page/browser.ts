import type {
  IndexDefinition,
  KeyPrefix,
  KeyType,
  RelationInfo,
  ScanOptions,
} from '../../../clients/sdk/index.js'
import { byId, Keyed, make, setText } from './dom.js'
import { whole } from './format.js'
import { faultText, ownClient } from './own-client.js'
import { showResult } from './result-table.js'

/** Entries or rows of a page. */
const PAGE = 50

/** What can be looked through. */
type Shown =
  | { readonly kind: 'index'; readonly of: IndexDefinition }
  | { readonly kind: 'relation'; readonly of: RelationInfo }

interface Offered {
  readonly indexes: readonly IndexDefinition[]
  readonly relations: readonly RelationInfo[]
}

/** Where a page begins: behind a token of an index, or at a row. */
interface Place {
  readonly after?: Uint8Array
  readonly row: number
}

const START: Place = { row: 0 }

/** Looks through keys and rows. */
export class Browser {
  readonly #choice = byId('browse-name') as HTMLSelectElement
  readonly #from = byId('browse-from') as HTMLInputElement
  readonly #hint = byId('browse-hint')
  readonly #state = byId('browse-state')
  readonly #result = byId('browse-result')
  readonly #next = byId('browse-next') as HTMLButtonElement
  readonly #options = new Keyed<Shown>(byId('browse-name'), (shown) => {
    const element = make('option', '', titleOf(shown))
    element.value = titleOf(shown)
    return { element, update: () => {} }
  })
  #all: readonly Shown[] = []
  #place: Place | undefined

  constructor() {
    byId('browse-form').addEventListener('submit', (event) => {
      event.preventDefault()
      void this.#show(START)
    })
    this.#next.addEventListener('click', () => void this.#show(this.#place ?? START))
    // A page begins in what was shown before it.
    for (const field of [this.#choice, this.#from])
      field.addEventListener('input', () => {
        this.#next.hidden = true
      })
    this.#choice.addEventListener('change', () => this.#explain())
  }

  /** Offers what there is. */
  update({ indexes, relations }: Offered): void {
    this.#all = [
      ...indexes.map((of) => ({ kind: 'index', of }) as const),
      ...relations.map((of) => ({ kind: 'relation', of }) as const),
    ]
    this.#options.show(this.#all, titleOf)
    this.#explain()
  }

  get #chosen(): Shown | undefined {
    return this.#all.find((shown) => titleOf(shown) === this.#choice.value)
  }

  /** Says what may be given to begin at. */
  #explain(): void {
    const shown = this.#chosen
    setText(this.#hint, shown === undefined ? '' : hintOf(shown))
  }

  async #show(place: Place): Promise<void> {
    const shown = this.#chosen
    if (shown === undefined) return
    this.#state.classList.remove('bad')
    try {
      const from = this.#from.value.trim()
      this.#place = await (shown.kind === 'index'
        ? this.#entries(shown.of, from, place)
        : this.#rows(shown.of, from, place))
      this.#next.hidden = this.#place === undefined
    } catch (thrown) {
      this.#state.classList.add('bad')
      setText(this.#state, faultText(thrown))
    }
  }

  /** @returns where the next page begins, if there is one */
  async #entries(definition: IndexDefinition, from: string, place: Place): Promise<Place | undefined> {
    const { name, keyType, payloadKind } = definition
    const index = (await ownClient()).index(name)
    const options: ScanOptions<KeyType> = { ...beginOf(from, keyType), pageSize: PAGE, limit: PAGE + 1 }
    const { page, more, snapshot } = await index.entries({ ...options, after: place.after }).firstPage()
    void snapshot?.close()
    const columns = [
      { name: 'key', type: keyType },
      { name: 'payload', type: payloadKind },
    ]
    showResult(this.#result, columns, entriesOf(page))
    const row = place.row + page.length
    setText(this.#state, rangeText('entries', place.row, row))
    return more ? { after: page.token, row } : undefined
  }

  async #rows({ name, columns }: RelationInfo, from: string, place: Place): Promise<Place | undefined> {
    const { relation } = await import('../../../clients/sdk/index.js')
    const first = place === START && /^\d+$/.test(from) ? Number(from) : place.row
    const client = await ownClient()
    const rows: (readonly unknown[])[] = []
    for await (const batch of client.query(relation(name).limit(PAGE + 1, first)))
      for (let row = 0; row < batch.length; row++) rows.push(batch.columns.map((column) => column.at(row)))
    const more = rows.length > PAGE
    showResult(this.#result, columns, rows.slice(0, PAGE))
    const end = first + Math.min(PAGE, rows.length)
    setText(this.#state, rangeText('rows', first, end))
    return more ? { row: end } : undefined
  }
}

function titleOf({ kind, of }: Shown): string {
  return `${kind} ${of.name}`
}

function entriesOf(page: {
  readonly length: number
  readonly keys: { at(i: number): unknown }
  readonly payloads: { at(i: number): unknown }
}): unknown[][] {
  return Array.from({ length: page.length }, (_, i) => [page.keys.at(i), page.payloads.at(i)])
}

function hintOf({ kind, of }: Shown): string {
  if (kind === 'relation') return 'the number of a row; empty begins at the first'
  const { keyType } = of
  if (keyType.startsWith('tuple'))
    return `the leading parts of ${keyType}, such as [7]; empty begins at the first`
  return keyType === 'string' || keyType === 'bytes'
    ? 'what keys begin with; empty shows all'
    : `a ${keyType}; empty begins at the first`
}

/** Where a scan begins. @throws Error where the text is no key; of the client where it is a wrong one */
function beginOf(text: string, keyType: KeyType): Pick<ScanOptions<KeyType>, 'from' | 'prefix'> {
  if (text === '') return {}
  if (keyType === 'string') return { prefix: text as KeyPrefix<KeyType> }
  if (keyType === 'bytes') return { prefix: new TextEncoder().encode(text) as KeyPrefix<KeyType> }
  if (keyType.startsWith('tuple')) return { prefix: JSON.parse(text) as KeyPrefix<KeyType> }
  if (keyType === 'u64' || keyType === 'i64') return { from: BigInt(text) }
  const number = Number(text)
  if (Number.isNaN(number)) throw new Error(`${text} is not a number; keys are ${keyType}`)
  return { from: number }
}

function rangeText(what: string, begin: number, end: number): string {
  return begin === end ? `no ${what}` : `${what} ${whole(begin + 1)} to ${whole(end)}`
}
