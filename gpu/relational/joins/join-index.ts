import type { Device } from '../../device/device.js'
import type { Kernel } from '../../device/kernel.js'
import type { Recorder } from '../../device/recorder.js'
import type { Scratch } from '../../memory/scratch.js'
import type { KeyWords } from '../../primitives/primitives.js'
import { columnConditions } from '../columns.js'

/** Keys of a node as a power of two; `join-index.wesl` has the same numbers. */
const FANOUT_BITS = { 1: 5, 2: 4 }
const HEADER_ENTRIES = 8

/** A sorted column of keys, their rows, and the directory over them (`join-index.wesl`; He §3.2, §4.1). */
export interface IndexColumns {
  readonly keyWords: KeyWords
  readonly count: number
  readonly keys: GPUBuffer
  /** Undefined where a key's place is its row. */
  readonly rows: GPUBuffer | undefined
  readonly directory: GPUBuffer
  /** Places of first keys, and the number of buckets as a power of two. */
  readonly buckets: GPUBuffer
  readonly bucketBits: number
}

/** The least and the greatest key of an index. */
export type KeyEnds = readonly [least: bigint, greatest: bigint]

/** An index that is kept for several joins, in buffers of its own. */
export class JoinIndex implements IndexColumns {
  readonly keyWords: KeyWords
  readonly count: number
  readonly keys: GPUBuffer
  readonly rows: GPUBuffer
  readonly directory: GPUBuffer
  readonly buckets: GPUBuffer
  readonly bucketBits: number
  /** Undefined of an index without keys. */
  readonly ends: KeyEnds | undefined

  /** @param columns are the index's from now on */
  constructor(columns: IndexColumns & { readonly rows: GPUBuffer }, ends: KeyEnds | undefined) {
    this.keyWords = columns.keyWords
    this.count = columns.count
    this.keys = columns.keys
    this.rows = columns.rows
    this.directory = columns.directory
    this.buckets = columns.buckets
    this.bucketBits = columns.bucketBits
    this.ends = ends
  }

  destroy(): void {
    this.keys.destroy()
    this.rows.destroy()
    this.directory.destroy()
    this.buckets.destroy()
  }
}

interface Level {
  readonly first: number
  /** Entries of all of its nodes, those past the last child included. */
  readonly places: number
}

/** Levels of the directory over so many keys, the one above the leaves first. */
export function planLevels(keyWords: KeyWords, count: number): readonly Level[] {
  const fanout = 2 ** FANOUT_BITS[keyWords]
  const levels: Level[] = []
  let first = HEADER_ENTRIES
  let children = Math.ceil(count / fanout)
  while (children > 0) {
    const nodes = Math.ceil(children / fanout)
    levels.push({ first, places: nodes * fanout })
    first += nodes * fanout
    children = nodes === 1 ? 0 : nodes
  }
  return levels
}

/** u32 words of the directory over so many keys. */
export function directoryWords(keyWords: KeyWords, count: number): number {
  const top = planLevels(keyWords, count).at(-1)
  return keyWords * (top === undefined ? HEADER_ENTRIES : top.first + top.places)
}

/** Keys of a bucket on average, at least, as a power of two: a search of so few takes three steps, in one or two sectors of memory. */
const BUCKET_KEYS_BITS = 3

/** Buckets over so many keys, as a power of two. */
function bucketBits(count: number): number {
  return Math.max(0, Math.floor(Math.log2(Math.max(1, count))) - BUCKET_KEYS_BITS)
}

/** Builds directories over sorted columns. */
export class DirectoryBuilder {
  readonly #keyWords: KeyWords
  readonly #buildLevel: Kernel
  readonly #findBuckets: Kernel

  private constructor(keyWords: KeyWords, buildLevel: Kernel, findBuckets: Kernel) {
    this.#keyWords = keyWords
    this.#buildLevel = buildLevel
    this.#findBuckets = findBuckets
  }

  static async create(device: Device, keyWords: KeyWords): Promise<DirectoryBuilder> {
    const kernel = (entryPoint: string) =>
      device.kernel({
        module: 'relational/joins/join-index',
        entryPoint,
        firstBinding: 1,
        bindings: ['read', 'write'],
        params: 4,
        conditions: columnConditions({ keyWords, payloadWords: 0 }),
      })
    const [buildLevel, findBuckets] = await Promise.all([kernel('build_level'), kernel('find_buckets')])
    return new DirectoryBuilder(keyWords, buildLevel, findBuckets)
  }

  /** @returns scratch buffers with the directory and the buckets over sorted keys */
  record(
    recorder: Recorder,
    scratch: Scratch,
    keys: GPUBuffer,
    count: number,
  ): Pick<IndexColumns, 'directory' | 'buckets' | 'bucketBits'> {
    const directory = scratch.words(directoryWords(this.#keyWords, count))
    planLevels(this.#keyWords, count).forEach(({ first, places }, i) => {
      recorder.dispatch(this.#buildLevel, [keys, directory], [count, i + 1, first, places], places)
    })
    const bits = bucketBits(count)
    const places = 2 ** bits + 1
    const buckets = scratch.words(places)
    if (count > 0) recorder.dispatch(this.#findBuckets, [keys, buckets], [count, bits, 0, 0], places)
    return { directory, buckets, bucketBits: bits }
  }
}
