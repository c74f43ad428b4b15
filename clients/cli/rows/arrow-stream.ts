import { loadArrow } from '../../sdk/arrow.js'
import type { QueryBatch } from '../../sdk/index.js'

/** Arrow's stream format. Strings are texts, not dictionaries: those of batches differ, which many readers do not take. */
export async function* arrowStream(batches: AsyncIterable<QueryBatch>): AsyncGenerator<Uint8Array> {
  const arrow = await loadArrow()
  async function* records() {
    for await (const batch of batches) {
      const own = await batch.toArrow()
      const children = batch.columns.map((column, i) => {
        if (column.type !== 'string') return own.data.children[i]
        const texts = Array.from({ length: batch.length }, (_, row) => column.at(row))
        return arrow.vectorFromArray(texts, new arrow.Utf8()).data[0]
      })
      const fields = batch.columns.map(
        ({ name, nullable }, i) => new arrow.Field(name, children[i].type, nullable),
      )
      const type = new arrow.Struct(fields)
      const data = arrow.makeData({ type, length: batch.length, nullCount: 0, children })
      yield new arrow.RecordBatch(new arrow.Schema(fields), data)
    }
  }
  const writer = arrow.RecordBatchStreamWriter.writeAll(records())
  yield* await writer
}
