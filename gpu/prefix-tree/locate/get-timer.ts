import { asBytes } from '../../../protocol/columns.js'
import type { Clock } from '../../device/clock.js'
import type { Device } from '../../device/device.js'
import type { KeyNormaliser, NormalKeys } from '../../keys/normalise.js'
import type { Scratch } from '../../memory/scratch.js'
import type { Arena } from '../arena.js'
import type { TreeReader } from '../read/tree-reader.js'
import type { Ready } from './locator.js'

/** A column of keys of variable length. */
export interface KeyColumns {
  readonly bytes: Uint8Array
  readonly offsets: Uint32Array
}

/** Times gets of one batch of keys, which lie on the device in their normal form, with unique payloads of one word. */
export class GetTimer {
  readonly #device: Device
  readonly #reader: TreeReader
  readonly #scratch: Scratch
  readonly #count: number
  readonly #queries: NormalKeys
  readonly #clock: Clock | undefined

  constructor(device: Device, reader: TreeReader, normaliser: KeyNormaliser, keys: KeyColumns) {
    this.#device = device
    this.#reader = reader
    this.#scratch = device.scratch()
    this.#count = keys.offsets.length - 1
    this.#clock = device.createClock(2)
    const offsets = this.#scratch.bytes(keys.offsets.byteLength)
    const bytes = this.#scratch.bytes(keys.bytes.byteLength)
    device.upload(offsets, asBytes(keys.offsets))
    device.upload(bytes, keys.bytes)
    const recorder = device.record()
    const wire = { offsets, bytes, count: this.#count, byteLength: keys.bytes.byteLength }
    this.#queries = normaliser.record(recorder, this.#scratch, wire)
    recorder.submit()
  }

  /**
   * Microseconds that a get takes on the device, the middle of several: by the device's clock, or from submission until all is done
   * where it has none.
   */
  async time(arena: Arena, ready: Ready | undefined, repeats: number): Promise<number> {
    const times: number[] = []
    // The first one warms up.
    for (let repeat = 0; repeat <= repeats; repeat++) {
      const microseconds = await this.#once(arena, ready)
      if (repeat > 0) times.push(microseconds)
    }
    return times.sort((one, other) => one - other)[repeats >> 1]
  }

  async #once(arena: Arena, ready: Ready | undefined): Promise<number> {
    const device = this.#device
    const clock = this.#clock
    const scratch = device.scratch()
    try {
      const found = scratch.bytes(Math.ceil(this.#count / 8))
      const payloads = scratch.words(this.#count)
      const { records, heap } = this.#queries
      const recorder = device.record()
      if (clock !== undefined) recorder.stamp(clock, 0)
      const queries = { keys: records, heap }
      this.#reader.recordGet(recorder, scratch, arena, queries, found, payloads, this.#count, ready)
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
