import { toWarpdexError, WarpdexError } from '../../../protocol/errors.js'
import {
  type AtomicResult,
  type EncodedPart,
  type EncodedPiece,
  resultsOf,
  sectionsOf,
} from '../atomic-write.js'
import type { Bounds } from '../call-options.js'
import type { Connection } from '../connection.js'
import { randomName } from '../node-connection.js'

/** A piece for one replica set. */
interface OwnPiece extends EncodedPiece {
  /** Number of the part that it is of. */
  readonly part: number
  /** Undefined of rows. */
  readonly index: string | undefined
  /** Which items of the part it has. */
  readonly items: Uint32Array
  /** Which of the part's conditions it has. */
  readonly conditions: Uint32Array
}

/**
 * Writes the parts of a batch that go to several replica sets, all or none: each replica set gets its own, and their nodes make them together.
 * @param connections one to each replica set
 */
export async function writeJointly(
  encoded: readonly EncodedPart[],
  connections: readonly Connection[],
  writeId: number,
  bounds: Bounds,
): Promise<readonly AtomicResult[]> {
  const pieces = encoded.flatMap(({ pieces, part: { index } }, part) =>
    pieces.map((piece) => {
      const [items, conditions] = [numbersOf(piece, false), numbersOf(piece, true)]
      return { ...piece, part, index, items, conditions }
    }),
  )
  const ofSet = (set: number) => pieces.filter(({ connection }) => connection === connections[set])
  const sets = [...connections.keys()].filter((set) => ofSet(set).length > 0)
  const joint = { id: randomName(), sets }
  const results: AtomicResult[] = encoded.map(({ part }) => new Uint8Array(part.items))
  const ask = async (set: number, bounds: Bounds) => {
    const own = ofSet(set)
    try {
      const fields = { writeId, joint }
      const reply = await connections[set]!.request('batch', fields, sectionsOf(own), bounds, true)
      const parts = own.map(({ index, items }) => ({ index, items: items.length }))
      enter(results, own, resultsOf(parts, reply))
    } catch (thrown) {
      throw numberedInAll(toWarpdexError(thrown), own, pieces)
    }
  }
  await untilAllDone(sets, (set) => ofSet(set).some(hasResult), ask, bounds)
  return results
}

/**
 * Asks replica sets for their parts. What is made by one is made by all; so those are not waited for that have nothing to tell but that,
 * and might be asked again what nobody else knows of any more.
 * @throws WarpdexError why one of them has refused its part: the others are `CANCELLED` for that
 */
async function untilAllDone(
  sets: readonly number[],
  hasResult: (set: number) => boolean,
  ask: (set: number, bounds: Bounds) => Promise<void>,
  { until, signal }: Bounds,
): Promise<void> {
  const telling = sets.filter(hasResult)
  const awaited = new Set(telling.length > 0 ? telling : sets)
  const ending = new AbortController()
  const end = () => ending.abort()
  signal?.addEventListener('abort', end)
  if (signal?.aborted) end()
  const asked = sets.map(async (set) => {
    try {
      await ask(set, { until, signal: ending.signal })
      awaited.delete(set)
      if (awaited.size === 0) end()
    } catch (thrown) {
      const error = toWarpdexError(thrown)
      if (error.code !== 'CANCELLED') end()
      throw error
    }
  })
  const outcomes = await Promise.allSettled(asked)
  signal?.removeEventListener('abort', end)
  if (awaited.size === 0) return
  const errors = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason] : []))
  throw errors.find(({ code }) => code !== 'CANCELLED') ?? errors[0]
}

/** Which items of its part, or conditions, a piece has. */
function numbersOf({ calls = [] }: EncodedPiece, areConditions: boolean): Uint32Array {
  const own = calls.find(({ call }) => (call.op === 'expect') === areConditions)
  return own?.numbers ?? new Uint32Array(0)
}

function hasResult({ index, items }: OwnPiece): boolean {
  return index === undefined || items.length > 0
}

/** Enters what became of pieces into the results of their parts. */
function enter(results: AtomicResult[], pieces: readonly OwnPiece[], own: readonly AtomicResult[]): void {
  pieces.forEach(({ part, items }, i) => {
    const result = own[i]!
    const whole = results[part]
    if (result instanceof Uint8Array && whole instanceof Uint8Array)
      items.forEach((item, at) => {
        whole[item] = result[at]!
      })
    else results[part] = result
  })
}

/** The error of one replica set, with the number that its condition has among those of the whole batch. */
function numberedInAll(
  error: WarpdexError,
  own: readonly OwnPiece[],
  all: readonly OwnPiece[],
): WarpdexError {
  if (error.item === undefined) return error
  const before = (part: number) =>
    all.reduce((sum, each) => sum + (each.part < part ? each.conditions.length : 0), 0)
  const numbers = own.flatMap(({ part, conditions }) =>
    Array.from(conditions, (number) => before(part) + number),
  )
  const item = numbers[error.item] ?? error.item
  // The server's words begin with the number.
  const message = error.message.replace(`condition ${error.item}`, `condition ${item}`)
  return new WarpdexError(error.code, message, { item, cause: error })
}
