import { createHash } from 'node:crypto'
import type { DuckDBConnection, DuckDBType } from '@duckdb/node-api'
import type { ColumnType } from '../../protocol/column-types.js'
import type { MirroredRelation } from './catalogue.js'

type DuckDB = typeof import('@duckdb/node-api')

/** What DuckDB itself keeps below. */
const MEMORY_LIMIT = '96MB'

/**
 * Some optimizers go by the contents of tables, of which there are none here, or give plans that cannot be written as JSON; others make plans that are of
 * use to DuckDB only. Columns that nothing uses are left out by `prune-columns.ts`.
 */
const DISABLED_OPTIMIZERS = [
  'build_side_probe_side',
  'column_lifetime',
  'common_subplan',
  'compressed_materialization',
  'join_filter_pushdown',
  'late_materialization',
  'row_group_pruner',
  'statistics_propagation',
  'sum_rewriter',
  'top_n_window_elimination',
  'unused_columns',
]

/** A database that has relations without their rows: functions that say how many there are, and views over them. */
export class Mirror {
  readonly connection: DuckDBConnection
  readonly #duckdb: DuckDB
  readonly #functions = new Set<string>()
  /** The function of each view. */
  readonly #views = new Map<string, string>()

  private constructor(duckdb: DuckDB, connection: DuckDBConnection) {
    this.#duckdb = duckdb
    this.connection = connection
  }

  static async create(duckdb: DuckDB): Promise<Mirror> {
    const options = { threads: '1', memory_limit: MEMORY_LIMIT, temp_directory: '' }
    const connection = await (await duckdb.DuckDBInstance.create(':memory:', options)).connect()
    await connection.run(`set disabled_optimizers = '${DISABLED_OPTIMIZERS.join(',')}'`)
    await connection.run('set enable_external_access = false; set lock_configuration = true')
    return new Mirror(duckdb, connection)
  }

  /** Has views of these relations, and of no others. */
  async show(catalogue: readonly MirroredRelation[]): Promise<void> {
    const shown = new Map(catalogue.map((relation) => [relation.name, functionOf(relation)]))
    for (const [name, source] of this.#views) {
      if (shown.get(name) === source) continue
      await this.connection.run(`drop view ${quoted(name)}`)
      this.#views.delete(name)
    }
    for (const relation of catalogue) {
      if (this.#views.has(relation.name)) continue
      const source = functionOf(relation)
      if (!this.#functions.has(source)) this.#register(source, relation)
      await this.connection.run(`create view ${quoted(relation.name)} as from ${quoted(source)}()`)
      this.#views.set(relation.name, source)
    }
  }

  #register(name: string, { rows, columns }: MirroredRelation): void {
    const source = this.#duckdb.DuckDBTableFunction.create({
      name,
      bindFunction: (bind) => {
        for (const column of columns) bind.addResultColumn(column.name, duckTypeOf(this.#duckdb, column.type))
        bind.setCardinality(rows, true)
      },
      initFunction: () => {},
      mainFunction: (_, chunk) => {
        chunk.rowCount = 0
      },
      supportsProjectionPushdown: true,
    })
    this.connection.registerTableFunction(source)
    this.#functions.add(name)
  }
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

function duckTypeOf(duckdb: DuckDB, type: ColumnType): DuckDBType {
  switch (type) {
    case 'boolean':
      return duckdb.BOOLEAN
    case 'u32':
      return duckdb.UINTEGER
    case 'i32':
      return duckdb.INTEGER
    case 'u64':
      return duckdb.UBIGINT
    case 'i64':
      return duckdb.BIGINT
    case 'f32':
      return duckdb.FLOAT
    case 'f64':
      return duckdb.DOUBLE
    case 'date':
      return duckdb.DATE
    case 'timestamp':
      return duckdb.TIMESTAMP
    case 'string':
      return duckdb.VARCHAR
    default: {
      const [precision, scale] = type.match(/\d+/g)!.map(Number)
      return duckdb.DECIMAL(precision, scale)
    }
  }
}

/** The name of a relation's function in DuckDB: relations that differ in anything have functions of their own. */
export function functionOf(relation: MirroredRelation): string {
  return `relation ${createHash('sha256').update(JSON.stringify(relation)).digest('base64')}`
}
