import type { Device } from '../device/device.js'
import type { Kernel } from '../device/kernel.js'
import type { Recorder } from '../device/recorder.js'
import type { Scratch } from '../memory/scratch.js'
import type { DeviceWord, Primitives } from '../primitives/primitives.js'
import type { NormalKeys } from './normalise.js'

/** Members of the groups that are put in order by comparing each with each; a round of the radix sort costs about as much. */
const SMALL_GROUP = 16

/** Words that the members of a group share before they were looked at; the kernels have the same number. */
const NOT_SHORTER = 0xffff

/** Ties that were sorted, in their order. */
interface SortedTies {
  /** Place of each in the order of all keys. */
  readonly slots: GPUBuffer
  /** Group of each. */
  readonly groups: GPUBuffer
  /** Words that the members of each group share. */
  readonly prefixes: GPUBuffer
  /** The ties that are left, ascending. */
  readonly open: GPUBuffer
}

/** Ties that are to be sorted, group after group. */
interface Ties {
  readonly count: number
  readonly slots: GPUBuffer
  /** Key of each. */
  readonly members: GPUBuffer
  /** Group of each, numbered from 0 without gaps. */
  readonly groups: GPUBuffer
  /** Words that each shares with its group. */
  readonly depths: GPUBuffer
}

/** What is sorted, and the order as far as it is known: the number of the key at each place. */
interface Sort extends Pick<NormalKeys, 'heap' | 'records'> {
  readonly order: GPUBuffer
}

type Kernels = Readonly<
  Record<'collectTies' | 'takeHeads' | 'markEnds' | 'numberGroups' | 'sharePrefixes' | 'settleGroups', Kernel>
>

/** Sorts keys of variable length by their records, without moving a byte of them (He et al. §5.7; `sort-records.wesl`). */
export class RecordSort {
  readonly #device: Device
  readonly #primitives: Primitives
  readonly #kernels: Kernels

  private constructor(device: Device, primitives: Primitives, kernels: Kernels) {
    this.#device = device
    this.#primitives = primitives
    this.#kernels = kernels
  }

  static async create(device: Device, primitives: Primitives): Promise<RecordSort> {
    const kernel = (entryPoint: string, reads: number, writes: number) =>
      device.kernel({
        module: 'keys/sort-records',
        entryPoint,
        bindings: [...Array<'read'>(reads).fill('read'), ...Array<'write'>(writes).fill('write')],
        params: 2,
      })
    const [collectTies, takeHeads, markEnds, numberGroups, sharePrefixes, settleGroups] = await Promise.all([
      kernel('collect_ties', 5, 4),
      kernel('take_heads', 4, 1),
      kernel('mark_ends', 3, 1),
      kernel('number_groups', 4, 3),
      kernel('share_prefixes', 5, 1),
      kernel('settle_groups', 7, 2),
    ])
    return new RecordSort(device, primitives, {
      collectTies,
      takeHeads,
      markEnds,
      numberGroups,
      sharePrefixes,
      settleGroups,
    })
  }

  /**
   * Finds the stable order of keys in their normal form. Submits the recorder with the first round, and reads back after each
   * round how many keys are still tied: once where heads of eight bytes, taken behind the prefix that all keys share, leave
   * groups of `SMALL_GROUP` keys at most, and at most once for every eight bytes of the longest key.
   * @returns a buffer of the scratch memory with the number of the key at each place
   */
  async sort(
    recorder: Recorder,
    scratch: Scratch,
    { heap, records }: Pick<NormalKeys, 'heap' | 'records'>,
    count: number,
  ): Promise<GPUBuffer> {
    const sort = { heap, records, order: scratch.words(count) }
    this.#primitives.iota(recorder, sort.order, count)
    if (count <= 1) {
      recorder.submit()
      return sort.order
    }
    let before = this.#device.scratch()
    let after = this.#device.scratch()
    try {
      let sorted = this.#shareAll(recorder, before, sort, count)
      let left = count
      let groups = 1
      for (let round = recorder; left > 0; round = this.#device.record()) {
        const total = { buffer: after.words(1), index: 0 }
        sorted = this.#round(round, after, sort, sorted, left, groups, total)
        const reading = this.#device.submitAndRead(round, [{ buffer: total.buffer, bytes: 4 }])
        // What is submitted has no more need of what the round before it left.
        before.release()
        ;[before, after] = [after, before]
        const [bytes] = await reading
        left = new DataView(bytes!.buffer, bytes!.byteOffset).getUint32(0, true)
        // Only large groups need another round.
        groups = Math.floor(left / (SMALL_GROUP + 1))
      }
    } finally {
      before.release()
      after.release()
    }
    return sort.order
  }

