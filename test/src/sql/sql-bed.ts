import type { Test } from 'tap'
import { toWarpdexError } from '../../../protocol/errors.js'
import type { QueryNode } from '../../../protocol/query/tree.js'
import type { SqlParameters } from '../../../protocol/sql.js'
import { catalogueOf } from '../../../src/sql/catalogue.js'
import { type SqlQuery, Statements } from '../../../src/sql/statements.js'
import type { HostRelation } from '../query/host-relation.js'
import { QueryBed } from '../query/query-bed.js'

/** Relations on a device and in DuckDB, of which both are asked the same statements. */
export class SqlBed {
  readonly bed: QueryBed
  readonly #statements = new Statements()
  readonly #hosts: readonly HostRelation[]

  constructor(bed: QueryBed, hosts: readonly HostRelation[]) {
    this.bed = bed
    this.#hosts = hosts
  }

  /** For all tests of a file. */
  static async open(t: Test, hosts: readonly HostRelation[]): Promise<SqlBed> {
    const bed = new SqlBed(await QueryBed.open(t, hosts), hosts)
    // What is divided by 0 is null.
    await bed.bed.oracle.rows('set ieee_floating_point_ops = false')
    t.teardown(() => bed.close())
    return bed
  }

  close(): void {
    this.#statements.close()
  }

  plan(text: string, parameters: SqlParameters = []): Promise<SqlQuery> {
    const catalogue = catalogueOf(text, this.#hosts, ({ rows }) => rows)
    return this.#statements.queryOf({ text, parameters }, catalogue)
  }

  /** What tells the statement's rows from DuckDB's, if something does, and how many those are. */
  async compare(text: string, ordered = false) {
    const { query, lists } = await this.plan(text)
    return this.bed.compare(query as QueryNode, text, ordered, lists)
  }

  /** With what a statement is refused, by its plan or by what carries it out; undefined where it is not. */
  async refusal(text: string, parameters?: SqlParameters): Promise<string | undefined> {
    try {
      const { query, lists } = await this.plan(text, parameters)
      await this.bed.batches(query as QueryNode, lists)
      return undefined
    } catch (thrown) {
      const { code, message } = toWarpdexError(thrown)
      return `${code}: ${message}`
    }
  }

  /** The statement gives what DuckDB gives. */
  async same(t: Test, text: string, ordered = /order by/i.test(text)): Promise<void> {
    try {
      const { difference, rows } = await this.compare(text, ordered)
      t.equal(difference, undefined, `${text}: ${rows} rows`)
    } catch (thrown) {
      t.fail(`${text}: ${toWarpdexError(thrown).message}`)
    }
  }
}
