import { badRequest } from '../../protocol/errors.js'
import { shown, titleOf } from '../../protocol/shown.js'

/** What the value of an option may be; what follows from other values is checked where it is known. */
export interface Kind {
  readonly is: (value: unknown) => boolean
  /** In words. */
  readonly right: string
}

/** What every option of a type may be: one that is added to the type and not here does not compile. */
export type Kinds<T> = { readonly [Name in keyof Required<T>]: Kind }

export const ANYTHING: Kind = { is: () => true, right: 'a value' }
export const TEXT: Kind = { is: (value) => typeof value === 'string', right: 'a text' }
export const FLAG: Kind = { is: (value) => typeof value === 'boolean', right: 'true or false' }
export const CALLBACK: Kind = { is: (value) => typeof value === 'function', right: 'a function' }
export const BYTES: Kind = { is: (value) => value instanceof Uint8Array, right: 'a Uint8Array' }
export const NUMBER: Kind = {
  is: (value) => typeof value === 'number' && value >= 0,
  right: 'a number from 0',
}
export const TEXTS: Kind = {
  is: (value) => Array.isArray(value) && value.every((element) => typeof element === 'string'),
  right: 'a list of texts',
}

export function oneOf(choices: readonly string[]): Kind {
  return {
    is: (value) => typeof value === 'string' && choices.includes(value),
    right: `one of ${choices.join(', ')}`,
  }
}

/**
 * Refuses what a caller misspelt, which would be ignored else, and values of another kind. Inherited properties count, since they would be
 * read like others.
 *
 * @param what has the options, such as `get`
 * @throws WarpdexError `BAD_REQUEST` that names what is right
 */
export function checkOptions<T extends object>(
  options: T,
  kinds: Kinds<T>,
  what: string,
  word: 'option' | 'field' = 'option',
): void {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    const names = Object.keys(kinds).join(', ')
    throw badRequest(`${word}s of ${what} come as an object with any of ${names}, not as ${shown(options)}`)
  }
  for (const name in options) {
    const kind = Object.hasOwn(kinds, name) ? kinds[name] : undefined
    if (kind === undefined) {
      throw badRequest(`${what} has no ${word} ${shown(name)}; it has ${Object.keys(kinds).join(', ')}`)
    }
    const value: unknown = options[name]
    if (value === undefined || kind.is(value)) continue
    throw badRequest(`${word} "${name}" of ${what} is ${kind.right}, not ${shown(value)}`)
  }
}

/**
 * @param what takes the name
 * @param of what it is the name of, such as `an index`
 * @throws WarpdexError `BAD_REQUEST` for what is no text
 */
export function checkName(name: unknown, what: string, of: string): void {
  if (typeof name === 'string') return
  throw badRequest(`${what} takes the name of ${of}, such as "orders", not ${titleOf(name)}`)
}
