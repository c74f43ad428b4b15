import type { SlowRequest } from '../../../protocol/slow-request.js'
import type { History } from '../../observe/history.js'
import type { ClientList } from '../site.js'
import type { ServerStatus } from '../status.js'

const TOKEN_KEY = 'warpdex-token'

/** Says that the server needs a token, or one that may see its figures. */
export class TokenWanted extends Error {
  /** Whether one was given. */
  readonly wasGiven: boolean

  constructor(wasGiven: boolean) {
    super('the server needs a token')
    this.wasGiven = wasGiven
  }
}

/** Keeps a token for as long as the tab is open. */
export function keepToken(token: string): void {
  sessionStorage.setItem(TOKEN_KEY, token)
}

export function forgetToken(): void {
  sessionStorage.removeItem(TOKEN_KEY)
}

/** How long to wait for an answer. */
const PATIENCE_MS = 5000

/** The token that was given in this tab. */
export function keptToken(): string | undefined {
  return sessionStorage.getItem(TOKEN_KEY) ?? undefined
}

/** What the server tells by path. The page comes from the server that answers, so that both mean the same by it. */
export interface Told {
  readonly '/status.json': ServerStatus
  readonly '/clients.json': ClientList
  readonly '/slow.json': { readonly requests: readonly SlowRequest[] }
  readonly '/hour.json': History['hour']
}

/**
 * Asks the server for something.
 * @throws TokenWanted; Error when there is no answer
 */
export async function fetchTold<Path extends keyof Told>(path: Path): Promise<Told[Path]> {
  const token = sessionStorage.getItem(TOKEN_KEY)
  const response = await fetch(path, {
    headers: token === null ? {} : { authorization: `Bearer ${token}` },
    signal: AbortSignal.timeout(PATIENCE_MS),
  })
  if (response.status === 401) throw new TokenWanted(token !== null)
  if (!response.ok) throw new Error(`the server answered ${response.status}`)
  return (await response.json()) as Told[Path]
}
