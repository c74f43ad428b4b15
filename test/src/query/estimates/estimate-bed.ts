import type { DeviceMemory } from '../../../../gpu/memory/page-run.js'
import type { DeviceColumnData, DeviceRelation } from '../../../../gpu/relational/device-relation.js'
import { compareStrings, dictionaryOf } from '../../../../gpu/relational/query/dictionaries.js'
import type { QueryColumn } from '../../../../gpu/relational/query/query-column.js'
import { SampleKeeper } from '../../../../gpu/relational/relation-sample.js'
import type { ColumnType } from '../../../../protocol/column-types.js'
import { aligned } from '../../../../protocol/columns.js'
import { checkQuery } from '../../../../protocol/query/check-query.js'
import type { QueryNode } from '../../../../protocol/query/tree.js'
import type { TypedNode } from '../../../../protocol/query/typed.js'
import { type EstimatedRun, estimateTree } from '../../../../src/query/estimates/estimate-tree.js'
import { pruneColumns } from '../../../../src/query/prune-columns.js'
import { columnBytes, type HostColumn, type HostRelation, schemaOf, validityBytes } from '../host-relation.js'

/** Relations with the samples that a query would have of them. */
export class EstimateBed {
  readonly #hosts: ReadonlyMap<string, HostRelation>
  readonly #run: EstimatedRun

  /** @param sampled whether there are samples */
  constructor(hosts: readonly HostRelation[], sampled = true) {
    this.#hosts = new Map(hosts.map((host) => [host.name, host]))
    const relations = new Map(hosts.map((host) => [host.name, relationOf(host, sampled)]))
    this.#run = {
      relation: (name) => relations.get(name)!,
      originOf: (column) => originAmong([...relations.values()], column),
    }
  }

  /** The rows that a query is thought to give. */
  rows(query: QueryNode): number {
    const root = this.#checked(query)
    return estimateTree(root, this.#run).get(root)!
  }

  /** What is thought of every node. */
  estimates(query: QueryNode): ReadonlyMap<TypedNode, number> {
    return estimateTree(this.#checked(query), this.#run)
  }

  #checked(query: QueryNode): TypedNode {
    return pruneColumns(checkQuery(query, (name) => schemaOf(this.#hosts.get(name)!)))
  }
}

function originAmong(relations: readonly DeviceRelation[], column: QueryColumn) {
  for (const relation of relations) {
    for (const [name, own] of relation.columns) if (own === column) return { relation, name }
  }
  return undefined
}

function relationOf({ rows, columns: hosts }: HostRelation, sampled: boolean): DeviceRelation {
  const sample = new SampleKeeper()
  const columns = new Map(hosts.map((column) => [column.name, columnOf(column)]))
  for (const column of sampled ? hosts : []) addSample(sample, rows, column, columns.get(column.name)!)
  return { rows, columns, sample }
}

function columnOf({ type, nullable, cells }: HostColumn): DeviceColumnData {
  const texts = type === 'string' ? [...new Set(cells)].filter((cell) => typeof cell === 'string') : []
  // Nothing reads it: what is at hand is on the host.
  const buffer = {} as DeviceMemory
  return {
    type: type as ColumnType,
    values: buffer,
    validity: nullable ? buffer : undefined,
    dictionary: type === 'string' ? dictionaryOf(texts.sort(compareStrings)) : undefined,
  }
}

function addSample(
  keeper: SampleKeeper,
  rows: number,
  { name, type, nullable, cells }: HostColumn,
  { dictionary }: DeviceColumnData,
): void {
  const sample = keeper.at(rows)
  const picked = Array.from(sample.rows, (row) => cells[row]!)
  const numbers = picked.map((cell) =>
    type === 'string' && cell !== null ? dictionary!.lowerBound(String(cell)) : cell,
  )
  const bytes = columnBytes(type === 'string' ? 'u32' : type, numbers)
  const validity = nullable ? aligned(validityBytes(picked), Uint32Array) : undefined
  sample.columns.set(name, { words: aligned(bytes, Uint32Array), validity, dictionary })
}
