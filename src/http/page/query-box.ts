import { byId, setText } from './dom.js'
import { milliseconds, whole } from './format.js'
import { faultText, ownClient } from './own-client.js'
import { type ResultColumn, showResult } from './result-table.js'

/** Rows of a result that are shown; the query ends when there are so many. */
const MOST_ROWS = 200

/** A box for a statement in SQL, and its result. */
export class QueryBox {
  readonly #text = byId('sql') as HTMLTextAreaElement
  readonly #run = byId('run-sql') as HTMLButtonElement
  readonly #state = byId('sql-state')
  readonly #result = byId('sql-result')

  constructor() {
    byId('sql-form').addEventListener('submit', (event) => {
      event.preventDefault()
      void this.#ask()
    })
    this.#text.addEventListener('keydown', (event) => {
      if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return
      event.preventDefault()
      void this.#ask()
    })
  }

  async #ask(): Promise<void> {
    if (this.#run.disabled || this.#text.value.trim() === '') return
    this.#run.disabled = true
    this.#tell('running …', false)
    const since = performance.now()
    try {
      const { columns, rows, isAll } = await firstRows(this.#text.value)
      showResult(this.#result, columns, rows)
      const count = `${isAll ? '' : 'the first '}${whole(rows.length)} ${rows.length === 1 ? 'row' : 'rows'}`
      this.#tell(`${count} in ${milliseconds(performance.now() - since)}`, false)
    } catch (thrown) {
      this.#result.replaceChildren()
      this.#tell(faultText(thrown), true)
    } finally {
      this.#run.disabled = false
    }
  }

  #tell(text: string, isBad: boolean): void {
    this.#state.classList.toggle('bad', isBad)
    setText(this.#state, text)
  }
}

interface FirstRows {
  readonly columns: readonly ResultColumn[]
  readonly rows: readonly (readonly unknown[])[]
  readonly isAll: boolean
}

async function firstRows(statement: string): Promise<FirstRows> {
  const client = await ownClient()
  let columns: readonly ResultColumn[] = []
  const rows: (readonly unknown[])[] = []
  for await (const batch of client.sql(statement)) {
    columns = batch.columns
    for (let row = 0; row < batch.length; row++) {
      if (rows.length === MOST_ROWS) return { columns, rows, isAll: false }
      rows.push(batch.columns.map((column) => column.at(row)))
    }
  }
  return { columns, rows, isAll: true }
}
