import type { ClusterNode } from '../../../protocol/replica.js'
import type { RelationStatus, ServerStatus } from '../status.js'
import { byId, type Keyed, rows, setText } from './dom.js'
import { amount, bytes, microseconds, whole } from './format.js'
import { holdsOf, type IndexStatus, structureOf } from './memory-map.js'

type OpStatus = ServerStatus['ops'][number]
type StageStatus = ServerStatus['stages'][number]
/** A node of the cluster, and how far it is behind the furthest one of its replica set. */
type NodeStatus = ClusterNode & { readonly behind: number }

const STAGE_NAMES: Readonly<Record<StageStatus['stage'], readonly [name: string, what: string]>> = {
  decode: ['decode', 'from the frame to the request'],
  queue: ['queue', 'behind writes to the same index'],
  coalesce: ['batching', 'small reads wait for a free dispatch'],
  device: ['device', 'from the call until the result is back'],
  log: ['log', 'until a batch of writes is synced'],
  reply: ['reply', 'from the result to the frame'],
}

/** The tables of indexes, relations, operations and stages. */
export class Tables {
  readonly #indexes: Keyed<IndexStatus>
  readonly #relations: Keyed<RelationStatus>
  readonly #ops: Keyed<OpStatus>
  readonly #stages: Keyed<StageStatus>
  readonly #nodes: Keyed<NodeStatus>

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
    this.#relations = rows<RelationStatus>(byId('relations'), [
      { text: ({ name }) => name, below: contentsOf },
      { text: ({ rows }) => whole(rows), className: number },
      { text: (relation) => bytes(memoryOf(relation)), className: number },
      { text: bytesARow, className: 'number wide' },
      { text: ({ appends }) => (appends === undefined ? '–' : whole(appends)), className: 'number wide' },
      { text: ({ resident }) => placeText(resident), className: 'wide' },
      { text: recordsSinceSnapshot, className: 'number wide' },
    ])
    this.#ops = rows<OpStatus>(byId('ops'), [
      { text: ({ op }) => op },
      { text: ({ count }) => amount(count), className: number },
      { text: ({ keys }) => (keys === 0 ? '–' : amount(keys)), className: number },
      {
        text: ({ failures }) => (failures === 0 ? '–' : amount(failures)),
        className: number,
        bad: ({ failures }) => failures > 0,
      },
      { text: ({ p50 }) => microseconds(p50), className: 'number wide' },
      { text: ({ p99 }) => microseconds(p99), className: number },
    ])
    this.#stages = rows<StageStatus>(byId('stages'), [
      { text: ({ stage }) => STAGE_NAMES[stage][0], below: ({ stage }) => STAGE_NAMES[stage][1] },
      { text: ({ count }) => amount(count), className: number },
      { text: ({ count, p50 }) => (count === 0 ? '–' : microseconds(p50)), className: number },
      { text: ({ count, p99 }) => (count === 0 ? '–' : microseconds(p99)), className: number },
    ])
    this.#nodes = rows<NodeStatus>(byId('nodes'), [
      { text: ({ url }) => url },
      { text: ({ set }) => String(set), className: number },
      { text: ({ role }) => role, bad: ({ role }) => role === 'failed' },
      { text: ({ position }) => whole(position), className: number },
      { text: ({ behind }) => whole(behind), className: 'number wide' },
    ])
  }

  update({ indexes, unlisted, relations, unlistedRelations, ops, stages, server }: ServerStatus): void {
    this.#indexes.show(indexes, ({ name }) => name)
    this.#relations.show(relations, ({ name }) => name)
    this.#ops.show(ops, ({ op }) => op)
    this.#stages.show(stages, ({ stage }) => stage)
    byId('no-indexes').hidden = server === undefined || indexes.length > 0
    byId('loading').hidden = server !== undefined
    byId('no-ops').hidden = ops.length > 0
    const nodes = nodesOf(server?.cluster?.nodes ?? [])
    this.#nodes.show(nodes, ({ url }) => url)
    byId('nodes-section').hidden = nodes.length === 0
    byId('relations-section').hidden = relations.length === 0
    tellOthers(byId('unlisted'), unlisted, 'stats')
    tellOthers(byId('unlisted-relations'), unlistedRelations, 'relations')
  }
}

function nodesOf(nodes: readonly ClusterNode[]): readonly NodeStatus[] {
  return nodes.map((node) => {
    const positions = nodes.filter(({ set }) => set === node.set).map(({ position }) => position)
    return { ...node, behind: Math.max(...positions) - node.position }
  })
}

/** Says how many are not in a table, and what lists them. */
function tellOthers(element: HTMLElement, count: number, command: string): void {
  element.hidden = count === 0
  setText(element, `and ${whole(count)} smaller ones; “warpdex ${command}” has them all`)
}

function contentsOf({ columns, indexes, kept }: RelationStatus): string {
  const parts = [amountOf(columns.length, 'column', 'columns')]
  if (indexes.length > 0) parts.push(amountOf(indexes.length, 'index', 'indexes'))
  if (kept !== undefined)
    parts.push(
      `a result${kept.isOlder ? ', older than what it was made of' : ''}, kept for ${whole(kept.secondsLeft)} s`,
    )
  return parts.join(', ')
}

function amountOf(count: number, one: string, many: string): string {
  return `${whole(count)} ${count === 1 ? one : many}`
}

function bytesARow(relation: RelationStatus): string {
  return relation.rows === 0 ? '–' : (memoryOf(relation) / relation.rows).toFixed(1)
}

function recordsSinceSnapshot({ logPosition, snapshotPosition = 0 }: RelationStatus): string {
  return logPosition === undefined ? '–' : whole(logPosition - snapshotPosition)
}

function placeText(resident: boolean): string {
  return resident ? 'on the device' : 'paged out'
}

function memoryOf({ deviceBytes, hostBytes }: IndexStatus | RelationStatus): number {
  return deviceBytes + hostBytes
}

function bytesAKey(index: IndexStatus): string {
  return index.keys === 0 ? '–' : (memoryOf(index) / index.keys).toFixed(1)
}

function whereText({ resident, shards }: IndexStatus): string {
  return `${placeText(resident)}${shards > 1 ? `, ${shards} shards` : ''}`
}
