import { compareStrings, dictionaryOf } from '../../../../gpu/relational/query/dictionaries.js'
import { type RelationSample, sampleRows } from '../../../../gpu/relational/relation-sample.js'
import { aligned } from '../../../../protocol/columns.js'
import { checkQuery } from '../../../../protocol/query/check-query.js'
import type { QueryNode } from '../../../../protocol/query/tree.js'
import type { TypedNode } from '../../../../protocol/query/typed.js'
import { ColumnSample } from '../../../../src/query/estimates/column-sample.js'
import {
  estimateTree,
  type StoredColumnFacts,
  type StoredFacts,
} from '../../../../src/query/estimates/estimate-tree.js'
import { pruneColumns } from '../../../../src/query/prune-columns.js'
import { columnBytes, type HostColumn, type HostRelation, schemaOf, validityBytes } from '../host-relation.js'

/** Relations with the samples that a query would have of them. */
export class EstimateBed {
  readonly #hosts: ReadonlyMap<string, HostRelation>
  readonly #facts: ReadonlyMap<string, StoredFacts>

  /** @param sampled whether there are samples */
  constructor(hosts: readonly HostRelation[], sampled = true) {
    this.#hosts = new Map(hosts.map((host) => [host.name, host]))
    this.#facts = new Map(hosts.map((host) => [host.name, factsOf(host, sampled)]))
  }

  /** The rows that a query is thought to give. */
  rows(query: QueryNode): number {
    const root = this.#checked(query)
    return estimateTree(root, this.#facts).get(root)!
  }

  /** What is thought of every node. */
  estimates(query: QueryNode): ReadonlyMap<TypedNode, number> {
    return estimateTree(this.#checked(query), this.#facts)
  }

  #checked(query: QueryNode): TypedNode {
    return pruneColumns(checkQuery(query, (name) => schemaOf(this.#hosts.get(name)!)))
  }
}

function factsOf(host: HostRelation, sampled: boolean): StoredFacts {
  const rows = sampleRows(host.rows)
  const sample: RelationSample = { of: host.rows, rows, columns: new Map() }
  const columns = host.columns.map((column) => columnFacts(column, sampled ? sample : undefined))
  return { rows: host.rows, columns }
}

function columnFacts(
  { type, nullable, cells }: HostColumn,
  sample: RelationSample | undefined,
): StoredColumnFacts {
  const texts = type === 'string' ? [...new Set(cells)].filter((cell) => typeof cell === 'string') : []
  const sorted = texts.sort(compareStrings)
  const codes = new Map(sorted.map((text, code) => [text, code]))
  const dictionary = type === 'string' ? dictionaryOf(sorted) : undefined
  const facts = { type, nullable, dictionary, indexed: undefined }
  if (sample === undefined) return { ...facts, sample: undefined }
  const picked = Array.from(sample.rows, (row) => cells[row]!)
  const bytes =
    type === 'string'
      ? columnBytes(
          'u32',
          picked.map((cell) => (typeof cell === 'string' ? codes.get(cell)! : null)),
        )
      : columnBytes(type, picked)
  const validity = nullable ? aligned(validityBytes(picked), Uint32Array) : undefined
  const column = { words: aligned(bytes, Uint32Array), validity, dictionary }
  return { ...facts, sample: new ColumnSample(sample, column, type) }
}
