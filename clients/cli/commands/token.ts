import { createHash, randomBytes } from 'node:crypto'
import type { Argv } from 'yargs'
import { WarpdexError } from '../../../protocol/errors.js'
import { RIGHTS, type Right } from '../../../protocol/rights.js'
import { asJson, printLines } from '../output.js'

const TOKEN_BYTES = 32

export function addToken(cli: Argv): Argv {
  return cli.command(
    'token <name>',
    'Make a token: the secret for a client, and the entry for the file of --tokens',
    (command) =>
      command
        .positional('name', {
          type: 'string',
          demandOption: true,
          describe: 'Name that messages have for it',
        })
        .option('index', {
          type: 'string',
          array: true,
          requiresArg: true,
          describe: 'Names of indexes, in which * stands for any characters',
        })
        .option('allow', {
          type: 'string',
          requiresArg: true,
          describe: `Rights on them, out of ${RIGHTS.join(',')}`,
        })
        .option('admin', { type: 'boolean', default: false, describe: 'All rights on all indexes' })
        .option('json', { type: 'boolean', default: false, describe: 'Token and entry as JSON' })
        .example("$0 token ingest --index 'orders-*' --allow read,write", 'may read and write these indexes')
        .example('$0 token operator --admin', 'may do anything'),
    ({ name, index, allow, admin, json }) => {
      if (admin ? index !== undefined || allow !== undefined : index === undefined || allow === undefined) {
        throw new WarpdexError('BAD_REQUEST', 'a token is for --admin, or for --index together with --allow')
      }
      const token = `warpdex_${randomBytes(TOKEN_BYTES).toString('base64url')}`
      const sha256 = createHash('sha256').update(token).digest('hex')
      const rights = (index ?? []).map((pattern) => ({ index: pattern, allow: rightsOf(allow ?? '') }))
      const entry = { name, sha256, ...(admin ? { admin } : { rights }) }
      return printLines(
        json
          ? [asJson({ token, entry })]
          : [
              'For the client, as WARPDEX_TOKEN. It is shown only now:',
              '',
              `  ${token}`,
              '',
              'For the list "tokens" in the file of --tokens:',
              '',
              `  ${asJson(entry)}`,
            ],
      )
    },
  )
}

/** @throws WarpdexError `BAD_REQUEST` */
function rightsOf(list: string): readonly Right[] {
  return list.split(',').map((word) => {
    const right = RIGHTS.find((candidate) => candidate === word.trim())
    if (right !== undefined) return right
    throw new WarpdexError('BAD_REQUEST', `there is no right "${word}"; --allow takes ${RIGHTS.join(',')}`)
  })
}
