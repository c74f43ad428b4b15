import type { Device, Kernels } from '../device/device.js'
import type { Recorder } from '../device/recorder.js'
import type { DeviceMemory } from '../memory/page-run.js'
import type { Scratch } from '../memory/scratch.js'
import type { DeviceWord } from './device-count.js'
import type { Sort, SortedPairs } from './sort.js'

/** Bits that are sorted by. */
const LEADING_BITS = 32

/** Workgroups that go through the ties, at most. */
const SETTLING_GROUPS = 2048

/**
 * Sorts pairs with u64 keys by 32 bits, four passes instead of eight, and settles what they leave open (`leading-sort.wesl`). For
 * keys that `leadingBits` suits.
 */
export class LeadingSort {
  readonly #sort: Sort
  readonly #kernels: Kernels<'find_ties' | 'settle_ties'>

  constructor(device: Device, sort: Sort) {
    this.#sort = sort
    this.#kernels = device.kernels('primitives/leading-sort', ['find_ties', 'settle_ties'])
  }

  /**
   * As `Primitives.sort` for u64 keys.
   * @param firstBit lowest of the 32 bits to sort by, as `leadingBits` gives it
   * @param unsettled is added to if these bits do not tell the keys apart; what is returned is in no order then
   */
  record(
    recorder: Recorder,
    scratch: Scratch,
    keys: DeviceMemory,
    values: DeviceMemory | undefined,
    count: number,
    firstBit: number,
    unsettled: DeviceWord,
  ): SortedPairs {
    const bits = { from: firstBit, bits: firstBit + LEADING_BITS }
    const sorted = this.#sort(recorder, scratch, keys, values, count, 2, bits)
    // Of each two pairs one can begin a tie.
    const ties = scratch.words(2 + 2 * Math.ceil(count / 2))
    recorder.clear(ties, 0, 4)
    const params = { count, firstBit, flag: unsettled.index }
    const buffers = {
      keys: sorted.keys,
      tiedKeys: sorted.keys,
      values: sorted.values,
      ties,
      flags: unsettled.buffer,
    }
    recorder.dispatch(this.#kernels.find_ties, buffers, params, count)
    const groups = Math.min(Math.ceil(count / 512), SETTLING_GROUPS)
    recorder.dispatchGroups(this.#kernels.settle_ties, buffers, params, groups)
    return sorted
  }
}

/** Keys that are looked at. */
const SAMPLES = 512
/** Pairs of them that may have their leading bits in common; where ties are short hardly any does. */
const MOST_SAMPLED_TIES = 2
/** Fewer keys are sorted by all bits in less time. */
const KEYS_FOR_LEADING_BITS = 2 ** 16

/**
 * Which bits tell u64 keys apart, as far as some of them show: the lowest of 32 neighbouring bits above which they have all in
 * common. Undefined where those bits are not enough.
 * @param keys little-endian words; unsigned, or another type of 8 bytes whose order follows from its highest bits
 */
export function leadingBits(keys: Uint8Array): number | undefined {
  const count = keys.byteLength / 8
  if (count < KEYS_FOR_LEADING_BITS) return undefined
  const view = new DataView(keys.buffer, keys.byteOffset, keys.byteLength)
  const low = new Uint32Array(SAMPLES)
  const high = new Uint32Array(SAMPLES)
  let differingLow = 0
  let differingHigh = 0
  for (let i = 0; i < SAMPLES; i++) {
    const at = 8 * Math.floor((i / SAMPLES) * count)
    low[i] = view.getUint32(at, true)
    high[i] = view.getUint32(at + 4, true)
    differingLow |= low[i]! ^ low[0]!
    differingHigh |= high[i]! ^ high[0]!
  }
  const differing = differingHigh === 0 ? 32 - Math.clz32(differingLow) : 64 - Math.clz32(differingHigh)
  const firstBit = Math.max(0, 8 * Math.ceil(differing / 8) - LEADING_BITS)
  const leading = low.map((word, i) => {
    if (firstBit === 0) return word
    return firstBit === 32 ? high[i]! : (word >>> firstBit) | (high[i]! << (32 - firstBit))
  })
  return new Set(leading).size + MOST_SAMPLED_TIES < SAMPLES ? undefined : firstBit
}
