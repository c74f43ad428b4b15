import type { ServerStatus } from '../status.js'

const TOKEN_KEY = 'warpdex-token'

/** Says that the server wants a token, or another one. */
export class TokenWanted extends Error {
  /** Whether one was given. */
  readonly wasGiven: boolean

  constructor(wasGiven: boolean) {
    super('the server wants a token')
    this.wasGiven = wasGiven
  }
}

/** Keeps a token for as long as the tab is open. */
export function keepToken(token: string): void {
  sessionStorage.setItem(TOKEN_KEY, token)
}

/** How long to wait for an answer. */
const PATIENCE_MS = 5000

/**
 * Asks the server for its status.
 * @throws TokenWanted; Error when there is no answer
 */
export async function fetchStatus(): Promise<ServerStatus> {
  const token = sessionStorage.getItem(TOKEN_KEY)
  const response = await fetch('/status.json', {
    headers: token === null ? {} : { authorization: `Bearer ${token}` },
    signal: AbortSignal.timeout(PATIENCE_MS),
  })
  if (response.status === 401) {
    sessionStorage.removeItem(TOKEN_KEY)
    throw new TokenWanted(token !== null)
  }
  if (!response.ok) throw new Error(`the server answered ${response.status}`)
  // The page comes from the server that answers, so that both mean the same by a status.
  return (await response.json()) as ServerStatus
}
