import type { SlowRequest } from '../../../protocol/slow-request.js'
import type { ClientFacts } from '../../observe/client-facts.js'
import type { ServerStatus } from '../status.js'
import { byId, type Keyed, rows, setText } from './dom.js'
import { amount, bytes, clock, milliseconds, span, whole } from './format.js'
import { fetchTold, type Told } from './status-source.js'

/** How often clients are asked for: each answer goes through all of them. */
const CLIENTS_MS = 5000

/** The tables of clients and of slow requests. */
export class Activity {
  readonly #clients: Keyed<ClientFacts>
  readonly #slow: Keyed<SlowRequest>
  #clientsAt = Number.NEGATIVE_INFINITY
  #lastSlow = 0

  constructor() {
    const number = 'number'
    this.#clients = rows<ClientFacts>(byId('clients'), [
      { text: ({ address = 'a Unix socket' }) => address, below: ({ token = 'without a token' }) => token },
      { text: ({ since }) => span((Date.now() - since) / 1000), className: 'wide' },
      { text: ({ requests }) => amount(requests), className: number },
      { text: ({ requestsInFlight }) => whole(requestsInFlight), className: number },
      { text: ({ bytesIn }) => bytes(bytesIn), className: 'number wide' },
      { text: ({ bytesOut }) => bytes(bytesOut), className: 'number wide' },
      { text: ({ unreadBytes }) => bytes(unreadBytes), className: 'number wide' },
    ])
    this.#slow = rows<SlowRequest>(byId('slow'), [
      { text: targetText, below: askerText },
      { text: ({ at }) => clock(at), className: 'wide' },
      { text: (slow) => milliseconds(slow.milliseconds), className: number },
      { text: ({ times }) => timeText(times?.waiting), className: 'number wide' },
      { text: ({ times }) => timeText(times?.running), className: 'number wide' },
      { text: ({ times }) => timeText(times?.replying), className: 'number wide' },
      { text: ({ keys }) => (keys === 0 ? '–' : whole(keys)), className: 'number wide' },
      { text: ({ rows }) => (rows === 0 ? '–' : whole(rows)), className: 'number wide' },
      { text: ({ bytesIn, bytesOut }) => `${bytes(bytesIn)}, ${bytes(bytesOut)}`, className: 'number wide' },
      { text: ({ outcome }) => outcome, bad: ({ outcome }) => outcome !== 'OK' },
    ])
  }

  /** Asks for what has changed since. @throws as `fetchTold` */
  async update({ slow: { threshold, last } }: ServerStatus): Promise<void> {
    setText(
      byId('no-slow'),
      threshold === 0
        ? 'The server keeps none; --slow-milliseconds has it do so.'
        : `No request took longer than ${whole(threshold)} ms.`,
    )
    const now = performance.now()
    const [clients, slow] = await Promise.all([
      now - this.#clientsAt < CLIENTS_MS ? undefined : fetchTold('/clients.json'),
      last === this.#lastSlow ? undefined : fetchTold('/slow.json'),
    ])
    if (clients !== undefined) {
      this.#clientsAt = now
      this.#showClients(clients)
    }
    if (slow === undefined) return
    this.#lastSlow = last
    byId('no-slow').hidden = slow.requests.length > 0
    this.#slow.show([...slow.requests].reverse(), ({ number }) => String(number))
  }

  #showClients({ clients, unlisted }: Told['/clients.json']): void {
    this.#clients.show(clients, ({ connection }) => String(connection))
    byId('no-clients').hidden = clients.length > 0
    const others = byId('unlisted-clients')
    others.hidden = unlisted === 0
    setText(others, `and ${whole(unlisted)} with fewer requests`)
  }
}

function targetText({ op, names, statement }: SlowRequest): string {
  return statement ?? [op, ...names].join(' ')
}

function askerText({ token, address = 'a Unix socket' }: SlowRequest): string {
  return token === undefined ? address : `${token}, ${address}`
}

function timeText(time: number | undefined): string {
  return time === undefined ? '–' : milliseconds(time)
}
