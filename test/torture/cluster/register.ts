/** What a key may have: a number that no other write has written, or nothing. */
export type Value = number | undefined

/** What a client did with a key, or found there. */
export type Act =
  /** A put, or a delete where the value is undefined. */
  | { readonly kind: 'write'; readonly value: Value }
  | { readonly kind: 'read'; readonly value: Value }
  /** A write on the condition that the key has what is expected; `refused` where it was answered that it has not. */
  | { readonly kind: 'swap'; readonly expected: Value; readonly value: Value; readonly refused: boolean }

/** One operation on a key. Times are of one clock. */
export interface Operation {
  readonly act: Act
  readonly begin: number
  /** When its answer came. `Infinity` where none did: then a write takes effect at any time after its beginning, or never. */
  readonly end: number
}

/** All of them, in the order in which they began. */
export function shownHistory(history: readonly Operation[]): string {
  return [...history]
    .sort((one, other) => one.begin - other.begin)
    .map((operation) => JSON.stringify(operation))
    .join('\n')
}

/** A state that a key may be in, and which of the operations that have begun and not ended brought it there. */
interface Possibility {
  readonly value: Value
  readonly done: ReadonlySet<Operation>
}

/**
 * Whether a history of one key, which has nothing at first, is linearizable: whether each operation can have taken effect at one moment between
 * its beginning and its end. All states that the key can be in are followed through time, as Wing and Gong's search does with Lowe's
 * linearization at the last moment: an operation that ends has taken effect by then, after any of the others that are under way.
 * @returns what is wrong; undefined for a history that is right
 */
export function explainHistory(operations: readonly Operation[]): string | undefined {
  const events = operations.flatMap((operation) => [
    { operation, at: operation.begin, isEnd: false },
    { operation, at: operation.end, isEnd: true },
  ])
  // Of two at the same time either may be the first, so that they overlap.
  events.sort((one, other) => one.at - other.at || Number(one.isEnd) - Number(other.isEnd))
  const underWay = new Set<Operation>()
  let possible = new Possibilities()
  possible.add({ value: undefined, done: new Set() })
  for (const { operation, at, isEnd } of events) {
    if (at === Number.POSITIVE_INFINITY) break
    if (!isEnd) {
      underWay.add(operation)
      continue
    }
    const next = afterEnd(possible, operation, underWay)
    if (next.isEmpty) {
      const values = [...new Set([...possible].map(({ value }) => value ?? 'nothing'))].join(' or ')
      return `${JSON.stringify(operation)} cannot be: the key had ${values} before, or what operations under way made of it`
    }
    underWay.delete(operation)
    possible = next
  }
  return undefined
}

/** @returns the states in which an operation has taken effect that has ended */
function afterEnd(
  possible: Possibilities,
  ended: Operation,
  underWay: ReadonlySet<Operation>,
): Possibilities {
  const next = new Possibilities()
  const tried = new Possibilities()
  const queue = [...possible].filter((one) => tried.add(one))
  for (const { value, done } of queue) {
    if (done.has(ended)) {
      next.add({ value, done: new Set([...done].filter((each) => each !== ended)) })
      continue
    }
    for (const operation of underWay) {
      if (done.has(operation) || !isPossible(operation.act, value)) continue
      const after = { value: valueAfter(operation.act, value), done: new Set([...done, operation]) }
      if (tried.add(after)) queue.push(after)
    }
  }
  return next
}

function isPossible(act: Act, value: Value): boolean {
  if (act.kind === 'read') return act.value === value
  if (act.kind === 'swap') return (act.expected === value) !== act.refused
  return true
}

function valueAfter(act: Act, value: Value): Value {
  return act.kind === 'read' || (act.kind === 'swap' && act.refused) ? value : act.value
}

/**
 * States, without those that others stand for: of two with the same value in which the same answered operations are done, the one in which fewer are
 * done that were never answered, since these may be done later, or never.
 */
class Possibilities {
  readonly #byState = new Map<string, Possibility[]>()
  readonly #ids = new Map<Operation, number>()

  get isEmpty(): boolean {
    return this.#byState.size === 0
  }

  *[Symbol.iterator](): Generator<Possibility> {
    for (const alike of this.#byState.values()) yield* alike
  }

  /** @returns whether no other stands for it */
  add(possibility: Possibility): boolean {
    const { value, done } = possibility
    const answered = [...done].filter(isAnswered).map((operation) => this.#idOf(operation))
    const state = `${value} ${answered.sort((one, other) => one - other)}`
    const alike = this.#byState.get(state) ?? []
    if (alike.some((other) => isSubset(other.done, done))) return false
    const kept = alike.filter((other) => !isSubset(done, other.done))
    this.#byState.set(state, [...kept, possibility])
    return true
  }

  #idOf(operation: Operation): number {
    const id = this.#ids.get(operation) ?? this.#ids.size
    this.#ids.set(operation, id)
    return id
  }
}

function isAnswered({ end }: Operation): boolean {
  return end !== Number.POSITIVE_INFINITY
}

function isSubset<T>(one: ReadonlySet<T>, other: ReadonlySet<T>): boolean {
  return one.size <= other.size && [...one].every((element) => other.has(element))
}

/**
 * Whether reads that one node answered on one connection, in their order, can be of a follower: it may be behind, but has nothing that nobody
 * wrote, and does not go back.
 * @param history all operations on the key
 * @returns what is wrong; undefined for reads that are right
 */
export function explainFollower(
  reads: readonly Operation[],
  history: readonly Operation[],
): string | undefined {
  const writers = new Map<Value, Operation>()
  for (const operation of history)
    if (operation.act.kind !== 'read') writers.set(operation.act.value, operation)
  let newest: Operation | undefined
  for (const { act, end } of reads) {
    // Of deletes it is not known which one was seen.
    if (act.value === undefined) continue
    const writer = writers.get(act.value)
    if (writer === undefined || writer.begin > end) return `it has ${act.value}, which nobody had written`
    if (newest !== undefined && writer.end < newest.begin)
      return `it has ${act.value} after ${newest.act.value}, which was written later`
    if (newest === undefined || writer.begin > newest.end) newest = writer
  }
  return undefined
}
