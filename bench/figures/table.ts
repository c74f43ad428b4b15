import type { Kept } from './kept.js'

/** A table of a document whose figures come from kept files. */
export interface Table {
  /** As the document's marker calls it. */
  readonly name: string
  /** Below `bench/results`. */
  readonly files: readonly string[]
  /** The whole in Markdown. */
  render(kept: readonly Kept[]): string
}

/** A table by what its lines and its columns stand for. */
export interface Grid<Line, Column> {
  readonly name: string
  readonly files: readonly string[]
  /** The heading of the labels, if they have one; `a | b` where a label has two columns. */
  readonly corner?: string
  /** Labels of lines, as many columns wide as the corner. */
  readonly lines: readonly (readonly [label: string, Line])[]
  readonly columns: readonly (readonly [heading: string, Column])[]
  /** What stands in a cell: most often `(kept, row, figure) => kept.show(row, figure)`. */
  cell(kept: Kept, line: Line, column: Column, others: readonly Kept[]): string
}

/** A table of one cell for each line and column. Lines and columns must not be empty: a figure's name that no row has would go unnoticed. */
export function grid<Line, Column>(grid: Grid<Line, Column>): Table {
  const { name, files, corner = '', lines, columns } = grid
  const render = (kept: readonly Kept[]) => {
    const [first, ...others] = kept as [Kept, ...Kept[]]
    const cells = lines.map(([, line]) => columns.map(([, column]) => grid.cell(first, line, column, others)))
    for (const [i, [label]] of lines.entries()) {
      if (cells[i]!.every((cell) => cell === '')) throw new Error(`${name} has no figures for ${label}`)
    }
    for (const [i, [heading]] of columns.entries()) {
      if (cells.every((line) => line[i] === '')) throw new Error(`${name} has no figures for ${heading}`)
    }
    const head = [...corner.split(' | '), ...columns.map(([heading]) => heading)]
    const body = lines.map(([label], i) => [...label.split(' | '), ...cells[i]!])
    return [inMarkdown(head), `|${'---|'.repeat(head.length)}`, ...body.map(inMarkdown)].join('\n')
  }
  return { name, files, render }
}

function inMarkdown(cells: readonly string[]): string {
  return `|${cells.map((cell) => (cell === '' ? ' ' : ` ${cell} `)).join('|')}|`
}
