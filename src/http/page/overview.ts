import type { ReplicaFigures } from '../../../protocol/replica.js'
import type { HistoryField } from '../../observe/history.js'
import type { ServerStatus } from '../status.js'
import { byId, Keyed, make, setText } from './dom.js'
import { amount, bytes, clock, microseconds, span } from './format.js'

/** A figure with its name, and a second line about it. */
interface Tile {
  readonly name: string
  readonly text: string
  readonly detail: string
  /** Whether the second line tells of failures. */
  readonly isBad?: boolean
}

/** Seconds over which the figures of the moment are taken: one alone jumps. */
const MOMENT_SECONDS = 5

/** The top of the page: how the server is, and its figures of the moment. */
export class Overview {
  readonly #tiles = new Keyed<Tile>(byId('tiles'), ({ name }) => {
    const text = make('dd')
    const detail = make('dd', 'detail')
    const element = make('div', '', make('dt', '', name), text, detail)
    const update = (tile: Tile) => {
      setText(text, tile.text)
      setText(detail, tile.detail)
      detail.classList.toggle('bad', tile.isBad ?? false)
    }
    return { element, update }
  })
  readonly #facts = new Keyed<readonly [string, string]>(byId('facts'), ([name]) => {
    const value = make('dd')
    return {
      element: make('div', '', make('dt', '', name), value),
      update: ([, text]) => setText(value, text),
    }
  })
  readonly #notices = new Keyed<ServerStatus['notices'][number]>(byId('notices'), ({ at, message }) => ({
    element: make('li', '', make('time', '', clock(at)), message),
    update: () => {},
  }))

  update(status: ServerStatus): void {
    const { server, notices } = status
    showState(status)
    setText(byId('version'), server?.version ?? '')
    this.#facts.show(factsOf(status), ([name]) => name)
    this.#tiles.show(tilesOf(status), ({ name }) => name)
    byId('warnings').hidden = notices.length === 0
    this.#notices.show([...notices].reverse(), ({ at, message }) => `${at} ${message}`)
    setText(byId('updated'), `as of ${clock(status.now)}`)
  }

  /** Says that there is no answer. */
  away(since: number): void {
    const state = byId('state')
    state.dataset.state = 'away'
    setText(state, `no answer since ${clock(since)}; trying again`)
  }
}

function showState({ status, reason }: ServerStatus): void {
  const state = byId('state')
  state.dataset.state = reason === undefined ? 'ready' : 'waiting'
  setText(state, reason === undefined ? status : reason)
}

function factsOf({ server }: ServerStatus): readonly (readonly [string, string])[] {
  if (server === undefined) return []
  const { name, software } = server.adapter
  return [
    ['Adapter', software ? `${name} (a CPU: slow)` : name],
    ['Up for', span(server.uptimeSeconds)],
    ['On disk', bytes(server.storeBytes)],
    ...(server.replica ? [['Replica set', replicaText(server.replica)] as const] : []),
  ]
}

function replicaText({ name, role, owner, position }: ReplicaFigures): string {
  const part = {
    owner: 'owner',
    following: `follows ${owner ?? 'nobody yet'}`,
    restoring: 'begins anew from a snapshot',
    failed: 'cannot follow',
  }[role]
  return `${name}: ${part}, at ${position}`
}

function tilesOf({ history, traffic, server, indexes, unlisted }: ServerStatus): readonly Tile[] {
  const recent = (field: HistoryField) => history[field].slice(-MOMENT_SECONDS)
  const mean = (field: HistoryField) => sum(recent(field)) / Math.max(1, recent(field).length)
  const last = (field: HistoryField) => recent(field).findLast((value) => value > 0) ?? 0
  const time = (field: HistoryField) => (last(field) === 0 ? '–' : microseconds(last(field)))
  const { connections, requestsInFlight, bytesInFlight } = traffic
  const { deviceBytes = 0, deviceLimitBytes, pagedOutIndexes = 0, slabs = [] } = server ?? {}
  const slabBytes = bytes(sum(slabs.map((each) => each.bytes)))
  const failures = mean('failures')
  return [
    {
      name: 'Keys per second',
      text: amount(mean('items')),
      detail: sharedText(mean('smallReads'), mean('dispatches')),
    },
    {
      name: 'Requests per second',
      text: amount(mean('requests')),
      detail: failures === 0 ? 'none failed' : `${amount(failures)} per second failed`,
      isBad: failures > 0,
    },
    {
      name: 'Reads, p99',
      text: time('readsP99'),
      detail: last('readsP50') === 0 ? 'none lately' : `p50 ${time('readsP50')}`,
    },
    {
      name: 'Writes, p99',
      text: time('writesP99'),
      detail: last('writesP50') === 0 ? 'none lately' : `p50 ${time('writesP50')}`,
    },
    {
      name: 'Device memory',
      text: bytes(deviceBytes),
      detail:
        deviceLimitBytes === undefined
          ? `${slabBytes} allocated; ${indexes.length + unlisted} indexes, ${pagedOutIndexes} paged out`
          : `of ${bytes(deviceLimitBytes)}, ${slabBytes} allocated; ${pagedOutIndexes} paged out`,
    },
    {
      name: 'Connections',
      text: String(connections),
      detail: `${amount(requestsInFlight)} requests, ${bytes(bytesInFlight)} in flight`,
    },
  ]
}

function sharedText(reads: number, dispatches: number): string {
  return dispatches === 0 ? 'no small reads' : `${amount(reads / dispatches)} small reads per dispatch`
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
