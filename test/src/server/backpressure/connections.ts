import { LIMITS } from '../../../../protocol/limits.js'
import { Backpressure } from '../../../../src/server/backpressure/backpressure.js'
import type { BackpressureLimits } from '../../../../src/server/backpressure/backpressure-limits.js'
import {
  ConnectionBackpressure,
  type Message,
} from '../../../../src/server/backpressure/connection-backpressure.js'

/** Small numbers, so that each bound is near. */
const SMALL: BackpressureLimits = {
  ...LIMITS,
  requestsInFlight: 4,
  requestsInAll: 6,
  bytesInFlight: 1000,
  bytesInAll: 2000,
  bytesReserved: 100,
  requestsPastBound: 1,
  replyBytesQueued: 1000,
  replyBytesInAll: 2500,
  pingSeconds: 30,
  stallSeconds: 30,
  slowestBytesPerSecond: 10,
  pingsPending: 3,
}

/** A message, as a test wants it. */
export interface Asked extends Message {
  /** Bytes that its reply is expected to have. */
  readonly wanted: number
  overloaded?: boolean
}

/** A connection without a socket. */
export class TestConnection {
  readonly load: ConnectionBackpressure<Asked>
  /** Whether it is read. */
  isRead = true
  isCut = false
  /** Messages that were looked at, and those that have begun and are not answered. */
  readonly expected: Asked[] = []
  readonly running: Asked[] = []

  constructor(all: Backpressure, onBegin: (asked: Asked) => void) {
    this.load = new ConnectionBackpressure<Asked>(all, {
      expect: (asked) => {
        this.expected.push(asked)
        return asked.wanted
      },
      begin: (asked, overloaded) => {
        this.running.push(Object.assign(asked, { overloaded }))
        onBegin(asked)
      },
      pause: (paused) => {
        this.isRead = !paused
      },
      cut: () => {
        this.isCut = true
      },
    })
  }

  /** A message comes. */
  ask(bytes: number, wanted = 0): Asked {
    const asked = { bytes, wanted }
    this.load.arrived(asked)
    return asked
  }

  /** A message comes, and begins to be carried out at once. */
  begin(bytes: number, wanted = 0): Asked {
    const asked = this.ask(bytes, wanted)
    if (!this.running.includes(asked)) throw new Error('it is held')
    return asked
  }

  /** A message is answered. */
  end(asked: Asked, bytes = 0): void {
    this.running.splice(this.running.indexOf(asked), 1)
    this.load.answered(asked, bytes)
  }
}

/** Connections of one server, and messages in the order in which they began. */
export function connections(count: number, more: Partial<BackpressureLimits> = {}) {
  const all = new Backpressure({ ...SMALL, ...more })
  const begun: Asked[] = []
  const each = Array.from({ length: count }, () => new TestConnection(all, (asked) => begun.push(asked)))
  return { all, each, begun, reads: () => each.map(({ isRead }) => isRead) }
}
