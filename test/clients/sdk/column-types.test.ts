import {
  DateDay,
  DateMillisecond,
  Decimal,
  Table,
  TimestampMillisecond,
  TimestampNanosecond,
  tableFromIPC,
  tableToIPC,
  vectorFromArray,
} from 'apache-arrow'
import t from 'tap'
import { arrowDefinition, col, connect, relation } from '../../../clients/sdk/index.js'
import { start } from '../../src/server/start.js'

const COLUMNS = [
  { name: 'b', type: 'boolean', nullable: true },
  { name: 'd', type: 'date', nullable: true },
  { name: 't', type: 'timestamp', nullable: true },
  { name: 'c', type: 'decimal(12,2)', nullable: true },
  { name: 'g', type: 'f64', nullable: true },
] as const

const ROWS = {
  b: [true, false, null],
  d: ['1998-09-02', '0001-01-01', null],
  t: ['1998-09-02T12:00:00.000001Z', '1969-12-31T23:59:59.5Z', null],
  c: ['19.04', '-9999999999.99', null],
  g: [0.1, -0, null],
}

t.test('values of all types come back as they were stored, in rows, queries and Arrow', async (t) => {
  const { url } = await start(t)
  const client = await connect(url)
  t.teardown(() => client.close())
  const all = await client.createRelation({ name: 'all', columns: COLUMNS })
  await all.append(ROWS)
  t.same(await all.read(), ROWS)
  const after = relation('all').where(col('d').ge('1990-01-01').and(col('c').eq(19.04)))
  const first = { b: true, d: '1998-09-02', t: '1998-09-02T12:00:00.000001Z', c: '19.04', g: 0.1 }
  t.same(await client.query(after).rows(), [first])
  const batches = []
  for await (const batch of all.arrowBatches()) batches.push(batch)
  // As another program would get and send them.
  const table = tableFromIPC(tableToIPC(new Table(batches)))
  t.same(arrowDefinition('again', table.schema), { name: 'again', columns: COLUMNS })
  const again = await client.createRelation(arrowDefinition('again', table.schema))
  await again.appendArrow(table)
  t.same(await again.read(), ROWS)
})

t.test('values of other units and kinds are converted, or refused with what is right', async (t) => {
  const { url } = await start(t)
  const client = await connect(url)
  t.teardown(() => client.close())
  const all = await client.createRelation({ name: 'all', columns: COLUMNS })
  const moment = new Date('1998-09-02T12:00:00.250Z')
  await all.append({ d: [moment], t: [moment], c: [19.04] })
  await all.append({ d: Int32Array.of(1), t: BigInt64Array.of(1n), c: BigInt64Array.of(1n) })
  const units = new Table({
    d: vectorFromArray([moment, null], new DateMillisecond()),
    t: vectorFromArray([moment, null], new TimestampMillisecond()),
  })
  await all.appendArrow(units)
  await all.appendArrow(
    new Table({
      d: vectorFromArray([moment], new DateDay()),
      t: vectorFromArray([1000], new TimestampNanosecond()),
      c: vectorFromArray([new Uint32Array([1904, 0, 0, 0])], new Decimal(2, 12, 128)),
    }),
  )
  const { d, t: times, c } = await all.read()
  const day = '1998-09-02'
  t.same(d, [day, '1970-01-02', day, null, day])
  const time = '1998-09-02T12:00:00.25Z'
  t.same(times, [time, '1970-01-01T00:00:00.000001Z', time, null, '1970-01-01T00:00:01Z'])
  t.same(c, ['19.04', '0.01', null, null, '19.04'])
  for (const [rows, message] of [
    [{ b: [1] }, /which is not of type boolean/],
    [{ d: ['1998-02-29'] }, /of type date, such as "1998-09-02"/],
    [{ t: ['yesterday'] }, /of type timestamp, such as/],
    [{ c: ['1.234'] }, /of type decimal\(12,2\), such as "19.04"/],
    [{ c: new Float64Array(1) }, /takes a BigInt64Array or an array, not a Float64Array/],
  ] as const) {
    await t.rejects(all.append(rows), { code: 'BAD_REQUEST', message })
  }
  await t.rejects(
    client.createRelation({ name: 'x', columns: [{ name: 'c', type: 'decimal(19,2)', nullable: false }] }),
    { message: /"type" out of .*decimal\(p,s\)/ },
  )
})
