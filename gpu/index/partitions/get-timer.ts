import type { CutColumn } from '../../../protocol/columns.js'
import type { Clock } from '../../device/clock.js'
import type { Device } from '../../device/device.js'
import type { KeyColumn } from '../../keys/key-column.js'
import type { Scratch } from '../../memory/scratch.js'
import type { WarmDevice } from '../../primitives/warm-device.js'
import type { Arena } from '../arena.js'
import type { Reads } from '../read/reads.js'
import type { Locator, TraversalPlan } from './locator.js'
import type { BlockTraversal } from './traversal-costs.js'

/** Times gets of one batch of keys, which lie on the device in their normal form, with unique payloads of one word. */
export class GetTimer {
  /** Keys of the batch. */
  readonly count: number
  readonly #device: Device
  readonly #warm: WarmDevice
  readonly #reads: Reads
  readonly #scratch: Scratch
  readonly #queries: KeyColumn
  readonly #clock: Clock | undefined
  readonly #stop: AbortSignal | undefined

  /** @param stop ends what is timed, with its reason */
  constructor(warm: WarmDevice, reads: Reads, keys: CutColumn, stop?: AbortSignal) {
    const { device } = reads.context
    this.#device = device
    this.#warm = warm
    this.#stop = stop
    this.#reads = reads
    this.#scratch = device.scratch()
    this.count = keys.offsets.length - 1
    this.#clock = device.createClock(2)
    const recorder = device.record()
    this.#queries = reads.context.queries(recorder, this.#scratch, keys)
    recorder.submit()
  }

  /**
   * Microseconds that a get takes on the device by each of several traversals, the middle of several repeats in which they take turns: by
   * the device's clock, or from submission until all is done where it has none.
   */
  async times(
    locator: Locator,
    arena: Arena,
    traversals: readonly BlockTraversal[],
    repeats: number,
  ): Promise<number[]> {
    const each: (() => Promise<number>)[] = []
    for (const traversal of traversals) {
      const plan = traversal.strategy === 'sequential' ? undefined : await locator.plan(arena, traversal)
      each.push(async () => {
        // A lookup that follows others finds the tree in the caches.
        if (this.#warm.isNeeded) await this.#once(arena, plan)
        return this.#once(arena, plan)
      })
    }
    const taken = await this.#warm.byTurns(each, repeats, this.#stop)
    return taken.map((times) => times.sort((one, other) => one - other)[repeats >> 1])
  }

  async #once(arena: Arena, plan: TraversalPlan | undefined): Promise<number> {
    const device = this.#device
    const clock = this.#clock
    return device.withScratch(async (scratch) => {
      const answers = { found: scratch.bytes(Math.ceil(this.count / 8)), payloads: scratch.words(this.count) }
      const recorder = device.record()
      if (clock !== undefined) recorder.stamp(clock, 0)
      const asked = { queries: this.#queries, count: this.count, ...answers }
      this.#reads.get.record({ recorder, scratch, arena }, asked, plan)
      if (clock !== undefined) recorder.stamp(clock, 1)
      const start = performance.now()
      recorder.submit()
      if (clock !== undefined) return (await device.readClock(clock))[1] / 1e3
      await device.workDone()
      return (performance.now() - start) * 1e3
    })
  }

  release(): void {
    this.#scratch.release()
    this.#clock?.destroy()
  }
}
