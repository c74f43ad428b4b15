import t, { type Test } from 'tap'
import type { Section } from '../../../protocol/frame.js'
import { LIMITS } from '../../../protocol/limits.js'
import { RawClient } from './raw-client.js'
import { start } from './start.js'

const DEFINITION = { op: 'createIndex', index: 'n', keyType: 'u32', payloadKind: 'u32', unique: true }

function u32(...numbers: number[]): Section {
  return { type: 'u32', bytes: new Uint8Array(Uint32Array.from(numbers).buffer) }
}

async function clientOf(t: Test, url: string, name: string): Promise<RawClient> {
  const client = await RawClient.connect(t, url)
  t.match((await client.ask({ id: 0, op: 'hello', protocol: 2, client: name })).header, { ok: true })
  return client
}

/** Connected to a server with an index of keys 0 to 9, each with itself as its payload. */
async function prepared(t: Test): Promise<{ url: string; client: RawClient }> {
  const { url } = await start(t)
  const client = await clientOf(t, url, 'a')
  await client.ask({ id: 1, ...DEFINITION })
  const all = u32(...Array(10).keys())
  await client.ask({ id: 2, op: 'insert', index: 'n' }, { keys: all, payloads: all })
  return { url, client }
}

function numbersIn(section: Section | undefined): number[] {
  return [...new Uint32Array(Uint8Array.from(section?.bytes ?? []).buffer)]
}

/** The payload of key 3. */
async function read(client: RawClient, options: object): Promise<unknown> {
  const { header, sections } = await client.ask(
    { id: 9, op: 'get', index: 'n', ...options },
    { keys: u32(3) },
  )
  return header.ok === true ? numbersIn(sections.get('payloads'))[0] : header.error
}

function write(client: RawClient, key: number, payload: number): Promise<unknown> {
  return client.ask(
    { id: 8, op: 'insert', index: 'n', mode: 'replace' },
    { keys: u32(key), payloads: u32(payload) },
  )
}

t.test('requests name the version that they read', async (t) => {
  const { url, client } = await prepared(t)
  t.match((await client.ask({ id: 3, op: 'openVersion', version: 7 })).header, { ok: true })
  await write(client, 3, 30)
  t.equal(await read(client, {}), 30)
  t.equal(await read(client, { version: 7 }), 3)
  const again = await clientOf(t, url, 'a')
  await again.open('n')
  t.equal(await read(again, { version: 7 }), 3, 'the same client over another connection')
  const other = await clientOf(t, url, 'b')
  await other.open('n')
  t.match(await read(other, { version: 7 }), { code: 'VERSION_GONE' }, "versions are their clients' own")
  t.match((await client.ask({ id: 4, op: 'closeVersion', version: 7 })).header, { closed: true })
  t.match((await client.ask({ id: 5, op: 'closeVersion', version: 7 })).header, { closed: false })
  t.match(await read(client, { version: 7 }), { code: 'VERSION_GONE' })
})

t.test('a scan opens one for its further pages, and only where there are any', async (t) => {
  const { client } = await prepared(t)
  const scan = { id: 3, op: 'scan', index: 'n', limit: 4, version: 1 }
  const first = await client.ask({ ...scan, opensVersion: true })
  t.same(numbersIn(first.sections.get('keys')), [0, 1, 2, 3])
  await write(client, 5, 50)
  await client.ask({ id: 4, op: 'delete', index: 'n' }, { keys: u32(6) })
  const tokens = first.sections.get('tokens')
  t.ok(tokens)
  const second = await client.ask(scan, { tokens: tokens! })
  t.same(numbersIn(second.sections.get('keys')), [4, 5, 6, 7])
  t.same(numbersIn(second.sections.get('payloads')), [4, 5, 6, 7])
  const repeated = await client.ask({ ...scan, opensVersion: true })
  t.same(repeated.sections, first.sections, 'sent again it reads the version that it opened')
  const whole = await client.ask({ ...scan, limit: 100, version: 2, opensVersion: true })
  t.equal(numbersIn(whole.sections.get('keys')).length, 9)
  t.match((await client.ask({ id: 5, op: 'closeVersion', version: 2 })).header, { closed: false })
})

t.test('wrong requests say what is right', async (t) => {
  const { url, client } = await prepared(t)
  const refused = async (header: { op: string; [field: string]: unknown }, message: RegExp) => {
    const reply = await client.ask(
      { id: 6, ...header },
      header.op === 'insert' ? { keys: u32(1), payloads: u32(1) } : {},
    )
    t.match(reply.header, { ok: false, error: { code: 'BAD_REQUEST', message } })
  }
  const most = LIMITS.versionSecondsMost
  await refused({ op: 'openVersion', version: 1, seconds: 0 }, new RegExp(`a whole number from 1 to ${most}`))
  await refused({ op: 'openVersion', version: 1, seconds: most + 1 }, /a whole number from 1 to/)
  await refused({ op: 'openVersion' }, /version/)
  await refused({ op: 'insert', index: 'n', version: 1 }, /insert takes no version/)
  const nameless = await RawClient.connect(t, url)
  t.match((await nameless.ask({ id: 1, op: 'openVersion', version: 1 })).header, {
    error: { code: 'BAD_REQUEST', message: /needs a hello/ },
  })
})
