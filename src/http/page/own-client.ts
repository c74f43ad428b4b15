import type { Client } from '../../../clients/sdk/index.js'
import { fetchTold, keptToken } from './status-source.js'

let opened: { readonly token: string | undefined; readonly client: Promise<Client> } | undefined

/** A client of this server with the token of this tab, which therefore may do what the token may. It is loaded when it is first asked for. */
export function ownClient(): Promise<Client> {
  const token = keptToken()
  if (opened !== undefined && opened.token === token) return opened.client
  void opened?.client.then((client) => client.close({ now: true }))
  const client = open(token)
  opened = { token, client }
  // The next call tries again.
  client.catch(() => {
    opened = undefined
  })
  return client
}

async function open(token: string | undefined): Promise<Client> {
  const { connect } = await import('../../../clients/sdk/index.js')
  const url = location.origin.replace(/^http/, 'ws')
  const { server } = await fetchTold('/status.json').catch(() => ({ server: undefined }))
  // Of a cluster a page shows what its own node has: other nodes let pages of theirs in only.
  return connect(
    url,
    server?.cluster === undefined ? { token } : { token, set: server.cluster.set, reads: 'any' },
  )
}

/** What went wrong, in words: errors of the server begin with their code. */
export function faultText(thrown: unknown): string {
  const { code, message } = thrown as { readonly code?: string; readonly message?: string }
  if (code === 'CONNECTION_LOST')
    return `${message}. Without a token the server lets in pages of its own machine only.`
  return code === undefined ? String(message ?? thrown) : `${code}: ${message}`
}
