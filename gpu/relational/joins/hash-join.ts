import type { Device, Kernels } from '../../device/device.js'
import type { Recorder } from '../../device/recorder.js'
import type { Scratch } from '../../memory/scratch.js'
import type { DeviceWord, KeyWords, Primitives } from '../../primitives/primitives.js'
import { type DeviceWork, movedToSort } from '../query/device-work.js'
import type { JoinSide } from './join-types.js'
import type { Matches, Roles } from './matches.js'
import type { Tallies } from './tally.js'

/** Build keys of a partition on average, at most: far enough below the 1024 of a chunk that random keys never fill one. */
const PARTITION_KEYS = 768

/** Partitions as a power of two, at most: the bits above tell keys of a partition apart. */
const MOST_BITS = 20

/** Probes of an item; as in `hash-join.wesl`. */
const ITEM_PROBES = 4096

/** Probes get no more numbers than this many times theirs by partitions that are cut: past it too much would be compared in vain. */
const MOST_NUMBERS_A_PROBE = 4

/** Both sides in the order of their partitions, and where these begin. */
export interface Partitioned {
  readonly sides: Roles<{ readonly keys: GPUBuffer; readonly rows: GPUBuffer; readonly count: number }>
  /** Partitions as a power of two. */
  readonly bits: number
  readonly partitions: GPUBuffer
  /** Of each partition its items, as if none were to be cut. */
  readonly items: GPUBuffer
  /** Chunks of a partition, at most; 0 where no partition has several. */
  readonly mostChunks: DeviceWord
}

/** What the workgroups that match have to do. */
interface Items {
  readonly before: GPUBuffer
  /** At least as many as there are. */
  readonly count: number
}

/** The radix-partitioned hash join (`hash-join.wesl`). */
export class HashJoin {
  readonly #primitives: Primitives
  readonly #tallies: Tallies
  readonly #keyWords: KeyWords
  readonly #kernels: Kernels<
    'hash_keys' | 'find_partitions' | 'cut_partitions' | 'match_items' | 'match_chunks'
  >

