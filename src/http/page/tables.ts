import type { ServerStatus } from '../status.js'
import { byId, type Keyed, rows, setText } from './dom.js'
import { amount, bytes, microseconds, whole } from './format.js'
import { holdsOf, type IndexStatus, structureOf } from './memory-map.js'

type OpStatus = ServerStatus['ops'][number]
type StageStatus = ServerStatus['stages'][number]

const STAGE_NAMES: Readonly<Record<StageStatus['stage'], readonly [name: string, what: string]>> = {
  decode: ['decode', 'from the frame to the request'],
  queue: ['wait for the turn', 'behind writes of the same index'],
  coalesce: ['wait for company', 'small gets, until a dispatch is free'],
  device: ['device', 'from the call until the result is back'],
  log: ['log', 'until a batch of writes is synced'],
  reply: ['reply', 'from the result to the frame'],
}

/** The tables of indexes, operations and stages. */
export class Tables {
  readonly #indexes: Keyed<IndexStatus>
  readonly #ops: Keyed<OpStatus>
  readonly #stages: Keyed<StageStatus>

  constructor() {
    const number = 'number'
    this.#indexes = rows<IndexStatus>(byId('indexes'), [
      { text: ({ name }) => name, below: holdsOf },
      { text: structureOf, className: 'wide' },
      { text: ({ keys }) => whole(keys), className: number },
      { text: ({ payloads }) => whole(payloads), className: 'number wide' },
      { text: (index) => bytes(memoryOf(index)), className: number },
      { text: bytesAKey, className: 'number wide' },
      { text: whereText, className: 'wide' },
      {
        text: ({ logPosition, snapshotPosition }) => whole(Number(logPosition) - Number(snapshotPosition)),
        className: 'number wide',
      },
    ])
    this.#ops = rows<OpStatus>(byId('ops'), [
      { text: ({ op }) => op },
      { text: ({ count }) => amount(count), className: number },
      { text: ({ keys }) => (keys === 0 ? '–' : amount(keys)), className: number },
      { text: ({ failures }) => (failures === 0 ? '–' : amount(failures)), className: number },
      { text: ({ p50 }) => microseconds(p50), className: 'number wide' },
      { text: ({ p99 }) => microseconds(p99), className: number },
    ])
    this.#stages = rows<StageStatus>(byId('stages'), [
      { text: ({ stage }) => STAGE_NAMES[stage][0], below: ({ stage }) => STAGE_NAMES[stage][1] },
      { text: ({ count }) => amount(count), className: number },
      { text: ({ count, p50 }) => (count === 0 ? '–' : microseconds(p50)), className: number },
      { text: ({ count, p99 }) => (count === 0 ? '–' : microseconds(p99)), className: number },
    ])
  }

  update({ indexes, unlisted, ops, stages, server }: ServerStatus): void {
    this.#indexes.show(indexes, ({ name }) => name)
    this.#ops.show(ops, ({ op }) => op)
    this.#stages.show(stages, ({ stage }) => stage)
    byId('no-indexes').hidden = server === undefined || indexes.length > 0
    byId('loading').hidden = server !== undefined
    byId('no-ops').hidden = ops.length > 0
    const left = byId('unlisted')
    left.hidden = unlisted === 0
    setText(left, `and ${whole(unlisted)} smaller ones; “warpdex stats” has them all`)
  }
}

function memoryOf({ deviceBytes, hostBytes }: IndexStatus): number {
  return deviceBytes + hostBytes
}

function bytesAKey(index: IndexStatus): string {
  return index.keys === 0 ? '–' : (memoryOf(index) / index.keys).toFixed(1)
}

function whereText({ resident, shards }: IndexStatus): string {
  return `${resident ? 'on the device' : 'paged out'}${shards > 1 ? `, ${shards} shards` : ''}`
}
