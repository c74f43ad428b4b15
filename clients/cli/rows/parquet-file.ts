import { createReadStream } from 'node:fs'
import { join } from 'node:path'
import type { DuckDBAppender, DuckDBType } from '@duckdb/node-api'
import { asBytes } from '../../../protocol/columns.js'
import { type DuckDB, identifier, literal, openDuckDB } from '../../sdk/files/duckdb.js'
import { duckType } from '../../sdk/files/file-types.js'
import type { QueryBatch, ResultVector } from '../../sdk/index.js'
import { temporaryFolder } from '../temporary-folder.js'

/** Rows of DuckDB's chunks. */
const CHUNK_ROWS = 2048

/** Parquet, which DuckDB writes when it has all rows; it keeps what does not fit into memory in a temporary folder. */
export async function* parquetFile(batches: AsyncIterable<QueryBatch>): AsyncGenerator<Uint8Array> {
  const folder = await temporaryFolder()
  try {
    const duckdb = await openDuckDB(folder.path)
    try {
      await fill(duckdb, batches)
      const file = join(folder.path, 'result.parquet')
      await duckdb.connection.run(`copy result to ${literal(file)} (format parquet)`)
      yield* createReadStream(file)
    } finally {
      duckdb.connection.closeSync()
    }
  } finally {
    await folder.remove()
  }
}

/** Puts all rows into the table `result`. */
async function fill({ connection, bindings }: DuckDB, batches: AsyncIterable<QueryBatch>): Promise<void> {
  const { DuckDBDataChunk } = await import('@duckdb/node-api')
  let table: { readonly appender: DuckDBAppender; readonly types: readonly DuckDBType[] } | undefined
  for await (const { columns, length } of batches) {
    if (table === undefined) {
      const list = columns.map(({ name, type }) => `${identifier(name)} ${duckType(type).sql}`)
      await connection.run(`create table result (${list.join(', ')})`)
      const types = (await connection.runAndReadAll('from result')).columnTypes()
      table = { appender: await connection.createAppender('result'), types }
    }
    for (let first = 0; first < length; first += CHUNK_ROWS) {
      const chunk = DuckDBDataChunk.create(table.types, Math.min(CHUNK_ROWS, length - first))
      columns.forEach((column, i) => {
        const vector = bindings.data_chunk_get_vector(chunk.chunk, i)
        write(bindings, vector, column, first, chunk.rowCount)
      })
      table.appender.appendDataChunk(chunk)
    }
  }
  table?.appender.closeSync()
}

type Bindings = DuckDB['bindings']
type Vector = ReturnType<Bindings['data_chunk_get_vector']>

/** Copies rows of a column into a vector, whose words are the same. */
function write(bindings: Bindings, vector: Vector, column: ResultVector, first: number, rows: number): void {
  const { type, validity, values, texts = [] } = column
  if (validity !== undefined) {
    bindings.vector_ensure_validity_writable(vector)
    // Whole words of 64 rows.
    const bits = new Uint8Array(CHUNK_ROWS / 8)
    bits.set(validity.subarray(first / 8, Math.ceil((first + rows) / 8)))
    bindings.copy_data_to_vector_validity(vector, 0, bits.buffer, 0, bits.byteLength)
  }
  // Of 128 bits there are two halves each.
  const parts = values.length / column.length
  const own = values.subarray(parts * first, parts * (first + rows))
  if (type === 'string') {
    own.forEach((number: number | bigint, row: number) => {
      if (column.at(first + row) !== null) {
        bindings.vector_assign_string_element(vector, row, texts[Number(number)] ?? '')
      }
    })
    return
  }
  const narrow = duckType(type).bytes === 1
  const { buffer, byteOffset, byteLength } = narrow ? Uint8Array.from(own, Number) : asBytes(own)
  bindings.copy_data_to_vector(vector, 0, buffer as ArrayBuffer, byteOffset, byteLength)
}
