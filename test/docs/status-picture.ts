import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { ServerProcess } from '../../bench/server-process.js'
import { connect } from '../../clients/sdk/index.js'
import { launchBrowser } from '../src/http/browser.js'

// `npm run status-picture`: takes the picture of the status page that README.md shows, from a server on the software adapter with some data and work.
const PICTURE = join('docs', 'images', 'status-page.png')
/** Waves of requests, a tenth of a second apart: some minutes. */
const WAVES = 1100
const KEYS = 200_000
const BATCH = 4096

/** Keys of a batch, anywhere in the index. */
function someKeys(): Uint32Array {
  return Uint32Array.from({ length: BATCH }, () => Math.floor(Math.random() * KEYS) * 7)
}

/** Looks up and writes keys until time is up, in waves, so that the plots show something. */
async function work(url: string): Promise<void> {
  const client = await connect(url)
  const prices = await client.createIndex({
    name: 'prices',
    keyType: 'u32',
    payloadKind: 'u32',
    unique: true,
  })
  const all = Uint32Array.from({ length: KEYS }, (_, i) => i * 7)
  await prices.insertMany(all, all)
  const cities = await client.createIndex({
    name: 'cities',
    keyType: 'string',
    payloadKind: 'text',
    unique: true,
  })
  const names = Array.from({ length: 20_000 }, (_, i) => `city ${(i * 7919) % 20_000}`)
  await cities.insertMany(names, names)
  const orders = await client.createRelation({
    name: 'orders',
    columns: [
      { name: 'id', type: 'u32', nullable: false },
      { name: 'amount', type: 'f64', nullable: false },
    ],
  })
  await orders.append({ id: all, amount: Float64Array.from(all, (key) => key / 100) })
  for (let tick = 0; tick < WAVES; tick++) {
    const gets = Math.round(4 + 3 * Math.sin(tick / 12))
    await Promise.all(Array.from({ length: gets }, () => prices.getMany(someKeys())))
    if (tick % 3 === 0) await prices.putMany(someKeys(), new Uint32Array(BATCH))
    if (tick % 5 === 0) await cities.entries({ prefix: `city ${tick}`, limit: 100 }).firstPage()
    if (tick % 25 === 0) await client.sql('select sum(amount) from orders where id > ?', [tick]).rows()
    await pause(100)
  }
  await client.close()
}

const directory = mkdtempSync(join(tmpdir(), 'warpdex-picture-'))
const server = await ServerProcess.start(join(directory, 'data'), ['--adapter', 'software'])
const { browser, close } = await launchBrowser()
try {
  const page = await browser.newPage()
  await page.setViewport({ width: 1280, height: 860 })
  await page.goto(server.url.replace('ws', 'http'))
  await work(server.url)
  mkdirSync(join('docs', 'images'), { recursive: true })
  await page.screenshot({ path: PICTURE })
  console.log(PICTURE)
} finally {
  await close()
  await server.stop()
  rmSync(directory, { recursive: true })
}
