import type { Device } from '../../device/device.js'
import type { Kernel, NumberedBinding } from '../../device/kernel.js'
import type { Recorder } from '../../device/recorder.js'
import type { Scratch } from '../../memory/scratch.js'
import type { KeyWords, Primitives } from '../../primitives/primitives.js'
import { columnConditions } from '../columns.js'
import type { JoinSide } from './join-types.js'
import type { Roles, Uncounted } from './matches.js'
import type { Tallies } from './tally.js'

/** Build keys of a partition on average, at most: far enough below the 1024 of a chunk that random keys never fill one. */
const PARTITION_KEYS = 768

/** Partitions as a power of two, at most: the bits above tell keys of a partition apart. */
const MOST_BITS = 20

/** Probes get no more numbers than this many times theirs by partitions that are cut: past it too much would be compared in vain. */
const MOST_NUMBERS_A_PROBE = 4

/** A side in the order of its partitions. */
interface Partitioned {
  readonly keys: GPUBuffer
  readonly rows: GPUBuffer
  readonly count: number
}

/** Where partitions begin, and what has to be done for them. */
interface Plan {
  readonly bits: number
  readonly partitions: GPUBuffer
  readonly itemsBefore: GPUBuffer
  readonly items: number
  /** Of each partition the numbers of the probes before; undefined where each probe has one. */
  readonly numbersBefore: GPUBuffer | undefined
  readonly numbers: number
}

/** The radix-partitioned hash join (`hash-join.wesl`). */
export class HashJoin {
  readonly #device: Device
  readonly #primitives: Primitives
  readonly #tallies: Tallies
  readonly #keyWords: KeyWords
  readonly #hashKeys: Kernel
  readonly #findPartitions: Kernel

  private constructor(
    device: Device,
    primitives: Primitives,
    tallies: Tallies,
    keyWords: KeyWords,
    hashKeys: Kernel,
    findPartitions: Kernel,
  ) {
    this.#device = device
    this.#primitives = primitives
    this.#tallies = tallies
    this.#keyWords = keyWords
    this.#hashKeys = hashKeys
    this.#findPartitions = findPartitions
  }

  static async create(
    device: Device,
    primitives: Primitives,
    tallies: Tallies,
    keyWords: KeyWords,
  ): Promise<HashJoin> {
    const common = describe(keyWords, false)
    const [hashKeys, findPartitions] = await Promise.all([
      device.kernel({ ...common, entryPoint: 'hash_keys', bindings: ['read', 'write'] }),
      device.kernel({
        ...common,
        entryPoint: 'find_partitions',
        bindings: ['read', 'read', 'write', 'write', 'write'],
      }),
    ])
    return new HashJoin(device, primitives, tallies, keyWords, hashKeys, findPartitions)
  }

