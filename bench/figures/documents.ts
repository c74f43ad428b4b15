import { Kept } from './kept.js'
import type { Table } from './table.js'

/** What a document is with all its tables filled in. */
export interface Filled {
  readonly text: string
  /** Names of the tables that it has. */
  readonly tables: readonly string[]
  /** Those that were different. */
  readonly changed: readonly string[]
}

/** A table between its markers; the first says where its figures come from. */
const MARKED = /<!-- figures: ([\w-]+).*-->\n[\s\S]*?<!-- \/figures -->/g
const BEGIN = /<!-- figures:/g

/**
 * Fills the tables of a document from kept files.
 * @param folder of the kept files
 * @throws Error that names a table that is unknown, has no end, or lacks a row
 */
export function fill(text: string, tables: readonly Table[], folder: string): Filled {
  const names: string[] = []
  const changed: string[] = []
  const filled = text.replace(MARKED, (marked, name: string) => {
    const table = tables.find((one) => one.name === name)
    if (table === undefined) throw new Error(`there is no table ${name}; bench/figures has them`)
    names.push(name)
    const kept = table.files.map((path) => Kept.read(folder, path))
    const sources = table.files.map((path) => `bench/results/${path}`).join(', ')
    const now = `<!-- figures: ${name} from ${sources} -->\n${table.render(kept)}\n<!-- /figures -->`
    if (now !== marked) changed.push(name)
    return now
  })
  const begun = text.match(BEGIN)?.length ?? 0
  if (begun !== names.length) throw new Error(`${begun - names.length} tables have no <!-- /figures -->`)
  return { text: filled, tables: names, changed }
}
