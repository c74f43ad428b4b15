import { createHash, randomBytes } from 'node:crypto'
import { badRequest } from '../../../protocol/errors.js'
import { RIGHTS, type Right } from '../../../protocol/rights.js'
import { argument, command, flag, text } from '../command.js'
import { asJson, printLines } from '../output.js'

const TOKEN_BYTES = 32

export const add = command({
  usage: 'token <name>',
  about: 'Make a token: the secret for a client, and the entry for the file of --tokens',
  positionals: { name: argument('Name that messages have for it') },
  options: {
    index: { ...text('Names of indexes; * stands for any characters'), array: true },
    allow: text(`Rights on them, out of ${RIGHTS.join(',')}`),
    admin: flag('All rights on all indexes'),
    json: flag('Token and entry as JSON'),
  },
  examples: [
    ["$0 token ingest --index 'orders-*' --allow read,write", 'may read and write these indexes'],
    ['$0 token operator --admin', 'may do anything'],
  ],
  run({ name, index, allow, admin, json }) {
    if (admin ? index !== undefined || allow !== undefined : index === undefined || allow === undefined) {
      throw badRequest('a token is for --admin, or for --index together with --allow')
    }
    const token = `warpdex_${randomBytes(TOKEN_BYTES).toString('base64url')}`
    const sha256 = createHash('sha256').update(token).digest('hex')
    const rights = (index ?? []).map((pattern) => ({ index: pattern, allow: rightsOf(allow ?? '') }))
    const entry = { name, sha256, ...(admin ? { admin } : { rights }) }
    if (json) return printLines([asJson({ token, entry })])
    return printLines([
      'For the client, as WARPDEX_TOKEN. It is shown only now:',
      '',
      `  ${token}`,
      '',
      'For the list "tokens" in the file of --tokens:',
      '',
      `  ${asJson(entry)}`,
    ])
  },
})

/** @throws WarpdexError `BAD_REQUEST` */
function rightsOf(list: string): readonly Right[] {
  return list.split(',').map((word) => {
    const right = RIGHTS.find((candidate) => candidate === word.trim())
    if (right !== undefined) return right
    throw badRequest(`there is no right "${word}"; --allow takes ${RIGHTS.join(',')}`)
  })
}
