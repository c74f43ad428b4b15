import t from 'tap'
import {
  type Column,
  columnFrom,
  columnOf,
  joinColumns,
  pickValues,
  sliceColumn,
  valuesOf,
} from '../../protocol/columns.js'

const bytes = (...values: number[]) => Uint8Array.from(values)
const texts = (...list: string[]) => columnOf(list.map((text) => Buffer.from(text)))
const read = (column: Column) => valuesOf(column).map((value) => Buffer.from(value).toString('latin1'))

t.test('values of one width', async (t) => {
  const column = { bytes: Buffer.from('aabbccdd'), width: 2 }
  t.same(read(column), ['aa', 'bb', 'cc', 'dd'])
  t.same(read(sliceColumn(column, 1, 3)), ['bb', 'cc'])
  t.same(read(pickValues(column, Uint32Array.of(3, 0))), ['dd', 'aa'])
  const one = { bytes: bytes(1, 2), width: 2 }
  t.same(joinColumns([column, one], [4, 2]).bytes, Buffer.from('aabbccdd\x01\x02\0\0'))
  const used = () => Buffer.alloc(12, 'x')
  t.same(joinColumns([one, column], [2, 4], used).bytes, Buffer.from('\x01\x02\0\0aabbccdd'))
  t.equal(joinColumns([column]), column)
})

t.test('values of any length', async (t) => {
  const column = texts('', 'a', 'bcd', '', 'e')
  t.same(read(column), ['', 'a', 'bcd', '', 'e'])
  const part = sliceColumn(column, 2, 4)
  t.same(part.offsets, Uint32Array.of(0, 3, 3))
  t.equal(part.bytes.buffer, column.bytes.buffer, 'a view')
  t.same(read(sliceColumn(column, 5, 5)), [])
  t.same(read(pickValues(column, Uint32Array.of(4, 0, 2))), ['e', '', 'bcd'])
  t.same(read(joinColumns([column, texts(), texts('f')])), ['', 'a', 'bcd', '', 'e', 'f'])
  t.same(read(joinColumns([texts('a'), texts('b', 'c')], [3, 2])), ['a', '', '', 'b', 'c'])
  t.same(read(joinColumns([texts('a')], [2])), ['a', ''])
  t.throws(() => columnFrom(bytes(1), undefined), { code: 'INTERNAL' })
})