  constructor(device: Device, primitives: Primitives, tallies: Tallies, keyWords: KeyWords) {
    this.#primitives = primitives
    this.#tallies = tallies
    this.#keyWords = keyWords
    this.#kernels = device.kernels(
      'relational/joins/hash-join',
      ['hash_keys', 'find_partitions', 'cut_partitions', 'match_items', 'match_chunks'],
      { wide: keyWords === 2 },
    )
  }

  /** Brings sides, both of which have keys, in the order of partitions that suit the build side. */
  partition(work: DeviceWork, scratch: Scratch, { probe, build }: Roles<JoinSide>): Partitioned {
    const enough = Math.ceil(Math.log2(build.count / PARTITION_KEYS))
    const bits = Math.min(MOST_BITS, Math.max(1, enough))
    const sides = {
      probe: this.#order(work, scratch, probe, bits),
      build: this.#order(work, scratch, build, bits),
    }
    const partitions = scratch.words(2 * (2 ** bits + 1))
    const items = scratch.words(2 ** bits)
    const { recorder } = work
    const mostChunks = { buffer: scratch.words(1), index: 0 }
    recorder.clear(mostChunks.buffer, 0, 4)
    const keys = { probeKeys: sides.probe.keys, buildKeys: sides.build.keys }
    const buffers = { ...keys, partitions, items, mostChunks: mostChunks.buffer }
    const params = { probes: probe.count, count: build.count, bits }
    recorder.dispatch(this.#kernels.find_partitions, buffers, params, 2 ** bits)
    return { sides, bits, partitions, items, mostChunks }
  }

  /** Finds the runs that probes match; of partitions that are to be cut only some. */
  match(recorder: Recorder, scratch: Scratch, partitioned: Partitioned): Matches {
    const { sides, bits } = partitioned
    const { count, rows } = sides.probe
    const items = {
      before: this.#itemsBefore(recorder, scratch, partitioned.items, bits),
      count: 2 ** bits + Math.floor(count / ITEM_PROBES),
    }
    return this.#record(recorder, scratch, partitioned, items, { numbers: count, rows })
  }

  /**
   * Finds all runs where partitions are to be cut. Waits once, for their sizes.
   * @returns undefined where that would be too much work: there are too many equal keys for a hash join
   */
  async matchChunks(
    work: DeviceWork,
    scratch: Scratch,
    partitioned: Partitioned,
  ): Promise<Matches | undefined> {
    const { sides, bits, partitions } = partitioned
    const count = 2 ** bits
    const items = scratch.words(count)
    const probeNumbers = scratch.words(count)
    const buffers = { knownPartitions: partitions, items, probeNumbers }
    const { recorder } = work
    recorder.dispatch(this.#kernels.cut_partitions, buffers, { bits }, count)
    const before = this.#itemsBefore(recorder, scratch, items, bits)
    const [ofItems, ofNumbers] = await this.#tallies.read(work, scratch, [
      { counts: items, count },
      { counts: probeNumbers, count },
    ])
    const numbers = ofNumbers!.sum
    if (numbers > MOST_NUMBERS_A_PROBE * Math.max(sides.probe.count, sides.build.count)) return undefined
    const numbersBefore = scratch.words(count)
    this.#primitives.scan(work.recorder, scratch, probeNumbers, numbersBefore, count)
    const output = { numbers, numbersBefore, rows: scratch.words(numbers) }
    return this.#record(work.recorder, scratch, partitioned, { before, count: ofItems!.sum }, output)
  }

  /** The hashes of a side, and its rows beside them, in the order of their lowest bits, by passes of a radix sort. */
  #order(work: DeviceWork, scratch: Scratch, { keys, count }: JoinSide, bits: number) {
    const keyWords = this.#keyWords
    const hashes = scratch.words(count * keyWords)
    const quads = Math.ceil((count * keyWords) / 4)
    work.recorder.dispatch(this.#kernels.hash_keys, { keys, hashes }, { count: quads }, quads)
    work.moves({ read: 4 * count * keyWords, written: 4 * count * keyWords })
    const sorted = this.#primitives.sort(work.recorder, scratch, hashes, undefined, count, keyWords, { bits })
    work.moves(movedToSort(count, keyWords, { bits }))
    return { keys: sorted.keys, rows: sorted.values, count }
  }

  #itemsBefore(recorder: Recorder, scratch: Scratch, items: GPUBuffer, bits: number): GPUBuffer {
    const count = 2 ** bits
    const before = scratch.words(count + 1)
    this.#primitives.scan(recorder, scratch, items, before, count, { buffer: before, index: count })
    return before
  }

  /** @param output with `numbersBefore` probes have numbers for each chunk, and `rows` gets theirs */
  #record(
    recorder: Recorder,
    scratch: Scratch,
    { sides: { probe, build }, bits, partitions }: Partitioned,
    items: Items,
    output: { readonly numbers: number; readonly rows: GPUBuffer; readonly numbersBefore?: GPUBuffer },
  ): Matches {
    const { numbers, rows, numbersBefore } = output
    const { match_chunks, match_items } = this.#kernels
    const grouped = scratch.words(build.count)
    const runs = { firsts: scratch.words(numbers), counts: scratch.words(numbers) }
    const buffers = {
      probeKeys: probe.keys,
      buildKeys: build.keys,
      knownPartitions: partitions,
      itemsBefore: items.before,
      buildRows: build.rows,
      groupedRows: grouped,
      ...runs,
      numbersBefore,
      probeRows: probe.rows,
      numberedRows: rows,
    }
    const kernel = numbersBefore === undefined ? match_items : match_chunks
    const params = { probes: probe.count, count: build.count, bits }
    recorder.dispatchGroups(kernel, buffers, params, items.count)
    const found = { probe: rows, build: grouped }
    return { algorithm: 'hj', probes: numbers, ...runs, rows: found }
  }
}
