import { once } from 'node:events'
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import { get } from 'node:https'
import { connect as connectPlain } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { connect as connectTls } from 'node:tls'
import t from 'tap'
import { connect } from '../../../clients/sdk/index.js'
import { readTlsIdentity } from '../../../src/server/tls.js'
import { makeCertificate } from './certificates.js'
import { start } from './start.js'

const folder = t.testdir()

t.test('with a certificate the port speaks TLS, and nothing else', async (t) => {
  const files = await makeCertificate(folder, 'own')
  const ca = readFileSync(files.tlsCert)
  const { url } = await start(t, { ...files, token: 'secret' })
  t.match(url, /^wss:\/\/127\.0\.0\.1:\d+$/)
  const client = await connect(url, { ca, token: 'secret' })
  t.teardown(() => client.close())
  await client.createIndex({ name: 'a', keyType: 'u32', payloadKind: 'u32', unique: false })
  const index = client.index<'u32', 'u32'>('a')
  const keys = Uint32Array.from({ length: 100_000 }, (_, i) => i)
  await index.insertMany(keys, keys)
  t.equal((await index.countMany(keys)).length, keys.length)
  const { port } = new URL(url)
  const [response] = await once(get(`https://localhost:${port}/health`, { ca }), 'response')
  t.strictSame(JSON.parse(await text(response)), { status: 'ready' })
  await t.rejects(connect(url, { ca }), { code: 'UNAUTHORISED' })
  await t.rejects(connect(url), { code: 'CONNECTION_LOST', message: /self-signed.*--ca FILE/ })
  await t.rejects(connect(url.replace('wss', 'ws')), { code: 'CONNECTION_LOST' })
  const plain = connectPlain(Number(port), '127.0.0.1')
  plain.on('error', () => {})
  plain.write('GET /health HTTP/1.1\r\nHost: x\r\n\r\n')
  await once(plain, 'close')
  const old = connectTls({
    port: Number(port),
    host: '127.0.0.1',
    ca,
    maxVersion: 'TLSv1.1',
    minVersion: 'TLSv1',
  })
  const refused = { code: 'ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION' }
  await t.rejects(once(old, 'secureConnect'), refused, 'versions of TLS that are broken are refused')
  const stranger = await makeCertificate(folder, 'stranger')
  await t.rejects(connect(url, { ca: readFileSync(stranger.tlsCert, 'utf8') }), { code: 'CONNECTION_LOST' })
})

t.test('a renewed certificate serves new connections, and old ones go on', async (t) => {
  const files = await makeCertificate(folder, 'first')
  const first = readFileSync(files.tlsCert)
  const server = await start(t, files)
  const early = await connect(server.url, { ca: first })
  t.teardown(() => early.close())
  const renewed = await makeCertificate(folder, 'second')
  copyFileSync(renewed.tlsCert, files.tlsCert)
  await t.rejects(server.reload(), { message: /first\.key\.pem is the key of another certificate/ })
  ;(await connect(server.url, { ca: first })).close()
  copyFileSync(renewed.tlsKey, files.tlsKey)
  await server.reload()
  ;(await connect(server.url, { ca: readFileSync(renewed.tlsCert) })).close()
  await t.rejects(connect(server.url, { ca: first }), { code: 'CONNECTION_LOST' })
  t.strictSame(await early.listIndexes(), [])
})

t.test('what is wrong with the files is said, with the name of the file', async (t) => {
  const { tlsCert, tlsKey } = await makeCertificate(folder, 'whole')
  const other = await makeCertificate(folder, 'other')
  const refused = (cert: string, key: string, message: RegExp) =>
    t.throws(() => readTlsIdentity(cert, key), { code: 'BAD_REQUEST', message })
  t.equal(readTlsIdentity('', ''), undefined)
  refused(tlsCert, '', /set the key, --tls-key, too/)
  refused('', tlsKey, /set the certificate, --tls-cert, too/)
  refused(join(folder, 'none'), tlsKey, /none cannot be read: ENOENT/)
  refused(tlsCert, join(folder, 'none'), /none cannot be read: ENOENT/)
  refused(tlsKey, tlsKey, /whole\.key\.pem holds no certificate in PEM form/)
  refused(tlsCert, tlsCert, /whole\.cert\.pem does not hold a private key/)
  refused(tlsCert, other.tlsKey, /other\.key\.pem is the key of another certificate than .*whole\.cert\.pem/)
  const torn = join(folder, 'torn.pem')
  writeFileSync(torn, readFileSync(tlsCert).subarray(0, 200))
  refused(torn, tlsKey, /torn\.pem holds no certificate/)
  await t.rejects(start(t, { tlsCert }), { code: 'BAD_REQUEST' })
})

t.test('a certificate that ends soon is warned of', async (t) => {
  const warnings: string[] = []
  const files = await makeCertificate(folder, 'late', new Date(Date.now() - 86_400_000))
  await start(t, files, { onWarning: (message) => warnings.push(message) })
  t.match(warnings, [/late\.cert\.pem ends/])
})