  /** All keys as one group of ties, in the order in which they are. */
  #shareAll(recorder: Recorder, scratch: Scratch, { heap, records }: Sort, count: number): SortedTies {
    const positions = scratch.words(count)
    this.#primitives.iota(recorder, positions, count)
    const groups = scratch.words(count)
    this.#primitives.fill(recorder, groups, count, 0)
    const prefixes = scratch.words(1)
    this.#primitives.fill(recorder, prefixes, 1, NOT_SHORTER)
    const spans = scratch.words(4)
    this.#device.upload(spans, new Uint8Array(Uint32Array.of(0, 0, count, 0).buffer))
    const buffers = [heap, records, positions, groups, spans, prefixes]
    recorder.dispatch(this.#kernels.sharePrefixes, buffers, [count], count)
    return { slots: positions, groups, prefixes, open: positions }
  }

  /** Sorts the ties that are left, and counts in `total` those that are left then. */
  #round(
    recorder: Recorder,
    scratch: Scratch,
    sort: Sort,
    before: SortedTies,
    count: number,
    mostGroups: number,
    total: DeviceWord,
  ): SortedTies {
    const { numberGroups, sharePrefixes, settleGroups } = this.#kernels
    const { heap, records, order } = sort
    const ties = this.#collect(recorder, scratch, before, order, count)
    const { sorted, groups } = this.#sortHeads(recorder, scratch, sort, ties, mostGroups)

    const keys = scratch.words(count)
    const spans = scratch.words(2 * (count + 1))
    const prefixes = scratch.words(count)
    const inputs = [sorted, ties.members, ties.depths, groups]
    recorder.dispatch(numberGroups, [...inputs, keys, spans, prefixes], [count], count)
    const grouped = [heap, records, keys, groups, spans, prefixes]
    recorder.dispatch(sharePrefixes, grouped, [count], count)

    const stillOpen = scratch.words(count)
    const outputs = [order, stillOpen]
    recorder.dispatch(settleGroups, [...grouped, ties.slots, ...outputs], [count, SMALL_GROUP], count)
    const open = scratch.words(count)
    this.#primitives.compact(recorder, scratch, stillOpen, count, open, total)
    return { slots: ties.slots, groups, prefixes, open }
  }

  #collect(
    recorder: Recorder,
    scratch: Scratch,
    { slots, groups, prefixes, open }: SortedTies,
    order: GPUBuffer,
    count: number,
  ): Ties {
    const column = () => scratch.words(count)
    const ties = { count, slots: column(), members: column(), depths: column(), groups: column() }
    const outputs = [ties.slots, ties.members, ties.depths, ties.groups]
    const buffers = [open, slots, order, groups, prefixes, ...outputs]
    recorder.dispatch(this.#kernels.collectTies, buffers, [count], count)
    this.#primitives.scan(recorder, scratch, ties.groups, ties.groups, count)
    return ties
  }

  /** Sorts ties by group and head, and groups those whose heads are equal. */
  #sortHeads(
    recorder: Recorder,
    scratch: Scratch,
    { heap, records }: Sort,
    { count, members, groups: oldGroups, depths }: Ties,
    mostGroups: number,
  ): { sorted: GPUBuffer; groups: GPUBuffer } {
    const { takeHeads, markEnds } = this.#kernels
    const heads = scratch.words(2 * count)
    recorder.dispatch(takeHeads, [heap, records, members, depths, heads], [count], count)
    let sorted = this.#primitives.sort(recorder, scratch, heads, undefined, count, 2).values
    if (mostGroups > 1) {
      const keys = scratch.words(count)
      this.#primitives.gather(recorder, oldGroups, sorted, keys, count, 1)
      const bits = 32 - Math.clz32(mostGroups - 1)
      sorted = this.#primitives.sort(recorder, scratch, keys, sorted, count, 1, { bits }).values
    }
    const groups = scratch.words(count)
    recorder.dispatch(markEnds, [sorted, heads, oldGroups, groups], [count], count)
    this.#primitives.scan(recorder, scratch, groups, groups, count)
    return { sorted, groups }
  }
}
