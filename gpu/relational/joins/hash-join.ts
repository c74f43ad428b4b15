import type { Device, Kernels } from '../../device/device.js'
import type { Scratch } from '../../memory/scratch.js'
import type { DeviceWord, KeyWords } from '../../primitives/primitives.js'
import type { DeviceWork } from '../query/device-work.js'
import type { JoinSide } from './join-types.js'
import type { Matches, Roles } from './matches.js'

/** Build keys of a partition on average, at most: far enough below the 1024 in workgroup memory that different ones never fill it. */
const PARTITION_KEYS = 768

/** Partitions as a power of two, at most: the bits above tell keys of a partition apart. */
const MOST_BITS = 20

/** Probes of an item; as in `hash-join.wesl`. */
const ITEM_PROBES = 4096

/** What a hash join finds, unless a partition has too many keys for it. */
export interface HashMatches extends Matches {
  /** Not 0 where one has. */
  readonly unfit: DeviceWord
}

/** The radix-partitioned hash join (`hash-join.wesl`). */
export class HashJoin {
  readonly #keyWords: KeyWords
  readonly #kernels: Kernels<'hash_keys' | 'find_partitions' | 'match_items'>

  constructor(device: Device, keyWords: KeyWords) {
    this.#keyWords = keyWords
    const entryPoints = ['hash_keys', 'find_partitions', 'match_items'] as const
    this.#kernels = device.kernels('relational/joins/hash-join', entryPoints, { wide: keyWords === 2 })
  }

  /** Brings sides, both of which have keys, in the order of partitions that suit the build side, and finds the runs that probes match. */
  record(work: DeviceWork, scratch: Scratch, sides: Roles<JoinSide>): HashMatches {
    const { recorder } = work
    const enough = Math.ceil(Math.log2(sides.build.count / PARTITION_KEYS))
    const bits = Math.min(MOST_BITS, Math.max(1, enough))
    const probe = this.#order(work, scratch, sides.probe, bits)
    const build = this.#order(work, scratch, sides.build, bits)
    const count = 2 ** bits
    const partitions = scratch.words(2 * (count + 1))
    const [items, itemsBefore] = [scratch.words(count), scratch.words(count + 1)]
    const unfit = { buffer: scratch.words(1), index: 0 }
    recorder.clear(unfit.buffer, 0, 4)
    const runs = { firsts: scratch.words(probe.count), counts: scratch.words(probe.count) }
    const grouped = scratch.words(build.count)
    const keys = { probeKeys: probe.keys, buildKeys: build.keys, unfit: unfit.buffer }
    const params = { probes: probe.count, count: build.count, bits }
    recorder.dispatch(this.#kernels.find_partitions, { ...keys, partitions, items }, params, count)
    const total = { buffer: itemsBefore, index: count }
    work.kernels.primitives.scan(recorder, scratch, items, itemsBefore, count, total)
    const rows = { buildRows: build.rows, groupedRows: grouped }
    const buffers = { ...keys, knownPartitions: partitions, itemsBefore, ...rows, ...runs }
    const mostItems = count + Math.floor(probe.count / ITEM_PROBES)
    recorder.dispatchGroups(this.#kernels.match_items, buffers, params, mostItems)
    const found = { probe: probe.rows, build: grouped }
    return { algorithm: 'hj', probes: probe.count, ...runs, rows: found, unfit }
  }

  /** The hashes of a side, and its rows beside them, in the order of their lowest bits, by passes of a radix sort. */
  #order(work: DeviceWork, scratch: Scratch, { keys, count }: JoinSide, bits: number) {
    const keyWords = this.#keyWords
    const hashes = scratch.words(count * keyWords)
    const quads = Math.ceil((count * keyWords) / 4)
    work.recorder.dispatch(this.#kernels.hash_keys, { keys, hashes }, { count: quads }, quads)
    work.moves({ read: 4 * count * keyWords, written: 4 * count * keyWords })
    const sorted = work.sort({ keys: hashes, values: undefined }, count, keyWords, { bits }, scratch)
    return { keys: sorted.keys, rows: sorted.values, count }
  }
}
