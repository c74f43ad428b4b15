import { badRequest } from '../../protocol/errors.js'

/** What an option `separator` says: a text, or the name of one. @throws WarpdexError `BAD_REQUEST` */
export function parseSeparator(text: string | undefined): string | undefined {
  if (text === '') throw badRequest('--separator is empty; it must be a text, tab or comma')
  if (text === 'tab') return '\t'
  return text === 'comma' ? ',' : text
}
