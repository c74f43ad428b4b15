import type { Test } from 'tap'
import type { Device } from '../../../gpu/device/device.js'
import type { DeviceRelation } from '../../../gpu/relational/device-relation.js'
import { SampleKeeper } from '../../../gpu/relational/relation-sample.js'
import type { StoredRelation } from '../../../gpu/relational/stored/stored-relation.js'
import type { ConstantList } from '../../../protocol/query/constant-lists.js'
import type { QueryExplanation } from '../../../protocol/query/explanation.js'
import type { ResultBatch } from '../../../protocol/query/result.js'
import type { QueryNode, ResultColumn } from '../../../protocol/query/tree.js'
import type { RelationDefinition } from '../../../protocol/relation.js'
import { Queries } from '../../../src/query/queries.js'
import { type QueryMemoryLimits, queryMemoryLimits } from '../../../src/query/query-memory.js'
import { openDevice } from '../../gpu/open-device.js'
import { DuckOracle, difference } from './duck-oracle.js'
import { type Cell, type HostRelation, rowsOf, schemaOf, uploadRelation } from './host-relation.js'

const READER = { cancelled: false }

/** The same relations on a device and in the oracle. */
export class QueryBed {
  readonly queries: Queries
  readonly oracle: DuckOracle
  readonly #destroy: () => void

  private constructor(queries: Queries, oracle: DuckOracle, destroy: () => void) {
    this.queries = queries
    this.oracle = oracle
    this.#destroy = destroy
  }

  /** For all tests of a file. */
  static async open(
    t: Test,
    hosts: readonly HostRelation[],
    memory?: number | QueryMemoryLimits,
    sampled = false,
  ): Promise<QueryBed> {
    const bed = await QueryBed.fill(await openDevice(t), hosts, memory, sampled)
    t.teardown(() => bed.close())
    return bed
  }

  /** @param sampled whether samples of the relations are kept, as an engine does */
  static async fill(
    device: Device,
    hosts: readonly HostRelation[],
    memory?: number | QueryMemoryLimits,
    sampled = false,
  ): Promise<QueryBed> {
    const relations = new Map<string, DeviceRelation>()
    for (const host of hosts) {
      const relation = await uploadRelation(device, host)
      relations.set(
        host.name,
        sampled ? { ...relation, sample: new SampleKeeper(), facts: new Map() } : relation,
      )
    }
    const kept = new Map<string, StoredRelation>()
    const schemas = new Map<string, readonly ResultColumn[]>(hosts.map((host) => [host.name, schemaOf(host)]))
    const host = {
      columnsOf: (name: string) => schemas.get(name)!,
      useRelations: <T>(_: readonly string[], run: (all: typeof relations) => Promise<T>) => run(relations),
      device: async () => device,
      results: {
        refuse: () => {},
        put: async ({ name, columns }: RelationDefinition, _: number, result: StoredRelation) => {
          kept.get(name)?.destroy()
          kept.set(name, result)
          schemas.set(name, columns)
          relations.set(name, result.relation)
        },
      },
    }
    const columns = [...relations.values()].flatMap((relation) => [...relation.columns.values()])
    const destroy = () => {
      for (const result of kept.values()) result.destroy()
      for (const { values, validity } of columns) {
        values.destroy()
        validity?.destroy()
      }
    }
    const limits = typeof memory === 'object' ? memory : queryMemoryLimits(memory, undefined, true)
    return QueryBed.over(new Queries(host, limits), hosts, destroy)
  }

  /**
   * Over relations that are there.
   * @param destroy gives them back
   */
  static async over(
    queries: Queries,
    hosts: readonly HostRelation[],
    destroy: () => void = () => {},
  ): Promise<QueryBed> {
    return new QueryBed(queries, await DuckOracle.open(hosts), destroy)
  }

  /** Gives the relations back. */
  close(): void {
    this.oracle.close()
    this.#destroy()
  }

  async batches(query: QueryNode, lists: readonly ConstantList[] = []): Promise<ResultBatch[]> {
    let { batch, more, cursor } = await this.queries.start(query, READER, { lists })
    const batches = [batch]
    while (more && cursor !== undefined) {
      ;({ batch, more } = await this.queries.next(cursor, READER))
      batches.push(batch)
    }
    return batches
  }

  async rows(query: QueryNode): Promise<Cell[][]> {
    return rowsOf(await this.batches(query))
  }

  /** Keeps a result as a relation. */
  async keep(query: QueryNode, name: string): Promise<void> {
    await this.queries.keep(query, { name, seconds: 1 }, READER)
  }

  explain(query: QueryNode): Promise<QueryExplanation> {
    return this.queries.explain(query, READER)
  }

  /** What tells the query's rows from the oracle's, if something does, and how many those are. */
  async compare(
    query: QueryNode,
    sql: string,
    ordered = false,
    lists: readonly ConstantList[] = [],
  ): Promise<{ readonly difference: string | undefined; readonly rows: number }> {
    const wanted = await this.oracle.rows(sql)
    const batches = await this.batches(query, lists)
    const types = batches[0]!.columns.map(({ type }) => type)
    return { difference: difference(rowsOf(batches), wanted, types, ordered), rows: wanted.length }
  }

  /** The query gives what the oracle gives. */
  async same(t: Test, name: string, query: QueryNode, sql: string, ordered = false): Promise<void> {
    const { difference, rows } = await this.compare(query, sql, ordered)
    t.equal(difference, undefined, `${name}: ${rows} rows`)
  }
}
