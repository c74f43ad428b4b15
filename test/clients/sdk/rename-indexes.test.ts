import t from 'tap'
import { isAwaited, renameIndexes, type Send } from '../../../clients/sdk/cluster/rename-indexes.js'
import type { Reply } from '../../../clients/sdk/reply.js'
import { WarpdexError } from '../../../protocol/errors.js'

interface Placed {
  readonly id: string
  readonly placement: readonly { readonly set: number }[]
}

/** What three replica sets have by name, with every index on replica set 0 too. */
class Sets {
  readonly names: readonly Map<string, Placed>[] = [new Map(), new Map(), new Map()]

  constructor(indexes: Readonly<Record<string, readonly number[]>>) {
    for (const [id, sets] of Object.entries(indexes)) {
      const index = { id, placement: sets.map((set) => ({ set })) }
      for (const set of new Set([0, ...sets])) this.names[set]!.set(id, index)
    }
  }

  send(
    set: number,
    op: string,
    { index, to, with: other }: { index: string; to: string; with: string },
  ): Reply {
    const names = this.names[set]!
    const found = (name: string) => {
      const index = names.get(name)
      if (index === undefined) throw new WarpdexError('UNKNOWN_INDEX', `there is no index ${name}`)
      return index
    }
    const placed = found(index)
    if (op === 'swapIndexes') names.set(index, found(other)).set(other, placed)
    if (op === 'renameIndex') {
      if (names.has(to)) throw new WarpdexError('INDEX_EXISTS', `there is an index ${to}`)
      names.delete(index)
      names.set(to, placed)
    }
    return { fields: placed } as unknown as Reply
  }

  /** The index that a name means; `waits` where clients wait for it. */
  meaning(name: string): string {
    const index = this.names[0]!.get(name)
    if (index === undefined) return isAwaited(name, [...this.names[0]!.keys()]) ? 'waits' : 'none'
    const parts = index.placement.map(({ set }) => this.names[set]!.get(name)?.id)
    return parts.every((id) => id === index.id) ? index.id : 'half'
  }
}

const lost = () => new WarpdexError('CONNECTION_LOST', 'lost')

interface Case {
  readonly op: 'renameIndex' | 'swapIndexes'
  readonly indexes: Readonly<Record<string, readonly number[]>>
}

const CASES: readonly Case[] = [
  { op: 'renameIndex', indexes: { a: [1, 2, 0] } },
  { op: 'renameIndex', indexes: { a: [2] } },
  { op: 'swapIndexes', indexes: { a: [0, 1, 2], b: [0, 1, 2] } },
  { op: 'swapIndexes', indexes: { a: [0], b: [1, 2, 0] } },
  { op: 'swapIndexes', indexes: { a: [1, 0], b: [2] } },
]

/** How a client fails: at which of its requests, whether that is carried out, and whether the client is gone then. */
interface Failure {
  readonly at: number
  readonly isDone: boolean
  readonly isGone: boolean
}

const FAILURES = [
  { isDone: false, isGone: false },
  { isDone: true, isGone: false },
  { isDone: true, isGone: true },
]

/** @returns whether it came to the failure */
async function attempt(
  { op, indexes }: Case,
  sets: Sets,
  failure: Failure,
  seen: Set<string>,
): Promise<boolean> {
  let requests = 0
  const send: Send = async (set, op, fields) => {
    const number = requests++
    const isFailing = number === failure.at || (failure.isGone && number > failure.at)
    if (isFailing && !(failure.isDone && number === failure.at)) throw lost()
    const reply = sets.send(set, op, fields as never)
    for (const name of ['a', 'b']) seen.add(`${name} ${sets.meaning(name)}`)
    if (isFailing) throw lost()
    return reply
  }
  const fields = { index: 'a', to: 'b', with: 'b' in indexes ? 'b' : undefined }
  await renameIndexes(op, fields, 3, send).catch((error: unknown) => {
    if (!(error instanceof WarpdexError) || error.code !== 'CONNECTION_LOST') throw error
  })
  return requests > failure.at
}

t.test('whoever renames may fail at any step, and nobody sees a half', async (t) => {
  for (const one of CASES) {
    const isSwap = one.op === 'swapIndexes'
    const after = isSwap ? 'b a' : 'none a'
    const meanings = (sets: Sets) => ['a', 'b'].map((name) => sets.meaning(name)).join(' ')
    const seen = new Set<string>()
    for (const failure of FAILURES) {
      for (let at = 0, hasFailed = true; hasFailed; at++) {
        const sets = new Sets(one.indexes)
        hasFailed = await attempt(one, sets, { ...failure, at }, seen)
        // The last answer may be lost.
        if (meanings(sets) !== after) await attempt(one, sets, { ...failure, at: 1000 }, seen)
        const name = `${one.op} ${JSON.stringify(one.indexes)} ${JSON.stringify(failure)} ${at}`
        if (!t.equal(meanings(sets), after, name)) return
        const left = sets.names.flatMap((names) => [...names.keys()]).filter((name) => name.includes('~'))
        t.same(left, [], name)
      }
    }
    const wanted = isSwap
      ? ['a a', 'a b', 'a waits', 'b a', 'b b', 'b waits']
      : ['a a', 'a none', 'a waits', 'b a', 'b none', 'b waits']
    t.same([...seen].sort(), wanted)
  }
})
