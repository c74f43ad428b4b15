import { once } from 'node:events'
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { connect } from '../../clients/sdk/index.js'
import { serve } from '../clients/cli/run-cli.js'
import { lacks, PYTHON, PYTHON_PATH, WANTED } from '../clients/python/python.js'
import { ROOT } from '../compiled.js'
import { Installed } from './installed.js'

// The programs of examples/, as they are.

const folder = t.testdir()
const { url } = await serve(t, join(folder, 'data'))
const installed = new Installed(folder, { WARPDEX_URL: url, PORT: '0', PYTHONPATH: PYTHON_PATH })
cpSync(join(ROOT, 'examples'), join(folder, 'examples'), { recursive: true })

t.test('a stream is enriched in its order, a batch after the other', async (t) => {
  const client = await connect(url)
  const names = await client.createIndex({ name: 'name', keyType: 'u32', payloadKind: 'text', unique: true })
  await names.putMany([0, 1, 2], ['Ada', 'Bob', 'Cy'])
  await client.close()
  const events = Array.from({ length: 25_000 }, (_, i) => ({ event: i, customer: i % 4 }))
  const input = events.map((event) => `${JSON.stringify(event)}\n`).join('')
  const program = ['examples/enrich-stream.mjs', 'name', 'customer']
  const printed = await installed.run(process.execPath, program, '', input)
  const lines = printed.trimEnd().split('\n')
  const wanted = events.map((event) => ({ ...event, name: ['Ada', 'Bob', 'Cy', null][event.customer] }))
  t.same(
    lines.map((line) => JSON.parse(line)),
    wanted,
  )
  const wrong = await installed.run(process.execPath, program, '', '{"customer": 1}\n\n{\n')
  t.match(wrong, /line 3: /)
  const refused = await installed.run(process.execPath, ['examples/enrich-stream.mjs', 'name'])
  t.match(refused, /usage/)
})

t.test('words are suggested over HTTP', async (t) => {
  const words = join(t.testdir({ words: 'Berlin\nBern\nParis\nÅrhus\n' }), 'words')
  const child = installed.start(process.execPath, ['examples/autocomplete-http.mjs', words])
  t.teardown(() => child.kill())
  const ended = once(child, 'close').then(([code]) => Promise.reject(new Error(`it ended with code ${code}`)))
  const [line] = await Promise.race([once(child.stdout.setEncoding('utf8'), 'data'), ended])
  const suggest = async (prefix: string) =>
    (await fetch(`${line.trim()}${encodeURIComponent(prefix)}`)).json()
  t.same(await suggest('bEr'), ['Berlin', 'Bern'])
  t.same(await suggest('å'), ['Århus'])
  t.same(await suggest('x'), [])
  t.equal((await fetch(new URL('/', line.trim()))).status, 404)
})

t.test('features are looked up from Python', { skip: lacks(WANTED) }, async (t) => {
  const printed = await installed.run(PYTHON, ['examples/features.py'])
  t.match(printed, /^found: \[True, True, False\]\nequal to what was stored: True\nscores: \[.*, 0.0\]\n$/)
})
