import { readFileSync } from 'node:fs'
import { badRequest, WarpdexError } from '../../protocol/errors.js'
import type { IndexDefinition } from '../../protocol/types.js'
import type { Client, ConnectOptions, Index } from '../sdk/index.js'
import { systemReason } from './system-error.js'

/** Where a server listens that was started without any settings. */
export const DEFAULT_URL = 'ws://127.0.0.1:7070'

/** A person waits for the answer: a server that does not come back soon is an error. */
const RECONNECT = { attempts: 6 }

const TOKEN_ADVICE = 'set WARPDEX_TOKEN, or say it with --token'

/** Where the server is, and what it wants to be told. */
export interface ServerAddress {
  readonly url: string | undefined
  readonly token: string | undefined
  readonly ca: string | undefined
}

/** The options that every command of a client has. */
export const CLIENT_OPTIONS = {
  url: { type: 'string', describe: `Address of the server [$WARPDEX_URL or ${DEFAULT_URL}]` },
  token: { type: 'string', describe: 'Token for the server [$WARPDEX_TOKEN]' },
  ca: {
    type: 'string',
    describe: 'PEM file of the certificate authority, for wss:// [$WARPDEX_CA]',
  },
} as const

/** Runs work with a connection that ends with it. */
export async function withClient<T>(
  { url, token, ca }: ServerAddress,
  work: (client: Client) => Promise<T>,
  options: Pick<ConnectOptions, 'set'> = {},
): Promise<T> {
  const { WARPDEX_TOKEN, WARPDEX_CA } = process.env
  const secrets = { token: token ?? WARPDEX_TOKEN, ca: ca ?? WARPDEX_CA }
  const client = await open(addressesOf(url), secrets, options)
  try {
    return await work(client)
  } finally {
    // What is not answered by now is not waited for: the command is over, or was interrupted.
    void client.close({ now: true })
  }
}

/** Those that are given with commas between them. */
export function addressesOf(url: string | undefined): readonly string[] {
  return (url ?? process.env.WARPDEX_URL ?? DEFAULT_URL).split(',')
}

/** Runs work with one index and what it was created as. */
export function withIndex<T>(
  address: ServerAddress & { readonly index: string },
  work: (index: Index, definition: IndexDefinition) => Promise<T>,
): Promise<T> {
  return withClient(address, async (client) => {
    const index = client.index(address.index)
    return work(index, await index.definition())
  })
}

async function open(
  urls: readonly string[],
  { token, ca: caFile }: Pick<ServerAddress, 'token' | 'ca'>,
  options: Pick<ConnectOptions, 'set'>,
): Promise<Client> {
  const ca = caFile === undefined ? undefined : readCertificates(caFile)
  // Commands that need no server do without it, and begin sooner.
  const { connect } = await import('../sdk/index.js')
  try {
    return await connect(urls, { token, ca, reconnect: RECONNECT, ...options })
  } catch (error) {
    if (!(error instanceof WarpdexError)) throw error
    if (error.code === 'UNAUTHORISED') throw new WarpdexError(error.code, `${error.message}; ${TOKEN_ADVICE}`)
    if (error.code !== 'CONNECTION_LOST') throw error
    throw new WarpdexError(error.code, `${error.message}; ${adviceFor(error.message)}`, { cause: error })
  }
}

function readCertificates(path: string): Buffer {
  try {
    return readFileSync(path)
  } catch (thrown) {
    throw badRequest(`--ca ${path} cannot be read: ${systemReason(thrown)}`)
  }
}

function adviceFor(message: string): string {
  if (message.includes('HTTP 503')) return 'try again'
  if (message.includes('begins with wss://')) return 'give it with --url'
  if (message.includes('--ca FILE')) return 'or set WARPDEX_CA'
  return 'start a server with "warpdex serve", or name another with --url'
}
