import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Browser, Page } from 'puppeteer-core'
import t, { type Test } from 'tap'
import type { Section } from '../../../protocol/frame.js'
import { prefixTrees } from '../../../src/engine/structures.js'
import { NO_CHROMIUM } from '../../clients/sdk/chromium.js'
import { COMPILED, ROOT } from '../../compiled.js'
import { u32 } from '../engine/open-engine.js'
import { RawClient } from '../server/raw-client.js'
import { start } from '../server/start.js'
import { launchBrowser, PATIENCE_MS } from './browser.js'
import { lowContrasts } from './contrast.js'

const TOKEN = 'rosebud-4711'
/** The files of the page. */
const PAGE = join(COMPILED, 'src/http/page')
/** Where screenshots are left for whoever wants to see the page. */
const ARTIFACTS = join(ROOT, 'artifacts/')
const FORMS = [
  { name: 'desktop', width: 1280, height: 900, scheme: 'light' },
  { name: 'desktop-dark', width: 1280, height: 900, scheme: 'dark' },
  { name: 'phone', width: 360, height: 740, scheme: 'light' },
  { name: 'phone-dark', width: 360, height: 740, scheme: 'dark' },
] as const

const column = (keys: readonly number[]): Section => ({ type: 'u32', bytes: u32(...keys) })

async function launch(t: Test): Promise<Browser> {
  const { browser, close } = await launchBrowser()
  t.teardown(close)
  return browser
}

/** Opens a page, and takes note of all that goes wrong in it. */
async function open(browser: Browser, url: string): Promise<{ page: Page; faults: string[] }> {
  const page = await browser.newPage()
  page.setDefaultTimeout(PATIENCE_MS)
  const faults: string[] = []
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warn') faults.push(message.text())
  })
  page.on('pageerror', (error) => faults.push(String(error)))
  page.on('request', (request) => {
    if (!request.url().startsWith(url)) faults.push(`a request for ${request.url()}`)
  })
  return { page, faults }
}

const cells = (page: Page, selector: string) =>
  page.$$eval(selector, (all) => all.map(({ textContent }) => textContent))

/** Waits until an element's text matches. */
async function waitForText(page: Page, selector: string, pattern: RegExp): Promise<void> {
  await page.waitForFunction(
    (selector, pattern) => new RegExp(pattern, 's').test(document.querySelector(selector)?.textContent ?? ''),
    {},
    selector,
    pattern.source,
  )
}

const text = (page: Page, selector: string) => page.$eval(selector, (element) => element.textContent ?? '')