  /**
   * Finds the runs that probes match. Both sides have keys. Waits once, for the sizes of partitions.
   * @param begun what was recorded is submitted
   * @param partitionBits partitions as a power of two; as many as suit the build side unless given
   * @returns undefined where cutting partitions would be too much work: there are too many equal keys for a hash join
   */
  async match(
    begun: Recorder,
    scratch: Scratch,
    sides: Roles<JoinSide>,
    partitionBits?: number,
  ): Promise<{ readonly recorder: Recorder; readonly matches: Uncounted } | undefined> {
    const enough = Math.ceil(Math.log2(sides.build.count / PARTITION_KEYS))
    const bits = Math.min(MOST_BITS, Math.max(1, partitionBits ?? enough))
    const probe = this.#partition(begun, scratch, sides.probe, bits)
    const build = this.#partition(begun, scratch, sides.build, bits)
    const plan = await this.#plan(begun, scratch, { probe, build }, bits)
    if (plan === undefined) return undefined
    const recorder = scratch.record()
    return { recorder, matches: await this.#matchItems(recorder, scratch, { probe, build }, plan) }
  }

  /** Brings the hashes of a side, and the rows beside them, in the order of their lowest bits, by passes of a radix sort. */
  #partition(recorder: Recorder, scratch: Scratch, side: JoinSide, bits: number): Partitioned {
    const { keys, rows, count } = side
    const keyWords = this.#keyWords
    const hashes = scratch.words(count * keyWords)
    const quads = Math.ceil((count * keyWords) / 4)
    recorder.dispatch(this.#hashKeys, [keys, hashes], [0, quads, bits], quads)
    const sorted = this.#primitives.sort(recorder, scratch, hashes, rows, count, keyWords, { bits })
    return { keys: sorted.keys, rows: sorted.values, count }
  }

  async #plan(
    recorder: Recorder,
    scratch: Scratch,
    { probe, build }: Roles<Partitioned>,
    bits: number,
  ): Promise<Plan | undefined> {
    const count = 2 ** bits
    const partitions = scratch.words(2 * (count + 1))
    const items = scratch.words(count)
    const numbers = scratch.words(count)
    const buffers = [probe.keys, build.keys, partitions, items, numbers]
    recorder.dispatch(this.#findPartitions, buffers, [probe.count, build.count, bits], count)
    const itemsBefore = scratch.words(count + 1)
    const total = { buffer: itemsBefore, index: count }
    this.#primitives.scan(recorder, scratch, items, itemsBefore, count, total)
    const [itemTally, numberTally] = await this.#tallies.submit(recorder, scratch, [
      { counts: items, count },
      { counts: numbers, count },
    ])
    const plan = { bits, partitions, itemsBefore, items: itemTally!.sum, numbers: numberTally!.sum }
    if (plan.numbers === probe.count) return { ...plan, numbersBefore: undefined }
    if (plan.numbers > MOST_NUMBERS_A_PROBE * Math.max(probe.count, build.count)) return undefined
    const numbersBefore = scratch.words(count)
    const scanning = scratch.record()
    this.#primitives.scan(scanning, scratch, numbers, numbersBefore, count)
    scanning.submit()
    return { ...plan, numbersBefore }
  }

  async #matchItems(
    recorder: Recorder,
    scratch: Scratch,
    { probe, build }: Roles<Partitioned>,
    { bits, partitions, itemsBefore, items, numbersBefore, numbers }: Plan,
  ): Promise<Uncounted> {
    const isCut = numbersBefore !== undefined
    const kernel = await this.#device.kernel(matchItemsKernel(this.#keyWords, isCut))
    const grouped = scratch.words(build.count)
    const firsts = scratch.words(numbers)
    const counts = scratch.words(numbers)
    const rows = isCut ? scratch.words(numbers) : probe.rows
    const buffers = [
      probe.keys,
      build.keys,
      partitions,
      itemsBefore,
      ...(isCut ? [numbersBefore] : []),
      build.rows,
      grouped,
      firsts,
      counts,
      ...(isCut ? [probe.rows, rows] : []),
    ]
    recorder.dispatchGroups(kernel, buffers, [probe.count, build.count, bits], items)
    const found = { probe: rows, build: grouped }
    return { algorithm: 'hj', probes: numbers, counts, firsts, rows: found, period: numbers }
  }
}

function describe(keyWords: KeyWords, chunks: boolean) {
  return {
    module: 'relational/joins/hash-join',
    params: 3,
    conditions: { ...columnConditions({ keyWords, payloadWords: 0 }), chunks },
  }
}

function matchItemsKernel(keyWords: KeyWords, chunks: boolean) {
  const further: readonly NumberedBinding[] = [
    ...(chunks ? ([[4, 'read']] as const) : []),
    [5, 'read'],
    [6, 'write'],
    [7, 'write'],
    [8, 'write'],
    ...(chunks
      ? ([
          [9, 'read'],
          [10, 'write'],
        ] as const)
      : []),
  ]
  const bindings = ['read', 'read', 'read', 'read'] as const
  return { ...describe(keyWords, chunks), entryPoint: 'match_items', bindings, further }
}
