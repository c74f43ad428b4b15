import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { isToken } from '../../../protocol/bearer.js'
import { badRequest, toWarpdexError, type WarpdexError } from '../../../protocol/errors.js'
import { RIGHTS, type Right } from '../../../protocol/rights.js'
import { Rights, type Rule } from './rights.js'

/** A token that the server knows, by its digest only. */
export interface KnownToken {
  readonly name: string
  /** SHA-256. Tokens are random and long, so nothing slower is needed. */
  readonly digest: Buffer
  readonly rights: Rights
}

/** Of tokens that stand in the file themselves. */
const LEAST_LENGTH = 16

export function digestOf(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}

/**
 * Reads a file of tokens: `{"tokens": [{"name", "sha256" or "token", "admin" or "rights": [{"index", "allow"}]}]}`.
 *
 * @throws WarpdexError `BAD_REQUEST` that names the file and the entry, and quotes no token
 */
export function readTokenFile(path: string): readonly KnownToken[] {
  const { tokens, ...others } = objectOf(path, parse(path), 'the file')
  refuseOthers(path, others, 'the file', 'tokens')
  if (!Array.isArray(tokens) || tokens.length === 0)
    throw bad(path, 'it needs "tokens", a list of at least one')
  const known = tokens.map((entry, i) => readToken(path, entry, `token ${i + 1}`))
  known.forEach(({ name, digest }, i) => {
    const before = known.slice(0, i)
    if (before.some((other) => other.name === name)) throw bad(path, `two tokens have the name "${name}"`)
    if (before.some((other) => other.digest.equals(digest)))
      throw bad(path, `"${name}" has another one's token`)
  })
  return known
}

function parse(path: string): unknown {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (thrown) {
    throw bad(path, `it cannot be read: ${toWarpdexError(thrown).message}`)
  }
  try {
    return JSON.parse(text)
  } catch {
    // The parser's message quotes the text.
    throw bad(path, 'it is not JSON')
  }
}

function readToken(path: string, entry: unknown, place: string): KnownToken {
  const { name, sha256, token, admin = false, rights = [], ...others } = objectOf(path, entry, place)
  refuseOthers(path, others, place, 'name, sha256, token, admin, rights')
  if (typeof name !== 'string' || !/^[\x20-\x7e]{1,64}$/.test(name)) {
    throw bad(path, `${place} needs a "name" of 1 to 64 printable ASCII characters`)
  }
  const digest = readDigest(path, name, sha256, token)
  if (typeof admin !== 'boolean') throw bad(path, `"admin" of "${name}" is true or false`)
  if (!Array.isArray(rights)) throw bad(path, `"rights" of "${name}" is a list`)
  if (admin === rights.length > 0) {
    throw bad(path, `"${name}" needs either "admin": true or a list of "rights"`)
  }
  if (admin) return { name, digest, rights: Rights.all }
  return { name, digest, rights: new Rights(rights.map((rule) => readRule(path, name, rule))) }
}

function readDigest(path: string, name: string, sha256: unknown, token: unknown): Buffer {
  if ((sha256 === undefined) === (token === undefined)) {
    throw bad(path, `"${name}" needs either a "sha256" or a "token"`)
  }
  if (sha256 !== undefined) {
    if (typeof sha256 === 'string' && /^[0-9a-f]{64}$/i.test(sha256)) return Buffer.from(sha256, 'hex')
    throw bad(path, `"sha256" of "${name}" is 64 hexadecimal digits`)
  }
  if (typeof token === 'string' && isToken(token) && token.length >= LEAST_LENGTH) return digestOf(token)
  throw bad(path, `"token" of "${name}" is ${LEAST_LENGTH} to 512 printable ASCII characters without blanks`)
}

function readRule(path: string, name: string, rule: unknown): Rule {
  const { index, allow, ...others } = objectOf(path, rule, `a rule of "${name}"`)
  refuseOthers(path, others, `a rule of "${name}"`, 'index, allow')
  if (typeof index !== 'string' || index === '') {
    throw bad(path, `a rule of "${name}" needs an "index", a name in which * stands for any characters`)
  }
  const words: readonly unknown[] = Array.isArray(allow) ? allow : []
  if (words.length === 0 || !words.every(isRight)) {
    throw bad(path, `the rule of "${name}" for "${index}" needs an "allow" list out of ${RIGHTS.join(', ')}`)
  }
  return { index, allow: words }
}

function isRight(word: unknown): word is Right {
  return RIGHTS.some((right) => right === word)
}

function objectOf(path: string, value: unknown, what: string): Record<string, unknown> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value }
  throw bad(path, `${what} must be a JSON object`)
}

function refuseOthers(path: string, others: object, what: string, known: string): void {
  const [other] = Object.keys(others)
  if (other !== undefined) throw bad(path, `${what} has an unknown "${other}"; its fields are ${known}`)
}

function bad(path: string, what: string): WarpdexError {
  return badRequest(`the file of tokens ${path} cannot be used: ${what}`)
}
