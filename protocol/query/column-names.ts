import type { NodeReader } from './node-reader.js'
import type { NamedColumn } from './typed.js'

/**
 * Columns of two sides under names that tell them apart: one that has a name of the other side, and comes from another relation as it is, gets the relation's in front.
 * Others keep theirs.
 */
export function toldApart(
  left: readonly NamedColumn[],
  right: readonly NamedColumn[],
): readonly [left: readonly NamedColumn[], right: readonly NamedColumn[]] {
  return [renamed(left, right), renamed(right, left)]
}

function renamed(own: readonly NamedColumn[], others: readonly NamedColumn[]): readonly NamedColumn[] {
  const namesakes = new Map(others.map((column) => [column.name, column]))
  return own.map((column) => {
    const { name, relation } = column
    const namesake = namesakes.get(name)
    // A relation beside itself would have the same names again.
    if (relation === undefined || namesake === undefined || namesake.relation === relation) return column
    return { ...column, name: `${relation}.${name}`, relation: undefined }
  })
}

/** @throws WarpdexError `BAD_REQUEST` where two columns have one name */
export function refuseClashes(reader: NodeReader, columns: readonly NamedColumn[]): void {
  const names = new Set<string>()
  for (const { name } of columns) {
    if (names.has(name)) {
      throw reader.fault(`two columns are named "${name}"; "as" of a scan, or a projection, tells them apart`)
    }
    names.add(name)
  }
}
