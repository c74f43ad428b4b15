import { badRequest, WarpdexError } from '../../../protocol/errors.js'
import type { ControlOp } from '../../../protocol/messages.js'
import type { RelationDefinition } from '../../../protocol/relation.js'
import type { IndexStats, RelationStats, ReplyFields } from '../../../protocol/replies.js'
import type { IndexDefinition } from '../../../protocol/types.js'
import type { Reply } from '../reply.js'
import { setByName } from './placement.js'
import { ifKnown, isAwaited, renameIndexes, type Send } from './rename-indexes.js'

/** What is told of an index that is not there, or not to be seen. */
const UNSEEN: readonly string[] = ['UNKNOWN_INDEX', 'UNAUTHORISED']
/** What is about one node. */
const OF_A_NODE: ReadonlySet<ControlOp> = new Set([
  'backup',
  'slowRequests',
  'calibrate',
  'position',
  'handOver',
])

/**
 * Carries out a control request in a cluster. Replica set 0 has the definitions of all indexes and relations; what changes an index there is
 * done elsewhere first, so that it can be done again should it end halfway.
 * @param sets how many replica sets there are
 */
export async function control(op: ControlOp, fields: object, sets: number, send: Send): Promise<Reply> {
  const others = Array.from({ length: sets - 1 }, (_, i) => i + 1)
  if (OF_A_NODE.has(op))
    throw badRequest(
      `${op} is of one node of the cluster: connect to that with the option set, the number of its replica set, or an address such as ws://host:7070?set=0`,
    )
  switch (op) {
    case 'createIndex': {
      const placement = await placementOf(fields as Creation, sets, send)
      const placed = { ...fields, placement }
      const unknown = placement?.find(({ set }) => set >= sets)
      if (unknown !== undefined)
        throw badRequest(`placement names replica set ${unknown.set}; the cluster has ${sets}, from 0 on`)
      const used = others.filter((set) => placement?.some((range) => range.set === set))
      await Promise.all(used.map((set) => send(set, op, { ...placed, ifNotExists: true })))
      return send(0, op, placed)
    }
    case 'open':
      return open((fields as { readonly index: string }).index, send)
    case 'createRelation': {
      const ofAll = { ...fields, ifNotExists: true }
      if ((fields as Partial<RelationDefinition>).spread !== undefined)
        await Promise.all(others.map((set) => send(set, op, ofAll)))
      return send(0, op, fields)
    }
    case 'dropIndex':
    case 'dropRelation':
      await Promise.all(others.map((set) => send(set, op, { ...fields, ifExists: true })))
      return send(0, op, fields)
    case 'renameIndex':
    case 'swapIndexes':
      return renameIndexes(op, fields, sets, send)
    case 'openVersion':
    case 'closeVersion': {
      const [first] = await Promise.all([0, ...others].map((set) => send(set, op, fields)))
      return first!
    }
    case 'snapshot':
    case 'stats':
      return joined(
        op,
        await Promise.all(
          [0, ...others].map((set) => (set === 0 ? send(0, op, fields) : ifKnown(send(set, op, fields)))),
        ),
      )
    default:
      return send(0, op, fields)
  }
}

interface Creation extends Pick<IndexDefinition, 'placement'> {
  readonly index: string
  readonly ifNotExists?: boolean
}

/** Where an index goes: where it is already, or to one replica set, unless its creator says it. */
async function placementOf(
  { index, placement, ifNotExists }: Creation,
  sets: number,
  send: Send,
): Promise<IndexDefinition['placement']> {
  if (placement !== undefined) return placement
  const chosen = [{ set: setByName(index, sets) }]
  if (ifNotExists !== true) return chosen
  try {
    return ((await open(index, send)).fields as IndexDefinition).placement
  } catch (error) {
    if (error instanceof WarpdexError && UNSEEN.includes(error.code)) return chosen
    throw error
  }
}

const MOST_PAUSE_MS = 30_000
const RETRY_MS = 50

