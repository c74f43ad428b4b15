import { asBytes } from '../../../protocol/columns.js'
import type { Traversal } from '../../../protocol/traversal.js'
import type { Clock } from '../../device/clock.js'
import type { Device } from '../../device/device.js'
import type { KeyNormaliser, NormalKeys } from '../../keys/normalise.js'
import type { Scratch } from '../../memory/scratch.js'
import type { WarmDevice } from '../../primitives/warm-device.js'
import type { Arena } from '../arena.js'
import type { TreeReader } from '../read/tree-reader.js'
import type { Locator, Ready } from './locator.js'

/** A column of keys of variable length. */
export interface KeyColumns {
  readonly bytes: Uint8Array
  readonly offsets: Uint32Array
}

/** What measurements on a device work with. */
export interface TimingTools {
  readonly device: Device
  readonly normaliser: KeyNormaliser
  readonly warm: WarmDevice
}

/** Times gets of one batch of keys, which lie on the device in their normal form, with unique payloads of one word. */
export class GetTimer {
  /** Keys of the batch. */
  readonly count: number
  readonly #device: Device
  readonly #warm: WarmDevice
  readonly #reader: TreeReader
  readonly #scratch: Scratch
  readonly #queries: NormalKeys
  readonly #clock: Clock | undefined

  constructor({ device, normaliser, warm }: TimingTools, reader: TreeReader, keys: KeyColumns) {
    this.#device = device
    this.#warm = warm
    this.#reader = reader
    this.#scratch = device.scratch()
    this.count = keys.offsets.length - 1
    this.#clock = device.createClock(2)
    const offsets = this.#scratch.bytes(keys.offsets.byteLength)
    const bytes = this.#scratch.bytes(keys.bytes.byteLength)
    device.upload(offsets, asBytes(keys.offsets))
    device.upload(bytes, keys.bytes)
    const recorder = device.record()
    const wire = { offsets, bytes, count: this.count, byteLength: keys.bytes.byteLength }
    this.#queries = normaliser.record(recorder, this.#scratch, wire)
    recorder.submit()
  }

  /**
   * Microseconds that a get takes on the device by each of several traversals, the middle of several repeats in which they take turns: by
   * the device's clock, or from submission until all is done where it has none.
   */
  async times(
    locator: Locator,
    arena: Arena,
    traversals: readonly Traversal[],
    repeats: number,
  ): Promise<number[]> {
    const each: (() => Promise<number>)[] = []
    for (const traversal of traversals) {
      const ready = traversal.strategy === 'sequential' ? undefined : await locator.ready(arena, traversal)
      each.push(async () => {
        // A lookup that follows others finds the tree in the caches.
        if (this.#warm.isNeeded) await this.#once(arena, ready)
        return this.#once(arena, ready)
      })
    }
    const taken = await this.#warm.byTurns(each, repeats)
    return taken.map((times) => times.sort((one, other) => one - other)[repeats >> 1])
  }

  async #once(arena: Arena, ready: Ready | undefined): Promise<number> {
    const device = this.#device
    const clock = this.#clock
    const scratch = device.scratch()
    try {
      const found = scratch.bytes(Math.ceil(this.count / 8))
      const payloads = scratch.words(this.count)
      const { records, heap } = this.#queries
      const recorder = device.record()
      if (clock !== undefined) recorder.stamp(clock, 0)
      const queries = { keys: records, heap }
      this.#reader.recordGet(recorder, scratch, arena, queries, found, payloads, this.count, ready)
      if (clock !== undefined) recorder.stamp(clock, 1)
      const start = performance.now()
      recorder.submit()
      if (clock !== undefined) return (await device.readClock(clock))[1] / 1e3
      await device.workDone()
      return (performance.now() - start) * 1e3
    } finally {
      scratch.release()
    }
  }

  release(): void {
    this.#scratch.release()
    this.#clock?.destroy()
  }
}
