import type { ResultColumn } from '../../protocol/query/tree.js'
import type { ColumnDefinition } from '../../protocol/relation.js'

/** A relation as statements may name it. */
export interface MirroredRelation {
  readonly name: string
  /** About as many as there are. */
  readonly rows: number
  readonly columns: readonly ResultColumn[]
}

/** What a statement may name. */
export interface Catalogue {
  /** Relations whose names occur in it; one at least if there are any. */
  readonly mirrored: readonly MirroredRelation[]
  /** The names of all. */
  readonly names: readonly string[]
}

/** What there is to know of a relation. */
interface Described {
  readonly name: string
  readonly columns: readonly ColumnDefinition[]
}

/**
 * The relations that a statement may name. Names that differ in capitals only are one to SQL, so none of them is there. Rows are told as a power of two, so that
 * the mirror of a relation that grows is rarely made again.
 * @param rowsOf tells the rows of a relation, which takes longer than the search for its name
 */
export function catalogueOf<Relation extends Described>(
  text: string,
  relations: readonly Relation[],
  rowsOf: (relation: Relation) => number,
): Catalogue {
  const written = folded(text)
  const occurring = relations.filter(({ name }) => written.includes(folded(name.replaceAll('"', '""'))))
  const times = new Map<string, number>()
  for (const { name } of occurring) times.set(folded(name), (times.get(folded(name)) ?? 0) + 1)
  const named = occurring.filter(({ name }) => times.get(folded(name)) === 1)
  const mirrored = (named.length === 0 ? relations : named).map((relation): MirroredRelation => {
    const columns = relation.columns.map(({ name, type, nullable }) => ({ name, type, nullable }))
    return { name: relation.name, rows: 2 ** Math.ceil(Math.log2(rowsOf(relation) + 1)), columns }
  })
  return {
    mirrored: named.length === 0 ? smallest(mirrored) : mirrored,
    names: relations.map(({ name }) => name),
  }
}

/** What has no rows of its own has them from some relation. */
function smallest(relations: readonly MirroredRelation[]): readonly MirroredRelation[] {
  return relations.length === 0
    ? []
    : [relations.reduce((least, each) => (each.rows < least.rows ? each : least))]
}

/** As SQL compares names. */
export function folded(name: string): string {
  return name.replace(/[A-Z]+/g, (capitals) => capitals.toLowerCase())
}