t.test('the status page in a browser', { skip: NO_CHROMIUM }, async (t) => {
  const folder = t.testdir({ data: {} })
  const server = await start(
    t,
    { directory: join(folder, 'data'), slowMilliseconds: 1 },
    { structures: prefixTrees, pageFolder: PAGE },
  )
  const url = server.url.replace('ws', 'http')
  const client = await RawClient.connect(t, server.url)
  const create = { op: 'createIndex', index: 'numbers <b>', keyType: 'u32', payloadKind: 'u32', unique: true }
  await client.ask({ id: 1, ...create })
  const keys = Array.from({ length: 5000 }, (_, i) => i * 7919)
  const sections = { keys: column(keys), payloads: { type: 'bytes', bytes: u32(...keys) } } as const
  await client.ask({ id: 2, op: 'insert', index: create.index }, sections)
  await server.engine.createRelation({
    name: 'orders',
    columns: [{ name: 'k', type: 'u32', nullable: false }],
  })
  await server.engine
    .relation('orders')
    .append({ rows: 5000, columns: new Map([['k', { values: u32(...keys) }]]) })
  const few = { op: 'limit', rows: 7, input: { op: 'scan', relation: 'orders' } }
  await server.engine.queries.keep(few, { name: 'few', seconds: 7200 }, { cancelled: false })
  const browser = await launch(t)
  const { page, faults } = await open(browser, url)
  await page.setViewport({ width: 1280, height: 900 })
  await page.goto(url)
  await page.waitForSelector('#indexes tr')
  // It comes by a request of its own.
  await page.waitForSelector('.map')

  await t.test('it shows what there is', async (t) => {
    t.equal(await text(page, '#state'), 'ready')
    t.match(await text(page, '#facts'), /SwiftShader/)
    const cells = await page.$$eval('#indexes tr > *', (all) => all.map(({ textContent }) => textContent))
    t.match(cells, [
      'numbers <b>u32 to u32, unique',
      'CSS-tree',
      '5,000',
      '5,000',
      /KiB$/,
      /^\d+\.\d$/,
      'on the device',
      '1',
    ])
    const relations = await page.$$eval('#relations tr > *', (all) =>
      all.map(({ textContent }) => textContent),
    )
    t.match(relations.slice(0, 7), ['orders1 column', '5,000', /KiB$/, '4.1', '1', 'on the device', '1'])
    t.match(relations.slice(7), [
      /^few1 column, a result, kept for 7,/,
      '7',
      /KiB$/,
      /\d/,
      '–',
      /device/,
      '–',
    ])
    t.match(await text(page, '.map'), /nodes.*tuples.*separators.*sequential \(1 batch\).*1 records/s)
    t.equal(await page.$eval('.map canvas', isInked), true, 'the map is drawn')
    t.match(await text(page, '#slabs'), /Slab \d+, tree.*pages free/s)
    t.ok(await page.$eval('#slabs canvas', isInked), 'whose the pages of a slab are is drawn')
    const owners = await text(page, '#page-owners')
    for (const owner of ['index numbers <b>', 'relation orders', 'relation few'])
      t.ok(owners.includes(owner), owner)
    t.ok(await page.$eval('.plot canvas', isInked), 'plots are drawn')
    t.equal((await page.$$('.plot')).length, 6)
  })

  await t.test('it moves when requests are made', async (t) => {
    t.match(await text(page, '#ops'), /insert/)
    t.notMatch(await text(page, '#ops'), /get/)
    for (let i = 0; i < 7; i++) {
      await client.ask({ id: 3, op: 'get', index: create.index }, { keys: column(keys.slice(0, 100)) })
    }
    await page.waitForFunction(() =>
      Array.from(document.querySelectorAll('#ops tr')).some(({ textContent }) =>
        textContent?.startsWith('get7700'),
      ),
    )
    await page.waitForFunction(() => document.querySelector('#tiles dd')?.textContent !== '0')
    t.match(await text(page, '.map dl'), /sequential \(8 batches\)/)
  })

  await t.test('it answers statements, and says where one is wrong', async (t) => {
    const ask = async (statement: string, answer: RegExp) => {
      await page.$eval('#sql', (box) => Object.assign(box, { value: '' }))
      await page.type('#sql', statement)
      await page.click('#run-sql')
      await waitForText(page, '#sql-state', answer)
    }
    await ask('select k, k / 2 as half, null as no from orders where k < 20000 order by k', /^3 rows in /)
    t.strictSame(await cells(page, '#sql-result thead th'), ['ku32', 'halff64', 'noi32'])
    t.strictSame((await cells(page, '#sql-result tbody td')).slice(3), [
      '7919',
      '3959.5',
      'null',
      '15838',
      '7919',
      'null',
    ])
    await ask('select * from orders', /^the first 200 rows in /)
    t.equal((await cells(page, '#sql-result tbody tr')).length, 200)
    await ask('select k,\n  nothing from orders', /line 2, column 3: .*nothing/)
    t.equal(await page.$eval('#sql-state', ({ className }) => className), 'outcome bad')
    t.equal(await text(page, '#sql-result'), '')
  })

  await t.test('it shows keys and rows', async (t) => {
    await page.select('#browse-name', 'index numbers <b>')
    t.match(await text(page, '#browse-hint'), /^a u32/)
    await page.type('#browse-from', '7920')
    await page.click('#browse')
    await waitForText(page, '#browse-state', /^entries 1 to 50$/)
    t.strictSame((await cells(page, '#browse-result tbody td')).slice(0, 4), [
      '15838',
      '15838',
      '23757',
      '23757',
    ])
    await page.click('#browse-next')
    await waitForText(page, '#browse-state', /^entries 51 to 100$/)
    t.equal((await cells(page, '#browse-result tbody td'))[0], String(7919 * 52))
    await page.select('#browse-name', 'relation orders')
    await page.$eval('#browse-from', (box) => Object.assign(box, { value: '4990' }))
    await page.click('#browse')
    await waitForText(page, '#browse-state', /^rows 4,991 to 5,000$/)
    t.equal(await page.$eval('#browse-next', (button) => button.hasAttribute('hidden')), true)
    await page.select('#browse-name', 'index numbers <b>')
    await page.$eval('#browse-from', (box) => Object.assign(box, { value: 'x' }))
    await page.click('#browse')
    await waitForText(page, '#browse-state', /x is not a number; keys are u32/)
  })

  await t.test('it shows who is connected, what was slow and what failed, and an hour', async (t) => {
    await waitForText(page, '#slow', /select k, k \/ \? as half.*127\.0\.0\.1/)
    await waitForText(page, '#slow', /BAD_REQUEST/)
    t.match(await page.$$eval('#slow .bad', (all) => all.map(({ textContent }) => textContent)), [
      'BAD_REQUEST',
    ])
    await waitForText(page, '#clients', /127\.0\.0\.1.*without a token.*127\.0\.0\.1/)
    t.match(await page.$$eval('#ops .bad', (all) => all.map(({ textContent }) => textContent)), ['1'])
    const hour = page.waitForResponse((response) => response.url().endsWith('/hour.json'))
    await page.click('#plots-of input[value=hour]')
    t.equal((await hour).status(), 200)
    await page.click('#plots-of input[value=minutes]')
  })

  await t.test('it shows the nodes of a cluster', async (t) => {
    t.ok(await page.$eval('#nodes-section', (section) => section.hasAttribute('hidden')))
    const nodes = [
      { set: 0, url: 'ws://a:7070', role: 'owner', position: 12_000 },
      { set: 0, url: 'ws://b:7070', role: 'following', position: 11_990 },
      { set: 1, url: 'ws://c:7070', role: 'failed', position: 7 },
    ] as const
    server.engine.replica.cluster = () => ({ name: 'main', set: 0, sets: 2, nodes })
    await waitForText(page, '#nodes', /c:7070/)
    t.same(await cells(page, '#nodes tr'), [
      'ws://a:70700owner12,0000',
      'ws://b:70700following11,99010',
      'ws://c:70701failed70',
    ])
  })

  await t.test('it fits every form, and can be read', async (t) => {
    mkdirSync(ARTIFACTS, { recursive: true })
    for (const { name, width, height, scheme } of FORMS) {
      await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }])
      await page.setViewport({ width, height })
      await page.waitForFunction((most) => document.documentElement.scrollWidth <= most, {}, width)
      const wide = await page.$$eval(
        'table, canvas, dl, figure',
        (all, most) => {
          return all
            .filter((one) => one.getBoundingClientRect().right > most)
            .map(({ className }) => className)
        },
        width,
      )
      t.same(wide, [], `${name}: nothing is cut off`)
      t.same(await page.evaluate(lowContrasts, 4.5), [], `${name}: text stands out`)
      await page.screenshot({ path: join(ARTIFACTS, `status-${name}.png`), fullPage: true })
    }
  })

  await t.test('it is marked up for those who do not see it', async (t) => {
    const bare = await page.$$eval(
      'table',
      (all) => all.filter((table) => table.querySelector('thead th[scope=col]') === null).length,
    )
    t.equal(bare, 0, 'tables have headings')
    const nameless = await page.$$eval(
      'canvas',
      (all) => all.filter((canvas) => canvas.closest('[aria-label]') === null).length,
    )
    t.equal(nameless, 0, 'pictures have names')
    t.equal(await page.$eval('html', ({ lang }) => lang), 'en')
  })

  t.same(faults, [], 'no errors, nothing from elsewhere')
  await page.close()
})

