import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'

/** One measured line: what was measured, and figures by name. */
export interface Row {
  readonly name: string
  readonly figures: Readonly<Record<string, number | string>>
}

export interface Report {
  readonly suite: string
  readonly adapter: string
  readonly rows: readonly Row[]
}

/** Prints rows as tables: one for each run of rows that have the same figures. */
export function printTables(title: string, rows: readonly Row[]): void {
  const tables: Row[][] = []
  let figures = ''
  for (const row of rows) {
    const names = Object.keys(row.figures).join()
    if (tables.length === 0 || names !== figures) tables.push([])
    figures = names
    tables.at(-1)!.push(row)
  }
  for (const table of tables) printTable(title, table)
}

function printTable(title: string, rows: readonly Row[]): void {
  const columns = Object.keys(rows[0]!.figures)
  const lines = [
    ['', ...columns],
    ...rows.map(({ name, figures }) => [name, ...columns.map((c) => show(figures[c]))]),
  ]
  const widths = lines[0]!.map((_, i) => Math.max(...lines.map((line) => line[i]!.length)))
  console.log(`\n${title}`)
  for (const line of lines) {
    console.log(
      line.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!))).join('  '),
    )
  }
}

/** Characters of a text that a table has room for; the report has all. */
const MOST_TEXT = 24

function show(figure: number | string | undefined): string {
  if (figure === undefined) return ''
  if (typeof figure === 'string') return figure.length > MOST_TEXT ? `${figure.slice(0, MOST_TEXT)}…` : figure
  return figure >= 100 ? figure.toFixed(0) : figure.toPrecision(3)
}

export function writeReport(path: string, report: Report): void {
  writeJson(path, report)
}

export function writeJson(path: string, content: object): void {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, `${JSON.stringify(content, null, 2)}\n`)
}

/** An adapter's name as a folder's. */
export function folderName(adapter: string): string {
  return adapter
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '')
}

/** The middle of several measurements. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)]!
}

/** Of figures that are the middle of several measurements the least and the most of these. */
export type Spread = Readonly<Record<string, readonly [least: number, most: number]>>

export function leastAndMost(values: readonly number[]): readonly [least: number, most: number] {
  return [Math.min(...values), Math.max(...values)]
}

/** The middle of several measurements under a name, and beside it the least and the most of them. */
export function spreadOf(name: string, values: readonly number[]): Readonly<Record<string, number>> {
  return {
    [name]: median(values),
    [`${name}, least`]: Math.min(...values),
    [`${name}, most`]: Math.max(...values),
  }
}
