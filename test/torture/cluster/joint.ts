import { setTimeout as pause } from 'node:timers/promises'
import type { Client, Index } from '../../../clients/sdk/index.js'
import type { Random } from '../../random.js'
import type { SpreadKeys } from './keys.js'
import { explainHistory, type Operation, shownHistory, type Value } from './register.js'

/** From here on keys are written to by batches alone. */
const FIRST = 2 ** 21
const NEVER = Number.POSITIVE_INFINITY

export interface Indexes {
  readonly client: Client
  readonly registers: Index<'u32', 'u32'>
  readonly journal: Index<'u32', 'u32'>
}

/** What a client has added to the journal, under a key of its own. */
export interface Entries {
  readonly key: number
  readonly acknowledged: Set<number>
  /** Whose outcome is not known. */
  readonly unknown: Set<number>
}

interface JointOptions {
  readonly keys: SpreadKeys
  /** How many replica sets there are. */
  readonly sets: number
  /** A number that no other write has. */
  readonly newValue: () => number
  /** Told of errors whose cause is a fault. */
  readonly note: (error: unknown) => void
}

/**
 * Batches over several replica sets. Each writes one new number to a key on each of them, so that these keys are one register to whoever reads any of
 * them: its history is linearizable only if batches are done as a whole or not at all, and are seen as a whole.
 */
export class JointBatches {
  readonly #options: JointOptions
  /** What was done with each register, by its number. */
  readonly #histories = new Map<number, Operation[]>()

  constructor(options: JointOptions) {
    this.#options = options
  }

  /** Writes or reads once. */
  async act(register: number, indexes: Indexes, entries: Entries, random: Random): Promise<void> {
    const kind = random.below(6)
    const key = random.pick(this.#keysOf(register))
    const found = kind < 2 ? undefined : await this.#read(register, key, indexes.registers)
    if (kind < 2) await this.#write(register, indexes, entries)
    else if (kind < 4 && found !== undefined)
      await this.#swap(register, random.pick(this.#keysOf(register)), found.value, indexes.registers)
    await pause(random.below(20))
  }

  /** @throws Error that says which batch was not done, or seen, as a whole */
  async check(registers: Index<'u32', 'u32'>): Promise<void> {
    for (const [register, history] of this.#histories) {
      const keys = this.#keysOf(register)
      // Twice, since of one round a batch whose outcome is not known could have come in the middle.
      for (const key of [...keys, ...keys])
        if ((await this.#read(register, key, registers)) === undefined)
          throw new Error(`no answer for ${key}`)
      const wrong = explainHistory(history)
      if (wrong !== undefined)
        throw new Error(`batches on keys ${keys} are not one step: ${wrong}\n${shownHistory(history)}`)
    }
  }

  /** With an entry in the journal, which would be there twice where the batch was done twice. */
  async #write(register: number, { client, registers, journal }: Indexes, entries: Entries): Promise<void> {
    const value = this.#options.newValue()
    const batch = registers.batch()
    for (const key of this.#keysOf(register)) batch.put(key, value)
    const outcome = await this.#attempt(register, { kind: 'write', value }, () =>
      client.write([batch, journal.batch().insert(entries.key, value)]),
    )
    if (outcome !== 'undone') entries[outcome === 'done' ? 'acknowledged' : 'unknown'].add(value)
  }

  /** Writes if nobody has written since, as one of the keys tells. */
  async #swap(register: number, key: number, expected: Value, registers: Index<'u32', 'u32'>): Promise<void> {
    const value = this.#options.newValue()
    const batch = registers
      .batch()
      .expect(key, expected === undefined ? { exists: false } : { payload: expected })
    for (const each of this.#keysOf(register)) batch.put(each, value)
    await this.#attempt(register, { kind: 'swap', expected, value, refused: false }, () => batch.write())
  }

  async #attempt(
    register: number,
    act: Exclude<Operation['act'], { kind: 'read' }>,
    call: () => Promise<unknown>,
  ): Promise<'done' | 'undone' | 'unknown'> {
    const history = this.#historyOf(register)
    const begin = performance.now()
    try {
      await call()
      history.push({ act, begin, end: performance.now() })
      return 'done'
    } catch (error) {
      const { code } = Object(error)
      if (code === 'CONDITION_FAILED' && act.kind === 'swap') {
        history.push({ act: { ...act, refused: true }, begin, end: performance.now() })
        return 'undone'
      }
      this.#options.note(error)
      // By the promise of the code nothing was done, and nobody may find it.
      if (code === 'CANCELLED') return 'undone'
      history.push({ act, begin, end: NEVER })
      return 'unknown'
    }
  }

  /** @returns undefined where there was no answer */
  async #read(
    register: number,
    key: number,
    registers: Index<'u32', 'u32'>,
  ): Promise<{ readonly value: Value } | undefined> {
    const begin = performance.now()
    try {
      const value = await registers.get(key)
      this.#historyOf(register).push({ act: { kind: 'read', value }, begin, end: performance.now() })
      return { value }
    } catch (error) {
      this.#options.note(error)
      return undefined
    }
  }

  /** One on each replica set. */
  #keysOf(register: number): readonly number[] {
    const { keys, sets } = this.#options
    return Array.from({ length: sets }, (_, set) =>
      keys.keyOf((Math.ceil(FIRST / sets) + register) * sets + set),
    )
  }

  #historyOf(register: number): Operation[] {
    const history = this.#histories.get(register) ?? []
    this.#histories.set(register, history)
    return history
  }
}
