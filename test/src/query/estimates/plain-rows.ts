import type { Cell, HostRelation } from '../host-relation.js'

/** A row by the names of its columns. */
export type PlainRow = Readonly<Record<string, Cell>>

export function plainRows({ rows, columns }: HostRelation): readonly PlainRow[] {
  return Array.from({ length: rows }, (_, row) =>
    Object.fromEntries(columns.map(({ name, cells }) => [name, cells[row]!])),
  )
}

/** The pairs of rows that are equal in columns, of which null equals nothing; of a left join with the left rows that have no partner. */
export function joined(
  left: readonly PlainRow[],
  right: readonly PlainRow[],
  on: readonly (readonly [left: string, right: string])[],
  kind: 'inner' | 'left' = 'inner',
): readonly PlainRow[] {
  const byKey = new Map<string, PlainRow[]>()
  for (const row of right) {
    const key = keyOf(
      row,
      on.map(([, name]) => name),
    )
    const same = key === undefined ? undefined : byKey.get(key)
    if (same !== undefined) same.push(row)
    else if (key !== undefined) byKey.set(key, [row])
  }
  const nulls = Object.fromEntries(Object.keys(right[0] ?? {}).map((name) => [name, null]))
  return left.flatMap((row) => {
    const key = keyOf(
      row,
      on.map(([name]) => name),
    )
    const found = key === undefined ? [] : (byKey.get(key) ?? [])
    if (found.length === 0) return kind === 'left' ? [{ ...row, ...nulls }] : []
    return found.map((other) => ({ ...row, ...other }))
  })
}

/** Different combinations of values, null among them. */
export function combinations(rows: readonly PlainRow[], names: readonly string[]): number {
  return new Set(rows.map((row) => names.map((name) => row[name]).join('|'))).size
}

function keyOf(row: PlainRow, names: readonly string[]): string | undefined {
  const cells = names.map((name) => row[name])
  return cells.includes(null) ? undefined : cells.join('|')
}
