import { WarpdexError } from '../../../protocol/errors.js'
import type { ControlOp } from '../../../protocol/messages.js'
import type { IndexDefinition } from '../../../protocol/types.js'
import type { Reply } from '../reply.js'

/** Sends a request to a replica set. */
export type Send = (set: number, op: ControlOp, fields: object) => Promise<Reply>

/** A name, and the one that its index is to have. */
type Move = readonly [from: string, to: string]

/** While an index is renamed, its name is the old one, this, and the new one. */
const HELD = ' ~to '
/** Takes the place of `HELD` in the first index's name once no replica set has any index under its old name. */
const DECIDED = ' ~becomes '

const UNKNOWN: readonly string[] = ['UNKNOWN_INDEX', 'UNKNOWN_RELATION']

/** What an index is called whose place another one takes that is split at other keys. */
export function formerName(index: string): string {
  return `${index} ~former`
}

/** Whether names say that an index is split, or is to get or lose its name: whoever asks for it waits. */
export function isAwaited(index: string, names: readonly string[]): boolean {
  const isOf = (name: string) =>
    [HELD, DECIDED].some((mark) => name.startsWith(index + mark) || name.endsWith(mark + index))
  return names.includes(formerName(index)) || names.some(isOf)
}

/**
 * Carries out `renameIndex` or `swapIndexes`. Indexes on several replica sets lose their names on all of them before one gets a new name, on replica set 0
 * last. So clients see what had a name, wait, and see what has it then. What ends halfway is ended by the same call.
 * @param sets how many replica sets there are
 */
export async function renameIndexes(
  op: 'renameIndex' | 'swapIndexes',
  fields: object,
  sets: number,
  send: Send,
): Promise<Reply> {
  const { index, to, with: other } = fields as { index: string; to: string; with?: string }
  const swap: Move[] = [
    [index, other ?? to],
    [other ?? to, index],
  ]
  // The same ones, whichever is named first.
  const moves = other === undefined ? swap.slice(0, 1) : swap.sort()
  const found = await Promise.all(moves.map(([from]) => definitionOf(from, send)))
  if (index === (other ?? to) || found.every(isOnFirst)) return send(0, op, fields)
  const first = moves[0]!
  const decided = first.join(DECIDED)
  const all = Array.from({ length: sets }, (_, set) => set)
  if ((await definitionOf(decided, send)) === undefined) {
    await requireNames(moves, send)
    await hold(moves, all, send)
    await send(0, 'renameIndex', { index: first.join(HELD), to: decided })
  }
  for (const set of all.toReversed())
    for (const move of moves.toReversed()) await rename(set, move.join(HELD), move[1], send)
  return send(0, 'renameIndex', { index: decided, to: first[1] })
}

/** @throws WarpdexError `UNKNOWN_INDEX`, `INDEX_EXISTS` */
async function requireNames(moves: readonly Move[], send: Send): Promise<void> {
  for (const [from, to] of moves) {
    if ((await definitionOf([from, to].join(HELD), send)) === undefined)
      await send(0, 'open', { index: from })
    const isTaken = moves.length === 1 && (await definitionOf(to, send)) !== undefined
    if (isTaken)
      throw new WarpdexError(
        'INDEX_EXISTS',
        `there is an index ${JSON.stringify(to)} already; drop it first or choose another name`,
      )
  }
}

/** Has nobody find the indexes under their old names. Where it fails they have them again. */
async function hold(moves: readonly Move[], all: readonly number[], send: Send): Promise<void> {
  try {
    for (const set of all) for (const move of moves) await rename(set, move[0], move.join(HELD), send)
  } catch (error) {
    for (const set of all.toReversed())
      for (const move of moves) await rename(set, move.join(HELD), move[0], send).catch(() => {})
    throw error
  }
}

/** Where an index is not there, it is on other replica sets, or has the name already. */
async function rename(set: number, index: string, to: string, send: Send): Promise<void> {
  await ifKnown(send(set, 'renameIndex', { index, to }))
}

async function definitionOf(index: string, send: Send): Promise<IndexDefinition | undefined> {
  return (await ifKnown(send(0, 'open', { index })))?.fields as IndexDefinition | undefined
}

/** An index over a relation is wherever that is. */
function isOnFirst(index: IndexDefinition | undefined): boolean {
  if (index === undefined || index.of !== undefined) return false
  return (index.placement ?? []).every(({ set }) => set === 0)
}

/** An answer about an index or a relation; undefined where there is none. */
export async function ifKnown(answer: Promise<Reply>): Promise<Reply | undefined> {
  try {
    return await answer
  } catch (error) {
    if (error instanceof WarpdexError && UNKNOWN.includes(error.code)) return undefined
    throw error
  }
}
