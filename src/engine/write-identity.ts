import type { Answer, StoredOutcome } from '../../persistence/log/write-outcomes.js'
import type { Store } from '../../persistence/store.js'
import { toWarpdexError, WarpdexError } from '../../protocol/errors.js'
import type { Cancellation, WriteId } from './index-requests.js'
import { requireWanted } from './request-queue.js'

/** A write that waits for its answer. */
export interface IdentifiedWrite {
  readonly id: WriteId | undefined
  readonly cancellation: Cancellation | undefined
  readonly resolve: (answer: Answer) => void
  readonly reject: (error: WarpdexError) => void
}

/** One name for each write of all clients. */
export function nameOf({ client, number }: WriteId): string {
  return `${number} ${client}`
}

/**
 * Answers all writes of an index or relation. They go together; where that fails, each goes alone, so that none fails for another's sake. Of
 * writes with the same id the later ones are repeats, answered by the first's outcome.
 *
 * @param remembered the answer to a write that was done before, given the ids of those before it; throws where it must not be done
 * @param together writes those that need work, none of which repeats another; throws where none of them has left a trace
 * @param answer answers some of them later, when what the others came to is known
 * @returns whether the structure holds what the log holds; if not, it must be rebuilt
 */
export async function answerWrites<W extends IdentifiedWrite>(
  writes: readonly W[],
  remembered: (write: W, before: ReadonlySet<string>) => Answer | undefined,
  together: (writes: readonly W[]) => Promise<boolean>,
  answer: (some: readonly W[]) => Promise<boolean>,
): Promise<boolean> {
  const fresh: W[] = []
  const repeats: W[] = []
  const ids = new Set<string>()
  for (const write of writes) {
    try {
      requireWanted(write.cancellation)
      const known = remembered(write, ids)
      if (known !== undefined) {
        write.resolve(known)
        continue
      }
    } catch (thrown) {
      write.reject(toWarpdexError(thrown))
      continue
    }
    const id = write.id && nameOf(write.id)
    if (id !== undefined && ids.has(id)) repeats.push(write)
    else fresh.push(write)
    if (id !== undefined) ids.add(id)
  }
  let sound = true
  try {
    if (fresh.length > 0) sound = await together(fresh)
  } catch (thrown) {
    if (fresh.length === 1) fresh[0].reject(toWarpdexError(thrown))
    else {
      for (const write of fresh) {
        if (sound) sound = await answer([write])
        else write.reject(unsound())
      }
    }
  }
  if (sound) return repeats.length === 0 || answer(repeats)
  for (const { reject } of repeats) reject(unsound())
  return false
}

/**
 * What became of a write to an index or a relation, while that is remembered.
 * @param target the id of the index or relation
 * @throws WarpdexError `BAD_REQUEST` when it was another kind of write, or one to something else
 */
export function rememberedOutcome(
  store: Store,
  target: number,
  id: WriteId | undefined,
  kind: keyof Answer,
): StoredOutcome | undefined {
  const outcome = id && store.outcomes.find(id.client, id.number)
  if (outcome === undefined) return undefined
  if (outcome.index !== target)
    throw new WarpdexError('BAD_REQUEST', `write id ${id?.number} was used for a write to another index`)
  if (outcome[kind] !== undefined) return outcome
  throw new WarpdexError('BAD_REQUEST', `write id ${id?.number} was used for a write of another kind`)
}

/** For writes that come to a structure which lacks a logged one: their outcomes would be wrong. */
export function unsound(): WarpdexError {
  return new WarpdexError(
    'DEVICE_LOST',
    'what it is written to must be rebuilt after an error of its device; try again',
  )
}
