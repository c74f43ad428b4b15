import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { digestOf, readTokenFile } from '../../../../src/server/access/token-file.js'

const file = join(t.testdir(), 'tokens.json')
const SECRET = 'a secret that nobody may see'.replaceAll(' ', '-')

function read(content: unknown) {
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content))
  return readTokenFile(file)
}

t.test('tokens by digest and in plain, with rights and without bounds', async (t) => {
  const rights = [{ index: 'orders-*', allow: ['read', 'write'] }]
  const [one, other] = read({
    tokens: [
      { name: 'ingest', token: SECRET, rights },
      { name: 'operator', sha256: digestOf('other').toString('hex').toUpperCase(), admin: true },
    ],
  })
  t.ok(one.digest.equals(digestOf(SECRET)))
  t.ok(one.rights.may('write', 'orders-1'))
  t.notOk(one.rights.may('drop', 'orders-1'))
  t.ok(other.digest.equals(digestOf('other')))
  t.ok(other.rights.mayEverywhere('drop'))
})

t.test('what is wrong is said with the name of the file, and without a secret', async (t) => {
  const refused = (content: unknown, message: RegExp) => {
    try {
      read(content)
      t.fail(`taken: ${JSON.stringify(content)}`)
    } catch (error) {
      t.match(error, { code: 'BAD_REQUEST', message })
      t.match(error, { message: /tokens\.json/ })
      t.notMatch(String(error), SECRET)
    }
  }
  const one = (entry: object) => ({ tokens: [{ name: 'a', token: SECRET, admin: true, ...entry }] })
  refused(`{"tokens": [{"token": "${SECRET}" oops`, /not JSON/)
  refused(`${SECRET}`, /not JSON/)
  refused([], /the file must be a JSON object/)
  refused({ tokens: [], users: [] }, /unknown "users"/)
  refused({ tokens: [] }, /list of at least one/)
  refused({}, /list of at least one/)
  refused({ tokens: [SECRET] }, /token 1 must be a JSON object/)
  refused(one({ name: '' }), /"name" of 1 to 64/)
  refused(one({ name: 'é' }), /"name" of 1 to 64/)
  refused(one({ role: 'x' }), /unknown "role"; its fields are name/)
  refused(one({ sha256: '0'.repeat(64) }), /either a "sha256" or a "token"/)
  refused(one({ token: undefined }), /either a "sha256" or a "token"/)
  refused(one({ token: undefined, sha256: SECRET }), /64 hexadecimal digits/)
  refused(one({ token: 'too-short-15-chr'.slice(1) }), /16 to 512 printable/)
  refused(one({ token: `${SECRET} ` }), /without blanks/)
  refused(one({ admin: 'yes' }), /true or false/)
  refused(one({ admin: false }), /either "admin": true or a list of "rights"/)
  refused(one({ rights: [{ index: '*', allow: ['read'] }] }), /either "admin"/)
  const rule = (entry: unknown) => one({ admin: false, rights: [entry] })
  refused(rule('read'), /a rule of "a" must be a JSON object/)
  refused(rule({ index: '', allow: ['read'] }), /needs an "index"/)
  refused(rule({ index: 'x', allow: [] }), /"allow" list out of read, write/)
  refused(rule({ index: 'x', allow: ['delete'] }), /"allow" list out of read, write/)
  refused(rule({ index: 'x', allow: 'read' }), /"allow" list/)
  refused(rule({ index: 'x', allow: ['read'], deny: [] }), /unknown "deny"/)
  const [a] = one({}).tokens
  refused({ tokens: [a, a] }, /two tokens have the name "a"/)
  refused({ tokens: [a, { ...a, name: 'b' }] }, /"b" has another one's token/)
  t.throws(() => readTokenFile(join(file, 'none')), { code: 'BAD_REQUEST', message: /cannot be read/ })
})
