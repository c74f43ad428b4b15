import { checkToken } from '../../protocol/bearer.js'
import { badRequest, toWarpdexError, WarpdexError } from '../../protocol/errors.js'
import { encodeFrame, PROTOCOL_VERSION } from '../../protocol/frame.js'
import type { ReplyFields } from '../../protocol/replies.js'
import { type Reply, readReply } from './reply.js'
import { watchSilence } from './silence.js'
import type { Socket } from './socket.js'
import { openSocket } from './socket-node.js'

/** One connection to a server, after both sides have said hello. */
export interface Link extends Pick<Socket, 'send' | 'close'> {
  readonly server: ReplyFields['hello']
  /** Why the connection ended, when it has. */
  readonly lost: Promise<WarpdexError>
}

export interface LinkOptions {
  readonly url: string
  /** Name of the client. */
  readonly client: string
  readonly token: string | undefined
  readonly ca: string | Uint8Array | undefined
  /** Milliseconds for connecting and hello together, and later for an answer of a server that was silent. */
  readonly timeout: number
  /** Aborting it ends the attempt. */
  readonly signal: AbortSignal
  /** Whether answers are due. */
  readonly isDue: () => boolean
  readonly onReply: (reply: Reply) => void
}

const HELLO_ID = 0
/** Ids from here on are free for requests. */
export const FIRST_ID = HELLO_ID + 1

/** @throws WarpdexError `CONNECTION_LOST`, or the server's answer to hello, or `BAD_REQUEST` for a URL that is none */
export function openLink(link: LinkOptions): Promise<Link> {
  const { url, client, token, ca, timeout, signal, isDue, onReply } = link
  return new Promise((resolve, reject) => {
    let lose: (reason: WarpdexError) => void = () => {}
    const lost = new Promise<WarpdexError>((resolveLost) => {
      lose = resolveLost
    })
    const giveUp = () => fail(connectionLost(url, 'the client was closed'))
    const settle = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', giveUp)
    }
    const fail = (reason: WarpdexError) => {
      settle()
      endWatch()
      socket.close()
      lose(reason)
      reject(reason)
    }
    const receive = (reply: Reply) => {
      const { id, error } = reply
      if (id === null) return fail(error ?? connectionLost(url, 'the server sent a reply without an id'))
      if (id !== HELLO_ID) return onReply(reply)
      if (error !== undefined) return fail(error)
      settle()
      resolve({ server: (reply as Reply<'hello'>).fields, lost, ...socket })
    }
    const sayHello = () =>
      socket.send(encodeFrame({ id: HELLO_ID, op: 'hello', protocol: PROTOCOL_VERSION, client }))
    const options = { token: token === undefined ? undefined : checkToken(token), ca }
    const socket = openOrRefuse(url, options, {
      onOpen: sayHello,
      onMessage: (bytes) => {
        try {
          receive(readReply(bytes))
        } catch (thrown) {
          fail(connectionLost(url, `the server sent an invalid frame: ${toWarpdexError(thrown).message}`))
        }
      },
      onClose: (reason, unauthorised = false) =>
        fail(unauthorised ? unauthorisedBy(url, token) : connectionLost(url, reason)),
    })
    const timer = setTimeout(
      () => fail(connectionLost(url, `no answer within ${timeout} milliseconds`)),
      timeout,
    )
    const endWatch = watchSilence({
      socket,
      patience: timeout,
      isDue,
      ask: sayHello,
      onGone: () => fail(connectionLost(url, 'silence')),
    })
    signal.addEventListener('abort', giveUp)
  })
}

function openOrRefuse(
  ...[url, options, handlers]: Parameters<typeof openSocket>
): ReturnType<typeof openSocket> {
  try {
    return openSocket(url, options, handlers)
  } catch (cause) {
    const isForbidden = Object(cause).name === 'SecurityError'
    const why = isForbidden
      ? 'cannot be reached by a page that came over https, which connects to wss:// addresses only'
      : 'is not an address of a server; one is ws://127.0.0.1:7070, or of a Unix socket ws+unix:/run/warpdex.sock'
    throw badRequest(`${JSON.stringify(url)} ${why}`, { cause })
  }
}

function unauthorisedBy(url: string, token: string | undefined): WarpdexError {
  const what = token === undefined ? 'needs a token' : 'does not know the token'
  return new WarpdexError('UNAUTHORISED', `the server at ${url} ${what}`)
}

function connectionLost(url: string, reason: string): WarpdexError {
  return new WarpdexError('CONNECTION_LOST', `no connection to ${url}: ${reason}`)
}

/** Whether another attempt to connect would fail in the same way. */
export function isFinal({ code }: WarpdexError): boolean {
  return code === 'UNAUTHORISED' || code === 'BAD_REQUEST' || code === 'CANCELLED'
}
