import { once } from 'node:events'
import type { RelationStats } from '../../protocol/replies.js'
import { columnSpec } from './import/column-spec.js'
import { styled } from './styled.js'

/** Writes lines to standard output, no faster than they are read. */
export async function printLines(lines: readonly string[]): Promise<void> {
  if (lines.length === 0) return
  if (!process.stdout.write(`${lines.join('\n')}\n`)) await once(process.stdout, 'drain')
}

export function asJson(value: unknown): string {
  return JSON.stringify(value)
}

/** What a command that does one thing says of it: a line for people or, with --json, an object. */
export function printOutcome(json: boolean, line: string, outcome: object): Promise<void> {
  return printLines([json ? asJson(outcome) : line])
}

/** Rows as lines with aligned columns; numbers to the right. */
export function table(heads: readonly string[], rows: readonly (readonly (string | number)[])[]): string[] {
  const cells = [
    heads,
    ...rows.map((row) => row.map((cell) => (typeof cell === 'number' ? grouped(cell) : cell))),
  ]
  const widths = heads.map((_, column) => Math.max(...cells.map((row) => row[column].length)))
  const isNumber = (column: number) => rows.some((row) => typeof row[column] === 'number')
  const [head, ...lines] = cells.map((row) =>
    row
      .map((cell, column) => (isNumber(column) ? cell.padStart(widths[column]) : cell.padEnd(widths[column])))
      .join('  ')
      .trimEnd(),
  )
  return [styled('bold', head, process.stdout), ...lines]
}

/** A whole number with commas between its thousands. */
export function grouped(value: number): string {
  return Math.round(value).toLocaleString('en-US')
}

/** An amount of memory in the unit that suits it. */
export function bytesText(bytes: number): string {
  const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB']
  const power = Math.min(units.length - 1, Math.floor(Math.log2(Math.max(1, bytes)) / 10))
  return power === 0 ? `${bytes} bytes` : `${(bytes / 2 ** (10 * power)).toFixed(1)} ${units[power]}`
}

/** Figures by name; a list has a line for each of its members. */
export function figureLines(figures: Readonly<Record<string, unknown>>): string[] {
  const rows = Object.entries(figures).flatMap(([name, value]) => {
    const members = Array.isArray(value) && value.length > 0 ? value : [value]
    return members.map((member, i) => [i === 0 ? wordsOf(name) : '', shown(name, member)])
  })
  return table(['', ''], rows).slice(1)
}

/** Bytes are in a unit that suits them. */
function shown(name: string, value: unknown): string {
  if (typeof value === 'number' && /bytes$/i.test(name)) return bytesText(value)
  if (typeof value === 'number' && name === 'nextExpiry') return new Date(value).toISOString()
  if (typeof value === 'string') return value
  if (typeof value !== 'object' || value === null) return asJson(value)
  if (Array.isArray(value)) return value.map((member) => shown(name, member)).join(', ') || 'none'
  const parts = Object.entries(value).map(
    ([part, each]) => `${wordsOf(part).replace(/ bytes$/, '')} ${shown(part, each)}`,
  )
  return parts.length === 0 ? 'none' : parts.join(', ')
}

function wordsOf(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
}

/** A table of relations. */
export function relationLines(relations: readonly RelationStats[]): string[] {
  const anyKept = relations.some(({ kept }) => kept !== undefined)
  const rows = relations.map(({ name, columns, indexes, rows, deviceBytes, kept }) => {
    const over = indexes.map((index) => `${index.name} (${index.columns.join(', ')})`).join(', ')
    const expiry =
      kept === undefined
        ? ''
        : `in ${grouped(kept.secondsLeft)} of ${grouped(kept.seconds)} s${kept.isOlder ? ', older than its relations' : ''}`
    const last = anyKept ? [over, expiry] : [over]
    return [name, columnSpec(columns), rows, bytesText(deviceBytes), ...last]
  })
  const heads = ['relation', 'columns', 'rows', 'on the device', 'indexes']
  return table(anyKept ? [...heads, 'expires'] : heads, rows)
}

/** So many of something. */
export function counted(count: number, one: string, more: string): string {
  return `${grouped(count)} ${count === 1 ? one : more}`
}

/** How many indexes and, where there are any, relations something holds. */
export function contents(
  indexes: { readonly length: number },
  relations: { readonly length: number },
): string {
  const more = relations.length === 0 ? '' : ` and ${counted(relations.length, 'relation', 'relations')}`
  return counted(indexes.length, 'index', 'indexes') + more
}