/** Whether something is drawn on a canvas. Runs in the page. */
function isInked(canvas: Element): boolean {
  if (!(canvas instanceof HTMLCanvasElement)) return false
  const data = canvas.getContext('2d')?.getImageData(0, 0, canvas.width, canvas.height).data
  return data?.some((value) => value > 0) ?? false
}

t.test('a server with a token', { skip: NO_CHROMIUM }, async (t) => {
  const folder = t.testdir({ data: {} })
  const server = await start(t, { token: TOKEN, directory: join(folder, 'data') }, { pageFolder: PAGE })
  const url = server.url.replace('ws', 'http')
  const browser = await launch(t)
  const { page, faults } = await open(browser, url)
  await page.setViewport({ width: 360, height: 740 })
  await page.goto(url)
  await page.waitForSelector('#sign-in:not([hidden])')
  t.equal(await page.$eval('label[for=token]', (label) => label.textContent), 'Token')
  mkdirSync(ARTIFACTS, { recursive: true })
  await page.screenshot({ path: join(ARTIFACTS, 'status-token.png') })
  await page.type('#token', 'wrong')
  await page.keyboard.press('Enter')
  await page.waitForFunction(() =>
    document.querySelector('#sign-in-hint')?.textContent?.includes('not the token'),
  )
  await page.type('#token', TOKEN)
  await page.keyboard.press('Enter')
  await page.waitForSelector('#content:not([hidden])')
  t.equal(await page.$eval('#sign-in', (form) => form.hasAttribute('hidden')), true)
  t.equal(page.url(), `${url}/`)
  const kept = await page.evaluate(() => [
    document.cookie,
    localStorage.length,
    Object.values(sessionStorage),
  ])
  t.same(kept, ['', 0, [TOKEN]], 'the token is in this tab and nowhere else')
  await page.reload()
  await page.waitForSelector('#content:not([hidden])')
  await page.type('#sql', 'select * from nothing')
  await page.click('#run-sql')
  await waitForText(page, '#sql-state', /^BAD_REQUEST: .*no relation that may be read/)
  const other = await browser.newPage()
  await other.goto(url)
  await other.waitForSelector('#sign-in:not([hidden])')
  t.same(
    faults.filter((fault) => !/status of 401|no valid credentials/.test(fault)),
    [],
  )
})

