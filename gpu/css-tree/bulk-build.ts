import { WriteOp } from '../../protocol/types.js'
import type { Device } from '../device/device.js'
import type { Kernel } from '../device/kernel.js'
import type { IndexShape } from '../index-structure.js'
import type { Scratch } from '../memory/scratch.js'
import type { Arena } from '../prefix-tree/arena.js'
import { type TreeShape, treeShape } from '../prefix-tree/layout.js'
import type { Items } from '../prefix-tree/write/items.js'
import type { PreparedBatch } from '../prefix-tree/write/tree-writer.js'
import type { Primitives } from '../primitives/primitives.js'
import { DirectoryBuilder } from './directory.js'

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
  readonly #kernels: Kernels

  private constructor(
    device: Device,
    primitives: Primitives,
    index: IndexShape,
    directories: DirectoryBuilder,
    kernels: Kernels,
  ) {
    this.#device = device
    this.#primitives = primitives
    this.#shape = treeShape(index)
    this.#payloadBytes = index.payloadBytes
    this.#directories = directories
    this.#kernels = kernels
  }

  /** @returns undefined for indexes that cannot be made so */
  static async create(
    device: Device,
    primitives: Primitives,
    index: IndexShape,
  ): Promise<BulkBuild | undefined> {
    const { conditions } = treeShape(index)
    if (!conditions.css || (index.keyType !== 'u32' && index.keyType !== 'u64')) return undefined
    const common = { module: 'css-tree/bulk-build', params: 3 }
    const inlined = isInlined(index.payloadBytes)
    const [directories, findDuplicates, writeTuples] = await Promise.all([
      DirectoryBuilder.create(device, treeShape(index)),
      device.kernel({ ...common, entryPoint: 'find_duplicates', bindings: ['read', 'write'], conditions }),
      device.kernel({
        ...common,
        entryPoint: 'write_tuples',
        bindings: ['read', 'read'],
        further: [...(inlined ? [] : [[3, 'read'] as const]), [4, 'write']],
        conditions: { ...conditions, inlined },
      }),
    ])
    return new BulkBuild(device, primitives, index, directories, { findDuplicates, writeTuples })
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
    const { count } = items
    const { findDuplicates, writeTuples } = this.#kernels
    const { keyWords, word } = this.#shape
    const inlined = isInlined(this.#payloadBytes)
    const params = [count, word, this.#payloadBytes]
    const sorting = this.#device.record()
    const values = inlined ? items.payloads : undefined
    const sorted = this.#primitives.sort(sorting, scratch, items.keys, values, count, keyWords)
    const duplicates = scratch.words(1)
    sorting.clear(duplicates, 0, 4)
    sorting.dispatch(findDuplicates, [sorted.keys, duplicates], params, count)
    sorting.submit()
    // Allocating takes the host as long as sorting takes the device.
    await arena.reserve({ nodes: 0, tuples: count, extentWords: 0 })
    const [duplicated] = await this.#device.readWords(duplicates, 1)
    if (duplicated !== 0) return undefined
    const part = await arena.provideSorted(this.#shape, count)
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
        arena.takeTuples(count)
        arena.replaceSorted(part)
        const payloads = inlined ? [] : [items.payloads]
        const recorder = this.#device.record()
        recorder.dispatch(
          writeTuples,
          [sorted.keys, sorted.values, ...payloads, arena.tuples.buffer],
          params,
          count,
        )
        this.#directories.record(recorder, arena)
        recorder.submit()
        scratch.release()
      },
      discard: () => {
        part.destroy()
        scratch.release()
      },
    }
  }
}

/** Whether a payload is one word of a column, which the sort takes along. */
function isInlined(payloadBytes: number): boolean {
  return payloadBytes === 4
}
