import type { QueryBatch, ResultVector } from '../../sdk/index.js'
import { cellText } from './text-forms.js'

/** Rows that say how wide columns are; a longer value in a later row is cut. */
const SAMPLE_ROWS = 1000
/** What a column is not made narrower than, unless its values are. */
const LEAST_WIDTH = 5
const GAP = '  '

/** A column of the table: its place among those of the result, and its characters. */
interface Shown {
  readonly at: number
  readonly width: number
}

/**
 * Rows in aligned columns, numbers to the right, in lines of no more than some characters: the widest columns are cut, and where that is not
 * enough the last ones are left out, and named.
 */
export async function* terminalTable(
  batches: AsyncIterable<QueryBatch>,
  width: number,
): AsyncGenerator<string> {
  let shown: readonly Shown[] | undefined
  let hidden: readonly string[] = []
  for await (const { columns, length } of batches) {
    const texts = Array.from({ length }, (_, row) => columns.map((column) => cellShown(column, row)))
    const lines: string[] = []
    if (shown === undefined) {
      const heads = columns.map(({ name }) => visible(name))
      const sample = [heads, ...texts.slice(0, SAMPLE_ROWS)]
      const widths = heads.map((_, i) => Math.max(...sample.map((cells) => characters(cells[i]).length)))
      shown = fitted(widths, width)
      hidden = heads.slice(shown.length)
      lines.push(line(columns, heads, shown), shown.map((one) => '─'.repeat(one.width)).join(GAP))
    }
    for (const cells of texts) lines.push(line(columns, cells, shown))
    yield `${lines.join('\n')}\n`
  }
  if (hidden.length > 0) yield `not shown, since the terminal is too narrow: ${hidden.join(', ')}\n`
}

function fitted(widths: readonly number[], width: number): Shown[] {
  const own = widths.slice()
  const total = () => own.reduce((sum, one) => sum + one, GAP.length * (own.length - 1))
  while (
    total() > width &&
    own.length > 1 &&
    own.every((one, i) => one <= Math.min(LEAST_WIDTH, widths[i]))
  ) {
    own.pop()
  }
  while (total() > width && Math.max(...own) > 1) {
    const widest = own.indexOf(Math.max(...own))
    if (own[widest] <= LEAST_WIDTH && own.length > 1) own.pop()
    else own[widest]--
  }
  return own.map((one, at) => ({ at, width: one }))
}

function line(columns: readonly ResultVector[], cells: readonly string[], shown: readonly Shown[]): string {
  const parts = shown.map(({ at, width }) => {
    const all = characters(cells[at])
    const text = all.length > width ? `${all.slice(0, width - 1).join('')}…` : cells[at]
    const blanks = ' '.repeat(Math.max(0, width - all.length))
    return isNumber(columns[at]) ? blanks + text : text + blanks
  })
  return parts.join(GAP).trimEnd()
}

function isNumber({ type }: ResultVector): boolean {
  return type !== 'string' && type !== 'boolean'
}

function cellShown(column: ResultVector, row: number): string {
  return visible(cellText(column, column.at(row)) ?? 'null')
}

/** Without line ends and other characters that would move the cursor. */
function visible(text: string): string {
  return text.replace(/\p{Cc}/gu, (character) => JSON.stringify(character).slice(1, -1))
}

function characters(text: string): string[] {
  return [...text]
}