t.test('a token that may read one index sees that, and no figures', { skip: NO_CHROMIUM }, async (t) => {
  const folder = t.testdir({ data: {} })
  const tokens = join(folder, 'tokens.json')
  const rights = [{ index: 'shop-*', allow: ['read'] }]
  writeFileSync(tokens, JSON.stringify({ tokens: [{ name: 'shop', token: `${TOKEN}-shop`, rights }] }))
  const server = await start(t, { tokens, directory: join(folder, 'data') }, { pageFolder: PAGE })
  for (const name of ['shop-prices', 'secrets'])
    await server.engine.createIndex({ name, keyType: 'u32', payloadKind: 'u32', unique: true })
  const browser = await launch(t)
  const { page, faults } = await open(browser, server.url.replace('ws', 'http'))
  await page.goto(server.url.replace('ws', 'http'))
  await page.waitForSelector('#sign-in:not([hidden])')
  await page.type('#token', `${TOKEN}-shop`)
  await page.keyboard.press('Enter')
  await page.waitForSelector('#content:not([hidden])')
  t.strictSame(await cells(page, '#browse-name option'), ['index shop-prices'])
  await page.click('#browse')
  await waitForText(page, '#browse-state', /^no entries$/)
  const shown = await page.$$eval('#content > *', (all) =>
    all.filter((one) => one.getClientRects().length > 0).map((one) => one.getAttribute('aria-labelledby')),
  )
  t.strictSame(shown, ['query-title', 'browse-title'])
  t.same(
    faults.filter((fault) => !/status of 401/.test(fault)),
    [],
  )
})
