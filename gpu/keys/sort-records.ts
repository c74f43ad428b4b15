import type { Device, Kernels } from '../device/device.js'
import type { Recorder } from '../device/recorder.js'
import type { DeviceMemory } from '../memory/page-run.js'
import type { Scratch } from '../memory/scratch.js'
import type { DeviceWord, Primitives } from '../primitives/primitives.js'
import type { NormalKeys } from './normalise.js'

/** Members of the groups that are put in order by comparing each with each; a round of the radix sort costs about as much. */
const SMALL_GROUP = 16

/** Ties that were sorted, in their order. */
interface SortedTies {
  /** Place of each in the order of all keys. */
  readonly slots: DeviceMemory
  /** Key of each. */
  readonly keys: DeviceMemory
  /** Group of each. */
  readonly groups: DeviceMemory
  /** First tie of each group, and the words that its members share. */
  readonly spans: DeviceMemory
  /** The ties that are left, ascending. */
  readonly open: DeviceMemory
}

/** Ties that are to be sorted, group after group. */
interface Ties {
  readonly count: number
  /** Groups that there may be. */
  readonly mostGroups: number
  readonly slots: DeviceMemory
  /** Key of each. */
  readonly members: DeviceMemory
  /** Pivot of the group of each. */
  readonly pivots: DeviceMemory
  /** Group of each, numbered from 0 without gaps. */
  readonly groups: DeviceMemory
  /** Words that each shares with its group. */
  readonly depths: DeviceMemory
}

/** What is sorted, and the order as far as it is known: the number of the key at each place. */
interface Sort extends Pick<NormalKeys, 'heap' | 'records'> {
  readonly order: DeviceMemory
}

const KERNELS = ['collect_ties', 'part_ties', 'mark_ends', 'number_groups', 'settle_groups'] as const

/** Sorts keys of variable length by their records, without moving a byte of them (He et al. §5.7; `sort-records.wesl`). */
export class RecordSort {
  readonly #device: Device
  readonly #primitives: Primitives
  readonly #kernels: Kernels<(typeof KERNELS)[number]>

  constructor(device: Device, primitives: Primitives) {
    this.#device = device
    this.#primitives = primitives
    this.#kernels = device.kernels('keys/sort-records', KERNELS)
  }

  /**
   * Finds the stable order of keys in their normal form. Submits the recorder with the first round, and reads back after each
   * round how many keys are still tied: once for keys whose first bytes are random, and a number of times that grows with the
   * logarithm of the count, not with the lengths, for the worst. Heap and records must stay as they are until then.
   * @returns a buffer of the scratch memory with the number of the key at each place
   * @throws WarpdexError as `Device.read`
   */
  async sort(
    recorder: Recorder,
    scratch: Scratch,
    { heap, records }: Pick<NormalKeys, 'heap' | 'records'>,
    count: number,
  ): Promise<DeviceMemory> {
    const sort = { heap, records, order: scratch.words(count) }
    let before = this.#device.scratch()
    let after = this.#device.scratch()
    try {
      let sorted = this.#oneGroup(recorder, before, count)
      let left = count
      let mostGroups = 1
      for (let round = recorder; left > 0; round = this.#device.record()) {
        const total = { buffer: after.words(1), index: 0 }
        const ties = this.#collect(round, after, sorted, left, mostGroups)
        sorted = this.#round(round, after, sort, ties, total)
        const reading = this.#device.submitAndRead(round, [{ buffer: total.buffer, bytes: 4 }])
        // What is submitted has no more need of what the round before it left.
        before.release()
        ;[before, after] = [after, before]
        const [bytes] = await reading
        left = new DataView(bytes!.buffer, bytes!.byteOffset).getUint32(0, true)
        // Only large groups need another round.
        mostGroups = Math.floor(left / (SMALL_GROUP + 1))
      }
      if (count === 0) recorder.submit()
    } finally {
      before.release()
      after.release()
    }
    return sort.order
  }

