import type { Rows } from '../../../protocol/rows.js'
import type { Kernels } from '../../device/device.js'
import { GROUP_SIZE, type Recorder } from '../../device/recorder.js'
import type { Conditions } from '../../device/shaders.js'
import type { GetResult, ReadColumns, ReadRequest } from '../../index-structure.js'
import type { ResultMemory } from '../../memory/result-memory.js'
import type { Scratch } from '../../memory/scratch.js'
import { groupsFor, kernelsFor } from '../../primitives/strategy.js'
import type { Arena } from '../arena.js'
import { hasDirectory } from '../delta/directory.js'
import { directedParams } from '../partitions/directed.js'
import type { Ready } from '../partitions/locator.js'
import { isContiguous } from './contiguous-scan.js'
import type { NarrowPayloads } from './narrow-payloads.js'
import { bitmapBytes, type Queries, type ReadContext } from './read-context.js'
import { keysOf, type ReadOperation, type SearchedTree } from './read-operation.js'

/** Where some keys of a column, and their answers, are. */
export interface PlaceInColumns {
  /** Number of the first key, and of its payload. */
  readonly first: number
  /** Word of the found bits in which the first one is the lowest. */
  readonly firstWord: number
}

const BEGINNING: PlaceInColumns = { first: 0, firstWord: 0 }

/** The first payload of each key. */
export class Get implements ReadOperation<'get'> {
  readonly #context: ReadContext
  readonly #narrow: NarrowPayloads
  readonly #serial: boolean
  readonly #plain: Kernels<'get_first'>
  /** For sorted parts that no tuple has left, and for arenas that `isContiguous`; only of CSS-trees. */
  readonly #whole: Kernels<'get_first'> | undefined
  readonly #contiguous: Kernels<'get_first'> | undefined
  /** Begins where the tree's directory says; only where trees may have one. */
  readonly #topped: Kernels<'get_first'> | undefined
  /** For keys that were located before, and by directed traversal; only where trees have partitions. */
  readonly #located: Kernels<'get_first'> | undefined
  readonly #directed: Kernels<'get_directed'> | undefined

  /** @param serial whether one thread answers 32 keys, which suits CPUs */
  constructor(context: ReadContext, narrow: NarrowPayloads, serial = context.device.facts.software) {
    const { device, tree, locator } = context
    const kernels = (conditions: Conditions = {}) =>
      kernelsFor(device, serial ? 'serial' : 'cooperative', 'index/read/get', ['get_first'], {
        ...tree.conditions,
        quads: tree.tupleStride === 4 && !serial,
        ...conditions,
      })
    this.#context = context
    this.#narrow = narrow
    this.#serial = serial
    this.#plain = kernels()
    if (tree.conditions.css) {
      this.#whole = kernels({ whole: true })
      this.#contiguous = kernels({ whole: true, contiguous: true })
    }
    this.#topped = hasDirectory(tree) ? kernels({ topped: true }) : undefined
    this.#located = locator && kernels({ located: true })
    this.#directed = locator && context.kernels('get-directed', ['get_directed'], { full: tree.full })
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
    const columns = { queries: queries.keys, queryHeap: queries.heap, found, payloads }
    const buffers = { ...arena.bindings, ...columns }
    if (ready?.traversal.strategy === 'directed' && this.#directed !== undefined) {
      const { resolution = 'serial' } = ready.traversal
      // Bits of a single query are stored, those of more are added.
      if (count > 1) recorder.clear(found, 0, 4 * Math.ceil(count / 32))
      recorder.dispatchGroups(
        this.#directed.get_directed,
        { ...buffers, partitionDirectory: ready.table.directory },
        directedParams(count, ready.table, resolution, tree.word),
        count,
      )
      return
    }
    const located = ready && locator?.record(recorder, scratch, arena, ready, queries, count, false)
    recorder.dispatchGroups(
      this.#kernelsFor(arena, located !== undefined).get_first,
      { ...buffers, residents: located?.residents },
      { count, shape: tree.word, first: at.first, firstWord: at.firstWord },
      this.#serial ? groupsFor('serial', Math.ceil(count / 32)) : Math.ceil(count / GROUP_SIZE),
    )
  }

  #kernelsFor(arena: Arena, isLocated: boolean): Kernels<'get_first'> {
    if (isLocated) return this.#located ?? this.#plain
    if (arena.directory !== undefined) return this.#topped ?? this.#plain
    const ofSorted = isContiguous(arena)
      ? this.#contiguous
      : arena.sorted?.hasRemoved
        ? undefined
        : this.#whole
    return ofSorted ?? this.#plain
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

  async run(tree: SearchedTree, request: ReadRequest<'get'>, columns: ReadColumns): Promise<GetResult> {
    const { traversal, memory } = request
    const keys = keysOf(columns)
    const coming = tree.ready(keys, traversal)
    return this.fromRoot(tree.arena, keys, coming && (await coming), memory)
  }

  none(_request: ReadRequest<'get'>, columns: ReadColumns): GetResult {
    const count = this.#context.count(keysOf(columns))
    return {
      found: new Uint8Array(bitmapBytes(count)),
      payloads: new Uint8Array(count * this.#context.payloadBytes),
    }
  }

  /** Gets keys down from the root, unless something else is ready. */
  async fromRoot(arena: Arena, keys: Rows, ready?: Ready, memory?: ResultMemory): Promise<GetResult> {
    const { payloadBytes, paddedBytes } = this.#context
    const count = this.#context.count(keys)
    const [found, payloads] = await this.#context.run((recorder, scratch) => {
      const queries = this.#context.queries(recorder, scratch, keys)
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
