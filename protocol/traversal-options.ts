import { badRequest } from './errors.js'
import { quoted } from './shown.js'
import { RESOLUTIONS, type Resolution, STRATEGIES, type Strategy, type Traversal } from './traversal.js'

/** What a user says of how keys are to be found: both may be left out. */
export interface TraversalOptions {
  readonly strategy?: Strategy | undefined
  readonly resolution?: Resolution | undefined
}

/**
 * The traversal that a request names, if it names one.
 * @throws WarpdexError `BAD_REQUEST` that names what is right
 */
export function parseTraversal(
  given: {
    readonly [Name in keyof TraversalOptions]: unknown
  },
): Traversal | undefined {
  const strategy = parseChoice('strategy', given.strategy, STRATEGIES)
  const resolution = parseChoice('resolution', given.resolution, RESOLUTIONS)
  if (resolution !== undefined && (strategy === undefined || strategy === 'sequential')) {
    const others = STRATEGIES.filter((name) => name !== 'sequential').join(', ')
    throw badRequest(
      `a resolution needs a strategy that has one: ${others}; name one of them, or no resolution`,
    )
  }
  return strategy && { strategy, ...(resolution && { resolution }) }
}

/** One of several names, if one is given. @throws WarpdexError `BAD_REQUEST` that names all */
export function parseChoice<T extends string>(
  name: string,
  value: unknown,
  choices: readonly T[],
): T | undefined {
  if (value === undefined || value === null) return undefined
  const choice = choices.find((candidate) => candidate === value)
  if (choice !== undefined) return choice
  throw badRequest(`unknown ${name} ${quoted(value)}; use one of ${choices.join(', ')}`)
}
