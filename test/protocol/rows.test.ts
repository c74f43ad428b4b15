import t from 'tap'
import { joinRows, pickRows, type Rows, rowAt, rowCount, rowsOf, sliceRows } from '../../protocol/rows.js'

const bytes = (...values: number[]) => Uint8Array.from(values)
const texts = (...list: string[]) => rowsOf(list.map((text) => Buffer.from(text)))
const read = (rows: Rows, width?: number) =>
  Array.from({ length: rowCount(rows, width) }, (_, i) =>
    Buffer.from(rowAt(rows, width, i)).toString('latin1'),
  )

t.test('rows of one width', async (t) => {
  const rows = { bytes: Buffer.from('aabbccdd') }
  t.same(read(rows, 2), ['aa', 'bb', 'cc', 'dd'])
  t.same(read(sliceRows(rows, 2, 1, 3), 2), ['bb', 'cc'])
  t.same(read(pickRows(rows, 2, Uint32Array.of(3, 0)), 2), ['dd', 'aa'])
  t.same(joinRows([rows, { bytes: bytes(1, 2) }], 2, [4, 2]).bytes, Buffer.from('aabbccdd\x01\x02\0\0'))
  const used = () => Buffer.alloc(12, 'x')
  t.same(joinRows([{ bytes: bytes(1, 2) }, rows], 2, [2, 4], used).bytes, Buffer.from('\x01\x02\0\0aabbccdd'))
  t.equal(joinRows([rows], 2), rows)
})

t.test('rows of any length', async (t) => {
  const rows = texts('', 'a', 'bcd', '', 'e')
  t.same(read(rows), ['', 'a', 'bcd', '', 'e'])
  const part = sliceRows(rows, undefined, 2, 4)
  t.same(part.offsets, Uint32Array.of(0, 3, 3))
  t.equal(part.bytes.buffer, rows.bytes.buffer, 'a view')
  t.same(read(sliceRows(rows, undefined, 5, 5)), [])
  t.same(read(pickRows(rows, undefined, Uint32Array.of(4, 0, 2))), ['e', '', 'bcd'])
  t.same(read(joinRows([rows, texts(), texts('f')], undefined)), ['', 'a', 'bcd', '', 'e', 'f'])
  t.same(read(joinRows([texts('a'), texts('b', 'c')], undefined, [3, 2])), ['a', '', '', 'b', 'c'])
  t.same(read(joinRows([texts('a')], undefined, [2])), ['a', ''])
  t.throws(() => rowCount({ bytes: bytes(1) }, undefined), { code: 'INTERNAL' })
})
