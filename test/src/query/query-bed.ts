import type { Test } from 'tap'
import type { Device } from '../../../gpu/device/device.js'
import type { DeviceRelation } from '../../../gpu/relational/device-relation.js'
import { SampleKeeper } from '../../../gpu/relational/relation-sample.js'
import type { QueryExplanation } from '../../../protocol/query/explanation.js'
import type { ResultBatch } from '../../../protocol/query/result.js'
import type { QueryNode } from '../../../protocol/query/tree.js'
import { Queries } from '../../../src/query/queries.js'
import { openDevice } from '../../gpu/open-device.js'
import { DuckOracle, difference } from './duck-oracle.js'
import { type Cell, type HostRelation, rowsOf, schemaOf, uploadRelation } from './host-relation.js'

const READER = { cancelled: false }

/** The same relations on a device and in the oracle. */
export class QueryBed {
  readonly queries: Queries
  readonly oracle: DuckOracle

  private constructor(queries: Queries, oracle: DuckOracle) {
    this.queries = queries
    this.oracle = oracle
  }

  /** For all tests of a file. */
  static async open(
    t: Test,
    hosts: readonly HostRelation[],
    memoryBytes?: number,
    sampled = false,
  ): Promise<QueryBed> {
    const bed = await QueryBed.fill(await openDevice(t), hosts, memoryBytes, sampled)
    t.teardown(() => bed.oracle.close())
    return bed
  }

  /** @param sampled whether samples of the relations are kept, as an engine does */
  static async fill(
    device: Device,
    hosts: readonly HostRelation[],
    memoryBytes?: number,
    sampled = false,
  ): Promise<QueryBed> {
    const relations = new Map<string, DeviceRelation>()
    for (const host of hosts) {
      const relation = await uploadRelation(device, host)
      relations.set(host.name, sampled ? { ...relation, sample: new SampleKeeper() } : relation)
    }
    const schemas = new Map(hosts.map((host) => [host.name, schemaOf(host)]))
    const host = {
      columnsOf: (name: string) => schemas.get(name)!,
      useRelations: <T>(_: readonly string[], run: (all: typeof relations) => Promise<T>) => run(relations),
      device: async () => device,
    }
    return new QueryBed(new Queries(host, memoryBytes), await DuckOracle.open(hosts))
  }

  async batches(query: QueryNode): Promise<ResultBatch[]> {
    let { batch, more, cursor } = await this.queries.start(query, READER)
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

  explain(query: QueryNode): Promise<QueryExplanation> {
    return this.queries.explain(query, READER)
  }

  /** What tells the query's rows from the oracle's, if something does, and how many those are. */
  async compare(
    query: QueryNode,
    sql: string,
    ordered = false,
  ): Promise<{ readonly difference: string | undefined; readonly rows: number }> {
    const wanted = await this.oracle.rows(sql)
    const batches = await this.batches(query)
    const floats = batches[0]!.columns.map(({ type }) => type === 'f32')
    return { difference: difference(rowsOf(batches), wanted, floats, ordered), rows: wanted.length }
  }

  /** The query gives what the oracle gives. */
  async same(t: Test, name: string, query: QueryNode, sql: string, ordered = false): Promise<void> {
    const { difference, rows } = await this.compare(query, sql, ordered)
    t.equal(difference, undefined, `${name}: ${rows} rows`)
  }
}
