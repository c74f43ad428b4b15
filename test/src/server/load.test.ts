import t from 'tap'
import { u32 } from '../engine/open-engine.js'
import { checkParts, column, countParts, LOADED, loader, PART_ROWS, part } from './load-parts.js'
import { start } from './start.js'

t.test('parts of a load, frame by frame', async (t) => {
  const { url } = await start(t)
  const client = await loader(t, url)
  await client.ask({ id: 0, op: 'createIndex', ...LOADED })
  for (const i of [1, 2]) client.send(part(i).header, part(i).sections)
  const counts = { rows: PART_ROWS, inserted: PART_ROWS, replaced: 0, existing: 0, refused: 0 }
  for (const id of [1, 2]) t.match((await client.reply()).header, { id, ok: true, ...counts })
  const again = await client.ask(part(2).header, part(2).sections)
  t.match(again.header, { ok: true, ...counts }, 'it is stored once')
  const tooFar = await client.ask(part(4).header, part(4).sections)
  t.match(tooFar.header, { ok: false, error: { code: 'CANCELLED', message: /before this one/ } })
  const uneven = await client.ask(part(3).header, { ...part(3).sections, keys: column(u32(1)) })
  t.match(uneven.header, { ok: false, error: { code: 'BAD_REQUEST' } })
  const header = { id: 9, op: 'load', index: 'loaded', mode: 'ifAbsent' }
  t.match((await client.ask(header, part(1).sections)).header, { existing: PART_ROWS, inserted: 0 })
  const nameless = await client.ask({ ...header, after: 1 }, part(1).sections)
  t.match(nameless.header, { error: { code: 'BAD_REQUEST', message: /only beside a write id/ } })
  t.same(await countParts(client, 4), [PART_ROWS, PART_ROWS, 0, 0])
})

t.test('a connection that dies leaves the first parts', async (t) => {
  const { url } = await start(t)
  const client = await loader(t, url)
  await client.ask({ id: 0, op: 'createIndex', ...LOADED })
  for (let i = 1; i <= 20; i++) client.send(part(i).header, part(i).sections)
  await client.reply()
  client.socket.terminate()
  const other = await loader(t, url)
  checkParts(t, await countParts(other, 20), 1)
})
