import { make } from './dom.js'
import { valueText } from './values.js'

/** A column of a result: its name, and what kind of values it has. */
export interface ResultColumn {
  readonly name: string
  readonly type: string
}

const NUMBERS = /^(u32|i32|u64|i64|f32|f64|decimal)/

/** Shows a result in place of what an element has. */
export function showResult(
  parent: HTMLElement,
  columns: readonly ResultColumn[],
  rows: readonly (readonly unknown[])[],
): void {
  const kinds = columns.map(({ type }) => (NUMBERS.test(type) ? 'number' : ''))
  const heads = columns.map(({ name, type }, i) => {
    const head = make('th', kinds[i], name, make('span', 'sub', type))
    head.setAttribute('scope', 'col')
    return head
  })
  const lines = rows.map((row) =>
    make(
      'tr',
      '',
      ...row.map((value, i) =>
        make('td', value === null || value === undefined ? `${kinds[i]} none` : kinds[i], valueText(value)),
      ),
    ),
  )
  parent.replaceChildren(
    make('table', 'result', make('thead', '', make('tr', '', ...heads)), make('tbody', '', ...lines)),
  )
}
