import { once } from 'node:events'
import { chmodSync, writeFileSync } from 'node:fs'
import { get, type IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import t from 'tap'
import { WebSocket } from 'ws'
import { col, connect, relation } from '../../../../clients/sdk/index.js'
import { openSocket } from '../../../../clients/sdk/socket-browser.js'
import { isToken, subprotocolToken, tokenSubprotocols } from '../../../../protocol/bearer.js'
import { prefixTrees } from '../../../../src/engine/structures.js'
import { Access } from '../../../../src/server/access/access.js'
import { RawClient } from '../raw-client.js'
import { start } from '../start.js'

const TOKENS = {
  operator: 'operator-operator-operator',
  ingest: 'ingest-ingest-ingest-ingest',
  reader: 'reader+/=~-._reader-reader',
  monitor: 'monitor-monitor-monitor',
}

const entries = [
  { name: 'operator', token: TOKENS.operator, admin: true },
  { name: 'ingest', token: TOKENS.ingest, rights: [{ index: 'a-*', allow: ['write', 'create'] }] },
  { name: 'reader', token: TOKENS.reader, rights: [{ index: 'a-1', allow: ['read', 'snapshot'] }] },
  { name: 'monitor', token: TOKENS.monitor, rights: [{ index: '*', allow: ['stats'] }] },
]

/** As browsers have it: a failure is an event that need not be listened to. */
class BrowserWebSocket extends WebSocket {
  constructor(url: string, protocols: string[]) {
    super(url, protocols)
    this.on('error', () => {})
  }
}

const folder = t.testdir()
let files = 0

function tokenFile(): string {
  const path = join(folder, `tokens-${files++}.json`)
  writeFileSync(path, JSON.stringify({ tokens: entries }), { mode: 0o600 })
  return path
}

const definition = (name: string) => ({ name, keyType: 'u32', payloadKind: 'u32', unique: false }) as const

t.test('everybody does what it may, sees what it may, and no more', async (t) => {
  const { url } = await start(t, { tokens: tokenFile() })
  const clientOf = async (name: keyof typeof TOKENS) => {
    const client = await connect(url, { token: TOKENS[name], reconnect: { attempts: 0 } })
    t.teardown(() => client.close())
    return client
  }
  const lacks = (call: Promise<unknown>, right: string, who: string) =>
    t.rejects(call, { code: 'UNAUTHORISED', message: new RegExp(`right "${right}" on .*"${who}" lacks it`) })
  const [operator, ingest, reader, monitor] = await Promise.all([
    clientOf('operator'),
    clientOf('ingest'),
    clientOf('reader'),
    clientOf('monitor'),
  ])
  await operator.createIndex(definition('b-1'))
  await ingest.createIndex(definition('a-1'))
  await ingest.createIndex(definition('a-2'))
  await ingest.index<'u32', 'u32'>('a-1').insertMany([1], [10])
  await lacks(ingest.createIndex(definition('b-2')), 'create', 'ingest')
  await lacks(ingest.createIndex({ ...definition('b-1') }), 'create', 'ingest')
  await lacks(ingest.index('a-1').getMany([1]), 'read', 'ingest')
  await lacks(ingest.index('b-1').stats(), 'stats', 'ingest')
  await lacks(ingest.dropIndex('a-1'), 'drop', 'ingest')
  await lacks(ingest.dropIndex('none'), 'drop', 'ingest')
  await lacks(ingest.renameIndex('a-1', 'a-3'), 'drop', 'ingest')
  await lacks(ingest.swapIndexes('a-1', 'a-2'), 'drop', 'ingest')
  t.strictSame(await reader.index<'u32', 'u32'>('a-1').get(1), 10)
  await lacks(reader.index('a-2').definition(), 'stats', 'reader')
  await t.rejects(reader.index('a-2').getMany([1]), { message: /or any other there, such as "read" for get/ })
  const unread = reader.query(relation('b-1')).rows()
  await t.rejects(unread, { message: /right "read" on "b-1"; the client's token lacks it/ })
  await lacks(reader.index<'u32', 'u32'>('a-1').insertMany([1], [11]), 'write', 'reader')
  await lacks(monitor.index('a-1').getMany([1]), 'read', 'monitor')
  const names = (list: readonly { readonly name: string }[]) => list.map(({ name }) => name)
  t.strictSame(names(await operator.listIndexes()), ['b-1', 'a-1', 'a-2'])
  t.strictSame(names(await ingest.listIndexes()), ['a-1', 'a-2'])
  t.strictSame(names(await reader.listIndexes()), ['a-1'])
  t.strictSame(names((await monitor.stats()).indexes), ['b-1', 'a-1', 'a-2'])
  t.match((await monitor.stats()).server, { deviceBytes: Number })
  const seen = await reader.stats()
  t.strictSame(names(seen.indexes), ['a-1'])
  t.strictSame(Object.keys(seen.server), ['version', 'uptimeSeconds', 'adapter'])
  t.strictSame(
    (await reader.takeSnapshot()).map(({ index }) => index),
    ['a-1'],
  )
  await lacks(reader.takeSnapshot('a-2'), 'snapshot', 'reader')
  await t.rejects(monitor.takeSnapshot(), { code: 'UNAUTHORISED', message: /"snapshot" on any index/ })
  t.equal((await operator.takeSnapshot()).length, 3)
  t.ok(await operator.dropIndex('a-2'))
})

t.test('who may read a relation is not told of indexes over it that it has no right to', async (t) => {
  const tokens = join(folder, 'tokens-secret.json')
  const token = 'shop-shop-shop-shop'
  const shop = { name: 'shop', token, rights: [{ index: 'a-*', allow: ['read', 'drop'] }] }
  const rights = [...shop.rights, { index: 'secret-*', allow: ['read'] }]
  const auditor = { name: 'auditor', token: 'auditor-auditor-auditor', rights }
  writeFileSync(tokens, JSON.stringify({ tokens: [entries[0], shop, auditor] }), { mode: 0o600 })
  const { url } = await start(t, { tokens }, { structures: prefixTrees })
  const open = (token: string) => connect(url, { token, reconnect: { attempts: 0 } })
  const [operator, reader] = await Promise.all([open(TOKENS.operator), open(token)])
  t.teardown(() => [operator, reader].map((client) => client.close()))
  const ids = Uint32Array.from({ length: 2000 }, (_, i) => i)
  const columns = ['id', 'other'].map((name) => ({ name, type: 'u32', nullable: false }) as const)
  await operator.createRelation({ name: 'a-r', columns })
  await operator.relation('a-r').append({ id: ids, other: ids })
  await operator.relation('a-r').createIndex('secret-by-id', ['id'])
  await operator.relation('a-r').createIndex('a-by-other', ['other'])
  const one = (column: string) => relation('a-r').where(col(column).eq(5))
  const joined = (column: string) =>
    one(column === 'id' ? 'other' : 'id').join(relation('a-r', 'r'), {
      on: [[column, `r.${column}`]],
      kind: 'semi',
      algorithm: 'inlj',
    })
  const told = async (client: typeof reader) => ({
    list: await client.listRelations(),
    stats: await client.stats(),
    relation: await client.relation('a-r').stats(),
    definition: await client.relation('a-r').definition(),
    join: await client.explainQuery(joined('id')),
  })
  const all = await told(operator)
  for (const [what, reply] of Object.entries(all)) {
    if (what !== 'definition') t.match(JSON.stringify(reply), /secret/, `the operator sees it: ${what}`)
  }
  const some = await told(reader)
  t.notMatch(JSON.stringify(some), /secret/)
  t.match(some.list[0]?.indexes, [{ name: 'a-by-other', columns: ['other'] }])
  t.match(some.join.method, 'inlj on an index of the right side')
  t.match(
    (await reader.explainQuery(joined('other'))).method,
    'inlj on the index a-by-other of the right side',
  )

  // Nor may it drop them with their relation.
  const seer = await open(auditor.token)
  t.teardown(() => seer.close())
  const refused = (client: typeof reader, which: string) =>
    t.rejects(client.dropRelation('a-r', { ifExists: true }), {
      code: 'UNAUTHORISED',
      message: new RegExp(`"drop" on each index over .* lacks it on ${which}$`),
    })
  await refused(reader, 'one that it may not see')
  await refused(seer, '"secret-by-id"')
  t.match(await operator.listRelations(), all.list)
  t.same(await operator.index<'u32', 'u32'>('secret-by-id').get(5), 5)
  await operator.dropIndex('secret-by-id')
  t.ok(await reader.dropRelation('a-r'))
  t.same(await operator.listIndexes(), [])
})

t.test('a kept result is replaced by who may drop it', async (t) => {
  const tokens = join(folder, 'tokens-kept.json')
  const may = (name: string, allow: readonly string[]) => ({
    name,
    token: `${name}-${name}-${name}`,
    rights: [{ index: '*', allow }],
  })
  const all = [may('replacer', ['read', 'create', 'write', 'drop']), may('keeper', ['read', 'create'])]
  writeFileSync(tokens, JSON.stringify({ tokens: all }), { mode: 0o600 })
  const { url } = await start(t, { tokens })
  const [replacer, keeper] = await Promise.all(
    all.map(({ token }) => connect(url, { token, reconnect: { attempts: 0 } })),
  )
  t.teardown(() => [replacer, keeper].map((client) => client?.close()))
  await replacer!.createRelation({ name: 'r', columns: [{ name: 'u', type: 'u32', nullable: false }] })
  await keeper!.query(relation('r')).keep('kept')
  await t.rejects(keeper!.query(relation('r')).keep('kept'), {
    code: 'UNAUTHORISED',
    message: /replaces a kept result needs the right "drop" on "kept"/,
  })
  await replacer!.query(relation('r')).keep('kept')
  await keeper!.query(relation('r')).keep('another')
})

t.test('who has no token, or a wrong one, is not let in at all', async (t) => {
  const { url } = await start(t, { tokens: tokenFile(), token: 'also-a-token' })
  const statusFor = (headers: Readonly<Record<string, string>>, protocols: readonly string[] = []) =>
    RawClient.connect(t, url, { headers }, protocols).then(
      ({ socket }) => `open ${socket.protocol}`,
      (error: Error) => error.message.slice(-3),
    )
  const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
  t.equal(await statusFor({}), '401')
  t.equal(await statusFor(bearer('')), '401')
  t.equal(await statusFor(bearer(TOKENS.reader.slice(0, -1))), '401')
  t.equal(await statusFor(bearer(`${TOKENS.reader}x`)), '401')
  t.equal(await statusFor({ authorization: `Basic ${TOKENS.reader}` }), '401')
  t.equal(await statusFor(bearer(TOKENS.reader)), 'open ')
  t.equal(await statusFor({ authorization: `bearer  ${TOKENS.reader}` }), 'open ')
  t.equal(await statusFor(bearer('also-a-token')), 'open ')
  for (const token of Object.values(TOKENS)) {
    t.equal(await statusFor({}, tokenSubprotocols(token)), 'open warpdex')
  }
  t.equal(await statusFor({}, ['warpdex']), '401')
  t.equal(await statusFor({}, tokenSubprotocols('guess')), '401')
  t.equal(await statusFor({}, ['warpdex', 'warpdex.bearer.$$$']), '401')
  t.equal(await statusFor(bearer('guess'), tokenSubprotocols(TOKENS.reader)), '401', 'the header counts')
  await t.rejects(connect(url), { code: 'UNAUTHORISED', message: /needs a token/ })
  await t.rejects(connect(url, { token: 'guess' }), {
    code: 'UNAUTHORISED',
    message: /does not know the token/,
  })
  await t.rejects(connect(url, { token: 'two words' }), { code: 'BAD_REQUEST', message: /^(?!.*two words)/ })
})

t.test('a browser brings its token as a subprotocol', async (t) => {
  t.intercept(globalThis, 'WebSocket', { value: BrowserWebSocket, configurable: true })
  const { url } = await start(t, { tokens: tokenFile() })
  const outcome = (token: string | undefined) =>
    new Promise((resolve) => {
      const handlers = { onOpen: () => resolve('open'), onMessage: () => {}, onClose: resolve }
      const socket = openSocket(url, { token, ca: undefined }, handlers)
      t.teardown(() => socket.close())
    })
  t.equal(await outcome(TOKENS.monitor), 'open')
  t.match(await outcome('guess'), /needs a token/)
  t.match(await outcome(undefined), /needs a token/)
  for (const token of ['~', 'a', 'ab', 'abc', '~~~???>>>', '!'.repeat(512)]) {
    const [, offer] = tokenSubprotocols(token)
    t.match(offer, /^warpdex\.bearer\.[A-Za-z0-9_-]+$/, 'what a subprotocol may consist of')
    t.equal(subprotocolToken(`x, ${offer} ,y`), token)
    t.ok(isToken(token))
  }
  for (const text of ['', ' ', 'a b', 'é', 'a\n', '!'.repeat(513)]) t.notOk(isToken(text))
})

t.test('a file that is read again gives and takes rights at once', async (t) => {
  const tokens = tokenFile()
  const warnings: string[] = []
  const server = await start(t, { tokens }, { onWarning: (message) => warnings.push(message) })
  const operator = await connect(server.url, { token: TOKENS.operator })
  t.teardown(() => operator.close())
  await operator.createIndex(definition('a'))
  writeFileSync(tokens, '{}')
  await t.rejects(server.reload(), { code: 'BAD_REQUEST', message: /tokens-\d\.json/ })
  await operator.createIndex(definition('b'))
  const lesser = { name: 'operator', token: TOKENS.operator, rights: [{ index: 'a', allow: ['read'] }] }
  writeFileSync(tokens, JSON.stringify({ tokens: [lesser] }))
  await server.reload()
  await t.rejects(operator.createIndex(definition('c')), { code: 'UNAUTHORISED' })
  t.equal((await operator.listIndexes()).length, 1)
  writeFileSync(tokens, JSON.stringify({ tokens: [{ ...lesser, token: 'something-else-here' }] }))
  await server.reload()
  t.strictSame(await operator.listIndexes(), [])
  await t.rejects(connect(server.url, { token: TOKENS.operator }), { code: 'UNAUTHORISED' })
  t.strictSame(warnings, [])
})

t.test('a file that every user can read is warned of', { skip: process.platform === 'win32' }, async (t) => {
  const tokens = tokenFile()
  chmodSync(tokens, 0o644)
  const warnings: string[] = []
  await start(t, { tokens }, { onWarning: (message) => warnings.push(message) })
  t.match(warnings, [/tokens-\d\.json can be read by every user/])
  t.equal(warnings.length, 1)
})

t.test('figures over HTTP are for who may see all of them', async (t) => {
  const request = (headers: object) => ({ headers }) as unknown as IncomingMessage
  const open = new Access({ token: '', tokens: '', host: '127.0.0.1' })
  t.ok(open.mayRead(request({ host: 'localhost:7070' })))
  t.ok(open.mayRead(request({ host: '[::1]:7070' })))
  t.notOk(
    open.mayRead(request({ host: 'rebound.example:7070' })),
    'a page under another name of this machine',
  )
  t.notOk(open.mayRead(request({})))
  t.ok(new Access({ token: '', tokens: '', host: '0.0.0.0' }).mayRead(request({ host: 'db.example' })))
  const guarded = new Access({ token: '', tokens: tokenFile(), host: '127.0.0.1' })
  const bearer = (token: string) => request({ host: 'any', authorization: `Bearer ${token}` })
  t.notOk(guarded.mayRead(request({ host: 'localhost' })))
  t.notOk(guarded.mayRead(bearer(TOKENS.reader)))
  t.ok(guarded.mayRead(bearer(TOKENS.monitor)))
  t.ok(guarded.mayRead(bearer(TOKENS.operator)))
})

t.test(
  'who calls the server by a foreign name is told so, and a folder of backups that is missing is warned of',
  async (t) => {
    const warnings: string[] = []
    const backupDirectory = join(folder, 'no-such-folder')
    const onWarning = (message: string) => warnings.push(message)
    const { url } = await start(t, { backupDirectory }, { onWarning })
    t.match(warnings, [
      /folder of backups, .*no-such-folder, does not exist; make it first, or every backup fails/,
    ])
    const asked = get(`${url.replace('ws:', 'http:')}/metrics`, { headers: { host: 'evil.example' } })
    const [answer] = await once(asked, 'response')
    t.equal(answer.statusCode, 403)
    t.match(await text(answer), /header Host must name this machine/)
  },
)
