import type { Device, Kernels } from '../../device/device.js'
import { GROUP_SIZE, type Recorder } from '../../device/recorder.js'
import type { Conditions } from '../../device/shaders.js'
import type { DeviceMemory } from '../../memory/page-run.js'
import type { Scratch } from '../../memory/scratch.js'
import type { DeviceWord } from '../../primitives/primitives.js'

/** In place of a word's index: there is no such word. */
const NONE = 0xffffffff

/** Packs payloads that fill whole words into columns without padding, and without their first words where these are not to be seen. */
export class NarrowPayloads {
  readonly #kernels: Kernels<'narrow_payloads'>
  readonly #mostGroups: number

  /** @param conditions of the shape @param mostGroups workgroups at most, which go on until all is done */
  constructor(device: Device, conditions: Conditions, mostGroups: number) {
    this.#kernels = device.kernels('index/read/narrow-payloads', ['narrow_payloads'], conditions)
    this.#mostGroups = mostGroups
  }

  /**
   * The column of `count` payloads of `bytes` bytes; `padded` itself where that is the same.
   * @param live how many there are if the device knows it to be fewer
   * @param hiddenWords words in front of each that are left out
   */
  record(
    { recorder, scratch }: { readonly recorder: Recorder; readonly scratch: Scratch },
    padded: DeviceMemory,
    count: number,
    bytes: number,
    live: DeviceWord = { buffer: padded, index: NONE },
    hiddenWords = 0,
  ): DeviceMemory {
    if (bytes % 4 === 0 && hiddenWords === 0) return padded
    const column = scratch.bytes(count * bytes)
    const groups = Math.ceil((count * bytes) / (4 * GROUP_SIZE))
    recorder.dispatchGroups(
      this.#kernels.narrow_payloads,
      { padded, live: live.buffer, column },
      { count, payloadBytes: bytes, liveIndex: live.index, hiddenWords },
      Math.min(groups, this.#mostGroups),
    )
    return column
  }
}
