import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Row } from '../report.js'

/** A file of figures that a benchmark has kept. */
export class Kept {
  /** As it was kept. */
  readonly content: unknown
  readonly #path: string
  readonly #rows: ReadonlyMap<string, Row['figures']>

  private constructor(path: string, content: unknown, rows: readonly Row[]) {
    this.content = content
    this.#path = path
    this.#rows = new Map(rows.map(({ name, figures }) => [name, figures]))
  }

  static read(folder: string, path: string): Kept {
    const text = readFileSync(join(folder, path), 'utf8')
    if (path.endsWith('.txt')) return new Kept(path, text, questionsOf(text))
    const content: { readonly rows?: readonly Row[] } = JSON.parse(text)
    return new Kept(path, content, content.rows ?? [])
  }

  has(row: string): boolean {
    return this.#rows.has(row)
  }

  /**
   * A figure of a row; undefined where the row has none, or a text that says why.
   * @throws Error if there is no such row
   */
  figure(row: string, name: string): number | undefined {
    const figures = this.#rows.get(row)
    if (figures === undefined) throw new Error(`${this.#path} has no row ${JSON.stringify(row)}`)
    const figure = figures[name]
    return typeof figure === 'number' ? figure : undefined
  }

  /** The same as a document has it, times `scale`; empty where there is none. */
  show(row: string, name: string, scale = 1): string {
    const figure = this.figure(row, name)
    return figure === undefined ? '' : showNumber(figure * scale)
  }
}

/** Three digits that count, four from a thousand on, and whole numbers below 100,000 as they are. */
export function showNumber(value: number): string {
  const size = Math.abs(value)
  if (Number.isInteger(value) && size < 100_000) return value.toLocaleString('en')
  const digits = size < 1000 ? 3 : 4
  const rounded = Number(value.toPrecision(digits))
  const places = Math.max(0, digits - 1 - Math.floor(Math.log10(Math.abs(rounded))))
  return rounded.toLocaleString('en', { minimumFractionDigits: places, maximumFractionDigits: places })
}

/** The times of the questions of TPC-H (`npm run tpch`). */
function questionsOf(text: string): Row[] {
  return [...text.matchAll(/^(Q\d+): .*: ([\d.]+) ms, DuckDB ([\d.]+) ms/gm)].map((match) => ({
    name: match[1]!,
    figures: { ms: Number(match[2]), 'DuckDB ms': Number(match[3]) },
  }))
}