  /** All keys as ties of one group, in the order in which they are. */
  #oneGroup(recorder: Recorder, scratch: Scratch, count: number): SortedTies {
    const positions = scratch.words(count)
    this.#primitives.iota(recorder, positions, count)
    const groups = scratch.words(count)
    this.#primitives.fill(recorder, groups, count, 0)
    const spans = scratch.words(4)
    this.#device.upload(spans, new Uint8Array(Uint32Array.of(0, 0, count, 0).buffer))
    return { slots: positions, keys: positions, groups, spans, open: positions }
  }

  /** Brings the ties that are left together and chooses their pivots. */
  #collect(
    recorder: Recorder,
    scratch: Scratch,
    { slots, keys, groups, spans, open }: SortedTies,
    count: number,
    mostGroups: number,
  ): Ties {
    const column = () => scratch.words(count)
    const ties = { slots: column(), members: column(), pivots: column(), depths: column(), groups: column() }
    // Nobody can know the pivots, and choose keys for which they are bad ones.
    const random = Math.floor(Math.random() * 2 ** 32)
    const buffers = {
      open,
      oldSlots: slots,
      oldKeys: keys,
      oldGroups: groups,
      oldSpans: spans,
      tieSlots: ties.slots,
      tieMembers: ties.members,
      tiePivots: ties.pivots,
      tieDepths: ties.depths,
      tieEnds: ties.groups,
    }
    recorder.dispatch(this.#kernels.collect_ties, buffers, { count, random }, count)
    this.#primitives.scan(recorder, scratch, ties.groups, ties.groups, count)
    return { count, mostGroups, ...ties }
  }

  /** Sorts ties, and counts in `total` those that are left then. */
  #round(
    recorder: Recorder,
    scratch: Scratch,
    { heap, records, order }: Sort,
    ties: Ties,
    total: DeviceWord,
  ): SortedTies {
    const kernels = this.#kernels
    const { count, slots, members, pivots, depths } = ties
    const heads = scratch.words(2 * count)
    const parted = { heap, records, members, pivots, sharedDepths: depths, newHeads: heads }
    recorder.dispatch(kernels.part_ties, parted, { count }, count)
    const sorted = this.#sortHeads(recorder, scratch, heads, ties)

    const groups = scratch.words(count)
    const ended = { sorted, heads, tieGroups: ties.groups, ends: groups }
    recorder.dispatch(kernels.mark_ends, ended, { count }, count)
    this.#primitives.scan(recorder, scratch, groups, groups, count)
    const keys = scratch.words(count)
    const spans = scratch.words(2 * (count + 1))
    const numbered = {
      sorted,
      sortedMembers: members,
      depths,
      groupsOf: groups,
      newKeys: keys,
      newSpans: spans,
    }
    recorder.dispatch(kernels.number_groups, numbered, { count }, count)

    const stillOpen = scratch.words(count)
    const settled = { heap, records, keys, groupsOf: groups, spans, slots, order, stillOpen }
    recorder.dispatch(kernels.settle_groups, settled, { count, small: SMALL_GROUP }, count)
    const open = scratch.words(count)
    this.#primitives.compact(recorder, scratch, stillOpen, count, open, total)
    return { slots, keys, groups, spans, open }
  }

  /** The order of ties by group and head. */
  #sortHeads(
    recorder: Recorder,
    scratch: Scratch,
    heads: DeviceMemory,
    { count, mostGroups, groups }: Ties,
  ): DeviceMemory {
    const { values: byHead } = this.#primitives.sort(recorder, scratch, heads, undefined, count, 2)
    if (mostGroups <= 1) return byHead
    const groupsByHead = scratch.words(count)
    this.#primitives.gather(recorder, groups, byHead, groupsByHead, count, 1)
    const bits = 32 - Math.clz32(mostGroups - 1)
    return this.#primitives.sort(recorder, scratch, groupsByHead, byHead, count, 1, { bits }).values
  }
}
