import type { Kernel } from '../../device/kernel.js'
import type { Recorder } from '../../device/recorder.js'
import type { GetResult } from '../../index-structure.js'
import type { ResultMemory } from '../../memory/result-memory.js'
import type { Scratch } from '../../memory/scratch.js'
import type { Arena } from '../arena.js'
import { hasDirectory } from '../delta/directory.js'
import { furtherBindings } from '../layout.js'
import { directedBindings, directedBuffers, directedParams } from '../partitions/directed.js'
import type { Ready } from '../partitions/locator.js'
import type { NarrowPayloads } from './narrow-payloads.js'
import { bitmapBytes, type Queries, type ReadContext, TREE } from './read-context.js'

interface Kernels {
  readonly fromRoot: Kernel
  /** Begins where the tree's directory says; only where trees may have one. */
  readonly topped: Kernel | undefined
  /** For keys that were located before, and by directed traversal; only where trees have partitions. */
  readonly located: Kernel | undefined
  readonly directed: Kernel | undefined
}

/** Where some keys of a column, and their answers, are. */
export interface PlaceInColumns {
  /** Number of the first key, and of its payload. */
  readonly first: number
  /** Word of the found bits in which the first one is the lowest. */
  readonly firstWord: number
}

const BEGINNING: PlaceInColumns = { first: 0, firstWord: 0 }

/** The first payload of each key. */
export class Get {
  readonly #context: ReadContext
  readonly #narrow: NarrowPayloads
  readonly #serial: boolean
  readonly #kernels: Kernels

  private constructor(context: ReadContext, narrow: NarrowPayloads, serial: boolean, kernels: Kernels) {
    this.#context = context
    this.#narrow = narrow
    this.#serial = serial
    this.#kernels = kernels
  }

  /** @param serial whether one thread answers 32 keys, which suits CPUs */
  static async create(
    context: ReadContext,
    narrow: NarrowPayloads,
    serial = context.device.facts.software,
  ): Promise<Get> {
    const { device, tree, locator } = context
    const { css, variable } = tree.conditions
    const kernel = (condition?: 'topped' | 'located') =>
      device.kernel({
        module: 'index/read/get',
        entryPoint: 'get_first',
        bindings: [...TREE, 'read', 'write', 'write', ...(condition ? (['read'] as const) : [])],
        further: furtherBindings(tree, 'search'),
        params: 7,
        conditions: {
          ...tree.conditions,
          quads: tree.tupleStride === 4 && !(css && variable),
          serial,
          topped: condition === 'topped',
          located: condition === 'located',
        },
      })
    const directedKernel = () =>
      device.kernel({
        module: 'index/read/get-directed',
        entryPoint: 'get_directed',
        bindings: [...TREE, 'read', 'write', 'write'],
        further: directedBindings(tree),
        params: 5,
        conditions: { ...tree.conditions, full: tree.full },
      })
    const [fromRoot, topped, located, directed] = await Promise.all([
      kernel(),
      hasDirectory(tree) ? kernel('topped') : undefined,
      locator && kernel('located'),
      locator && directedKernel(),
    ])
    return new Get(context, narrow, serial, { fromRoot, topped, located, directed })
  }

  /**
   * Looks `count` keys up that are on the device: a bit a key and a padded payload a key.
   * @param ready how to find them; one after the other down from the root without it
   * @param at which of the columns' keys they are, if not the first ones
   */
  record(
    recorder: Recorder,
    scratch: Scratch,
    arena: Arena,
    queries: Queries,
    found: GPUBuffer,
    payloads: GPUBuffer,
    count: number,
    ready?: Ready,
    at: PlaceInColumns = BEGINNING,
  ): void {
    if (ready !== undefined && at !== BEGINNING) {
      this.#recordApart(recorder, scratch, arena, queries, found, payloads, count, ready, at)
      return
    }
    const { tree, locator } = this.#context
    const { fromRoot, topped, located, directed } = this.#kernels
    const { directory } = arena
    const buffers = [...arena.buffers, queries.keys, found, payloads]
    if (ready?.traversal.strategy === 'directed' && directed !== undefined) {
      const { resolution = 'serial' } = ready.traversal
      // Bits of a single query are stored, those of more are added.
      if (count > 1) recorder.clear(found, 0, 4 * Math.ceil(count / 32))
      buffers.push(...directedBuffers(arena, ready.table, queries.heap))
      recorder.dispatchGroups(
        directed,
        buffers,
        directedParams(count, ready.table, resolution, tree.word),
        count,
      )
      return
    }
    let kernel = fromRoot
    if (ready !== undefined && located !== undefined && locator !== undefined) {
      kernel = located
      buffers.push(locator.record(recorder, scratch, arena, ready, queries, count, false).residents)
    } else if (directory !== undefined && topped !== undefined) {
      kernel = topped
      buffers.push(directory.buffer)
    }
    buffers.push(...this.#context.further(arena, 'search', queries))
    const invocations = this.#serial ? Math.ceil(count / 32) : count
    const hung = arena.tuples.records - (arena.sorted?.tuples ?? 0)
    recorder.dispatch(
      kernel,
      buffers,
      [
        count,
        tree.word,
        hung,
        arena.sorted?.hasRemoved ? 1 : 0,
        directory?.digits ?? 0,
        at.first,
        at.firstWord,
      ],
      invocations,
    )
  }

  /** The other strategies take columns of their own. */
  #recordApart(
    recorder: Recorder,
    scratch: Scratch,
    arena: Arena,
    { keys, heap }: Queries,
    found: GPUBuffer,
    payloads: GPUBuffer,
    count: number,
    ready: Ready,
    { first, firstWord }: PlaceInColumns,
  ): void {
    const { keyBytes, paddedBytes } = this.#context
    const foundBytes = 4 * Math.ceil(count / 32)
    const own = {
      keys: scratch.bytes(count * keyBytes),
      found: scratch.bytes(foundBytes),
      payloads: scratch.bytes(count * paddedBytes),
    }
    recorder.copy(keys, first * keyBytes, own.keys, 0, count * keyBytes)
    this.record(recorder, scratch, arena, { keys: own.keys, heap }, own.found, own.payloads, count, ready)
    recorder.copy(own.found, 0, found, 4 * firstWord, foundBytes)
    recorder.copy(own.payloads, 0, payloads, first * paddedBytes, count * paddedBytes)
  }

  async run(
    arena: Arena,
    keys: Uint8Array,
    keyOffsets?: Uint32Array,
    ready?: Ready,
    memory?: ResultMemory,
  ): Promise<GetResult> {
    const { payloadBytes, paddedBytes } = this.#context
    const count = this.#context.count(keys, keyOffsets)
    const [found, payloads] = await this.#context.run((recorder, scratch) => {
      const queries = this.#context.queries(recorder, scratch, keys, keyOffsets)
      const found = scratch.bytes(bitmapBytes(count))
      const padded = scratch.bytes(count * paddedBytes)
      this.record(recorder, scratch, arena, queries, found, padded, count, ready)
      const column = this.#narrow.record(recorder, scratch, padded, count, payloadBytes)
      return [
        { buffer: found, bytes: bitmapBytes(count) },
        { buffer: column, bytes: count * payloadBytes },
      ]
    }, memory)
    return { found, payloads }
  }
}
