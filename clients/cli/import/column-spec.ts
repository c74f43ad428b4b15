import { TYPE_NAMES } from '../../../protocol/column-types.js'
import { badRequest } from '../../../protocol/errors.js'
import { type ColumnDefinition, parseColumns } from '../../../protocol/relation.js'

/**
 * Columns as people write them: `id:u32,city:string?`, where a question mark says that values may be missing.
 * @throws WarpdexError `BAD_REQUEST`
 */
export function parseColumnSpec(text: string): readonly ColumnDefinition[] {
  const columns = text.split(/,(?![^(]*\))/).map((part) => {
    const match = /^\s*(.+?)\s*:\s*(\w+(?:\([\d, ]+\))?)(\??)\s*$/.exec(part)
    if (match !== null) return { name: match[1], type: match[2], nullable: match[3] === '?' }
    throw badRequest(
      `"${part}" is not a column; one is NAME:TYPE, with a question mark behind it where values may be missing, and TYPE one of ${TYPE_NAMES}`,
    )
  })
  return parseColumns(columns)
}

/** Columns as `parseColumnSpec` reads them. */
export function columnSpec(columns: readonly ColumnDefinition[]): string {
  return columns.map(({ name, type, nullable }) => `${name}:${type}${nullable ? '?' : ''}`).join(',')
}
