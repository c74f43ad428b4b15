import { WriteOp } from '../../protocol/types.js'
import type { Device } from '../device/device.js'
import type { Kernel } from '../device/kernel.js'
import type { IndexShape } from '../index-structure.js'
import type { Scratch } from '../memory/scratch.js'
import type { Arena } from '../prefix-tree/arena.js'
import { type TreeShape, treeShape } from '../prefix-tree/layout.js'
import type { Items } from '../prefix-tree/write/items.js'
import type { PreparedBatch } from '../prefix-tree/write/tree-writer.js'
import type { LeadingSort, Primitives, SortedPairs } from '../primitives/primitives.js'
import { DirectoryBuilder } from './directory.js'
import type { SortedPart } from './sorted-part.js'

type Kernels = Readonly<Record<'findDuplicates' | 'writeTuples', Kernel>>

/**
 * Makes an empty CSS-tree from a batch of inserts in a few passes: sort, write, directory (`bulk-build.wesl`; He §4.1). Only for
 * unsigned keys that are all different; others take the way of every write.
 */
export class BulkBuild {
  readonly #device: Device
  readonly #primitives: Primitives
  readonly #shape: TreeShape
  readonly #payloadBytes: number
  readonly #directories: DirectoryBuilder
  readonly #leadingSort: LeadingSort
  readonly #kernels: Kernels

  private constructor(
    device: Device,
    primitives: Primitives,
    index: IndexShape,
    directories: DirectoryBuilder,
    leadingSort: LeadingSort,
    kernels: Kernels,
  ) {
    this.#device = device
    this.#primitives = primitives
    this.#shape = treeShape(index)
    this.#payloadBytes = index.payloadBytes
    this.#directories = directories
    this.#leadingSort = leadingSort
    this.#kernels = kernels
  }

  /** @returns undefined for indexes that cannot be made so */
  static async create(
    device: Device,
    primitives: Primitives,
    index: IndexShape,
  ): Promise<BulkBuild | undefined> {
    const { conditions, tupleStride } = treeShape(index)
    if (!conditions.css || (index.keyType !== 'u32' && index.keyType !== 'u64')) return undefined
    const common = { module: 'css-tree/bulk-build', params: 3 }
    const inlined = isInlined(index.payloadBytes)
    const quads = tupleStride === 4
    const [directories, leadingSort, findDuplicates, writeTuples] = await Promise.all([
      DirectoryBuilder.create(device, treeShape(index)),
      primitives.leadingSort(),
      device.kernel({ ...common, entryPoint: 'find_duplicates', bindings: ['read', 'write'], conditions }),
      device.kernel({
        ...common,
        entryPoint: 'write_tuples',
        bindings: ['read', 'read'],
        further: [...(inlined ? [] : [[3, 'read'] as const]), [4, 'write']],
        conditions: { ...conditions, inlined, quads, paired: quads && index.payloadBytes === 8 },
      }),
    ])
    return new BulkBuild(device, primitives, index, directories, leadingSort, { findDuplicates, writeTuples })
  }

  /** Whether a batch may be what an empty tree is made from. */
  suits(arena: Arena, items: Items): boolean {
    return arena.tuples.records === 0 && items.op === WriteOp.insert
  }

  /**
   * Prepares a batch that suits. Takes over `scratch` unless it returns nothing.
   * @returns undefined where keys are equal
   * @throws WarpdexError `OUT_OF_DEVICE_MEMORY`
   */
  async prepare(scratch: Scratch, arena: Arena, items: Items): Promise<PreparedBatch | undefined> {
    const { count, keys } = items
    if (!('fixed' in keys)) return undefined
    const { findDuplicates } = this.#kernels
    const { keyWords, word } = this.#shape
    const params = [count, word, this.#payloadBytes]
    const sorting = this.#device.record()
    const values = isInlined(this.#payloadBytes) ? items.payloads : undefined
    const flags = scratch.words(2)
    sorting.clear(flags, 0, 8)
    const unsettled = { buffer: flags, index: 1 }
    const sorted =
      items.leading === undefined
        ? this.#primitives.sort(sorting, scratch, keys.fixed, values, count, keyWords)
        : this.#leadingSort.record(sorting, scratch, keys.fixed, values, count, items.leading, unsettled)
    sorting.dispatch(findDuplicates, [sorted.keys, flags], params, count)
    sorting.submit()
    const [duplicated, isUnsettled] = await this.#device.readWords(flags, 2)
    if (isUnsettled !== 0) return this.prepare(scratch, arena, { ...items, leading: undefined })
    if (duplicated !== 0) return undefined
    await arena.reserve({ nodes: 0, tuples: count, extentWords: 0, sorted: count })
    const part = await arena.provideSorted(count)
    return {
      codes: new Uint8Array(count),
      effect: {
        tuplesCreated: count,
        tuplesRemoved: 0,
        payloadsAdded: count,
        payloadsRemoved: 0,
        garbageBytes: 0,
      },
      apply: () => {
        try {
          this.#apply(arena, part, items, sorted, params)
        } finally {
          scratch.release()
        }
      },
      discard: () => {
        part.destroy()
        scratch.release()
      },
    }
  }

  #apply(arena: Arena, part: SortedPart, items: Items, sorted: SortedPairs, params: readonly number[]): void {
    const { count } = items
    arena.takeTuples(count)
    arena.replaceSorted(part)
    const payloads = isInlined(this.#payloadBytes) ? [] : [items.payloads]
    const buffers = [sorted.keys, sorted.values, ...payloads, arena.tuples.buffer]
    const recorder = this.#device.record()
    recorder.dispatch(this.#kernels.writeTuples, buffers, params, count)
    this.#directories.record(recorder, arena)
    recorder.submit()
  }
}

/** Whether a payload is one word of a column, which the sort takes along. */
function isInlined(payloadBytes: number): boolean {
  return payloadBytes === 4
}
