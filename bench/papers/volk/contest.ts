import { toWarpdexError } from '../../../protocol/errors.js'
import { byTurns, type ClockKind } from '../../kernel-time.js'
import type { KeyBlob } from '../../keys.js'
import type { Plan } from './plan.js'
import type { Loaded, Run, Subject } from './subject.js'

/** What the repeats of a run returned, or why there are none. */
export type Result<T> = { readonly values: readonly T[]; readonly clock: ClockKind } | string

interface Contender {
  readonly name: string
  /** Or why it is not. */
  readonly loaded: Loaded | string
  /** The last batch that was measured. */
  last?: { readonly batch: number; readonly microseconds: number }
}

/** Several subjects that hold the same keys at once and are measured in turns, so that all find the device in the same state. */
export class Contest {
  readonly #plan: Plan
  readonly #contenders: readonly Contender[]

  private constructor(plan: Plan, contenders: readonly Contender[]) {
    this.#plan = plan
    this.#contenders = contenders
  }

  /** @param check rejects if a subject answers wrongly */
  static async load(
    plan: Plan,
    subjects: readonly Subject[],
    keys: KeyBlob,
    check: (loaded: Loaded) => Promise<void>,
  ): Promise<Contest> {
    const contenders: Contender[] = []
    for (const subject of subjects) {
      const loaded = await orOmitted(() => subject.load(keys))
      if (typeof loaded !== 'string') await check(loaded)
      contenders.push({ name: subject.name, loaded })
    }
    return new Contest(plan, contenders)
  }

  /**
   * Measures every subject at one batch. Those on the device take turns, repeat by repeat; those on the host follow, for they would leave the
   * device alone meanwhile. What there is no memory for is left out, and what would take too long.
   * @param prepare undefined for a subject that there is nothing to measure of
   * @param microseconds of a value
   */
  async measure<T>(
    batch: number,
    prepare: (loaded: Loaded) => Run<T> | undefined,
    microseconds: (value: T) => number,
  ): Promise<Map<string, Result<T>>> {
    const results = new Map<string, Result<T>>()
    const runs: { contender: Contender; run: Run<T> }[] = []
    for (const contender of this.#contenders) {
      const run = await this.#enter(contender, batch, prepare)
      if (run === undefined) continue
      results.set(contender.name, typeof run === 'string' ? run : { values: [], clock: run.clock })
      if (typeof run !== 'string') runs.push({ contender, run })
    }
    const isHost = ({ run }: { run: Run<T> }) => run.clock === 'host'
    for (const group of [runs.filter((one) => !isHost(one)), runs.filter(isHost)]) {
      const taken = await byTurns(
        this.#plan.effort,
        group.map(
          ({ run }) =>
            (repeat) =>
              run.once(repeat),
        ),
      )
      for (const [i, { contender, run }] of group.entries()) {
        const values = taken[i]!
        results.set(contender.name, { values, clock: run.clock })
        contender.last = { batch, microseconds: Math.min(...values.map(microseconds)) }
        run.release()
      }
    }
    return results
  }

  /** Gets a run ready, and runs it once; or says why not. */
  async #enter<T>(
    { loaded, last }: Contender,
    batch: number,
    prepare: (loaded: Loaded) => Run<T> | undefined,
  ): Promise<Run<T> | string | undefined> {
    if (typeof loaded === 'string') return loaded
    const expected = last === undefined ? 0 : ((last.microseconds / last.batch) * batch) / 1e6
    if (expected > this.#plan.mostSeconds) return `omitted: about ${expected.toPrecision(2)} s`
    return orOmitted(async () => {
      const run = prepare(loaded)
      try {
        await run?.once(0)
        return run
      } catch (error) {
        run?.release()
        throw error
      }
    })
  }

  destroy(): void {
    for (const { loaded } of this.#contenders) if (typeof loaded !== 'string') loaded.destroy()
  }
}

/** What is too large for the device is left out, and the reason takes its place. */
export async function orOmitted<T>(measure: () => Promise<T>): Promise<T | string> {
  try {
    return await measure()
  } catch (error) {
    const { code, message } = toWarpdexError(error)
    if (code !== 'OUT_OF_DEVICE_MEMORY' && code !== 'TOO_LARGE') throw error
    return `omitted: ${message}`
  }
}
