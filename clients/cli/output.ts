import { once } from 'node:events'
import type { RelationStats } from '../../protocol/replies.js'
import { columnSpec } from './import/column-spec.js'

/** Writes lines to standard output, no faster than they are read. */
export async function printLines(lines: readonly string[]): Promise<void> {
  if (lines.length === 0) return
  if (!process.stdout.write(`${lines.join('\n')}\n`)) await once(process.stdout, 'drain')
}

export function asJson(value: unknown): string {
  return JSON.stringify(value)
}

/** Rows as lines with aligned columns; numbers to the right. */
export function table(heads: readonly string[], rows: readonly (readonly (string | number)[])[]): string[] {
  const cells = [
    heads,
    ...rows.map((row) => row.map((cell) => (typeof cell === 'number' ? grouped(cell) : cell))),
  ]
  const widths = heads.map((_, column) => Math.max(...cells.map((row) => row[column].length)))
  const isNumber = (column: number) => rows.some((row) => typeof row[column] === 'number')
  return cells.map((row) =>
    row
      .map((cell, column) => (isNumber(column) ? cell.padStart(widths[column]) : cell.padEnd(widths[column])))
      .join('  ')
      .trimEnd(),
  )
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

/** How many indexes and, where there are any, relations something holds. */
export function contents(
  indexes: { readonly length: number },
  relations: { readonly length: number },
): string {
  const more = relations.length === 0 ? '' : ` and ${grouped(relations.length)} relations`
  return `${grouped(indexes.length)} indexes${more}`
}
