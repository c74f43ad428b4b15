import t from 'tap'
import { asBytes } from '../../../protocol/columns.js'
import { decodeBatch, encodeBatch } from '../../../protocol/query/batch-section.js'
import type { ResultBatch } from '../../../protocol/query/result.js'

t.test('a batch comes back as it was', async (t) => {
  const texts = ['', '\ufeffmarked', 'zwölf', '日本']
  const batch: ResultBatch = {
    rows: 3,
    columns: [
      {
        name: 's',
        type: 'string',
        nullable: true,
        values: asBytes(Uint32Array.of(3, 0, 1)),
        validity: Uint8Array.of(5),
        texts,
      },
      {
        name: 'n',
        type: 'i64',
        nullable: false,
        values: asBytes(BigInt64Array.of(-1n, 2n, 3n)),
        validity: undefined,
        texts: undefined,
      },
      {
        name: 'none',
        type: 'string',
        nullable: false,
        values: asBytes(new Uint32Array(3)),
        validity: undefined,
        texts: [],
      },
    ],
  }
  const { batch: placed, data } = encodeBatch(batch)
  // As a section lies in a frame, which may be anywhere.
  const frame = new Uint8Array(data.byteLength + 1)
  frame.set(data, 1)
  t.same(decodeBatch(placed, frame.subarray(1)), batch)
  t.throws(() => decodeBatch(placed, data.subarray(0, 16)), { code: 'INTERNAL', message: /cut short/ })
})