/** Waits for an index that has no name for the moment in which it is split at other keys, or gets another name. */
async function open(index: string, send: Send): Promise<Reply> {
  for (const until = performance.now() + MOST_PAUSE_MS; ; ) {
    try {
      return await send(0, 'open', { index })
    } catch (error) {
      const isMissing = error instanceof WarpdexError && error.code === 'UNKNOWN_INDEX'
      if (!isMissing || performance.now() > until) throw error
      const { indexes } = (await send(0, 'listIndexes', {})).fields as ReplyFields['listIndexes']
      const names = indexes.map(({ name }) => name)
      if (!isAwaited(index, names)) throw error
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS))
    }
  }
}

/** @param replies one of each replica set */
function joined(op: 'snapshot' | 'stats', replies: readonly (Reply | undefined)[]): Reply {
  const [first] = replies.filter((reply) => reply !== undefined) as [Reply]
  if (op === 'snapshot') {
    const snapshots = replies.flatMap((reply) =>
      reply === undefined ? [] : (reply.fields as ReplyFields['snapshot']).snapshots,
    )
    return { ...first, fields: { snapshots } as never }
  }
  const figures = replies.map((reply) => reply?.fields as ReplyFields['stats'] | undefined)
  const indexes = indexesOf(figures.map((each) => each?.indexes ?? []))
  const relations = relationsOf(figures.map((each) => each?.relations ?? []))
  return { ...first, fields: { ...first.fields, indexes, relations } as never }
}

/** Of each relation what the first replica set has of it; of one that is spread by rows also the sum of all. */
function relationsOf(sets: readonly (readonly RelationStats[])[]): readonly RelationStats[] {
  const relations = new Map(
    sets
      .flat()
      .toReversed()
      .map((relation) => [relation.name, relation]),
  )
  return Array.from(relations.values(), (relation) => {
    if (relation.spread !== 'rows') return relation
    const parts = sets.flatMap((relations) => relations.filter(({ name }) => name === relation.name))
    const sum = (figure: 'rows' | 'deviceBytes') => parts.reduce((all, part) => all + part[figure], 0)
    // A numbering is told as that of rows that are read, here of those of replica set 0.
    const numbering = Number(relation.numbering) * sets.length
    return { ...relation, rows: sum('rows'), deviceBytes: sum('deviceBytes'), numbering }
  })
}

const SUMMED = ['keys', 'payloads', 'deviceBytes', 'expired', 'expiring'] as const

/**
 * Of each index the sum of what replica sets have, the payloads of each, and when the first entry of all expires. Further figures are those of the
 * first one that has it.
 */
function indexesOf(sets: readonly (readonly IndexStats[])[]): readonly IndexStats[] {
  const names = new Set(sets.flatMap((indexes) => indexes.map(({ name }) => name)))
  return Array.from(names, (name) => {
    const parts = sets.map((indexes) => indexes.find((index) => index.name === name))
    const { nextExpiry: _, ...first } = parts.find((part) => part !== undefined)!
    const figures = SUMMED.filter((figure) => figure in first)
    const sums = figures.map((figure) => [
      figure,
      parts.reduce((all, part) => all + Number(part?.[figure] ?? 0), 0),
    ])
    const payloadsOfSets = parts.map((part) => part?.payloads ?? 0)
    const nextExpiry = Math.min(...parts.map(nextExpiryOf))
    const known = Number.isFinite(nextExpiry) ? { nextExpiry } : {}
    return { ...first, ...Object.fromEntries(sums), ...known, payloadsOfSets }
  })
}

/** When the next entry of a replica set expires: NaN where that is not known, infinity where none does. */
function nextExpiryOf(part: IndexStats | undefined): number {
  const isUnknown = Number(part?.expiring ?? 0) > 0
  return Number(part?.nextExpiry ?? (isUnknown ? Number.NaN : Number.POSITIVE_INFINITY))
}
