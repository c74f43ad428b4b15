import type { ResultColumn } from '../../protocol/query/tree.js'
import type { ColumnDefinition } from '../../protocol/relation.js'

/** A relation as statements may name it. */
export interface MirroredRelation {
  readonly name: string
  /** About as many as there are. */
  readonly rows: number
  readonly columns: readonly ResultColumn[]
}

/** What there is to know of a relation. */
interface Described {
  readonly name: string
  readonly rows: number
  readonly columns: readonly ColumnDefinition[]
}

/**
 * The relations that a statement may name. Names that differ in capitals only are one to SQL, so none of them is there. Rows are told as a power of two, so that
 * the mirror of a relation that grows is rarely made again.
 */
export function catalogueOf(relations: readonly Described[]): readonly MirroredRelation[] {
  const times = new Map<string, number>()
  for (const { name } of relations) times.set(folded(name), (times.get(folded(name)) ?? 0) + 1)
  return relations
    .filter(({ name }) => times.get(folded(name)) === 1)
    .map(({ name, rows, columns }) => ({
      name,
      rows: 2 ** Math.ceil(Math.log2(rows + 1)),
      columns: columns.map(({ name, type, nullable }) => ({ name, type, nullable })),
    }))
}

function folded(name: string): string {
  return name.toLowerCase()
}
