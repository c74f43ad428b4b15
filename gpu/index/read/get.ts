import { SEQUENCE_BYTES } from '../../../protocol/types.js'
import type { Kernels } from '../../device/device.js'
import { GROUP_SIZE } from '../../device/recorder.js'
import type { Conditions } from '../../device/shaders.js'
import type { GetResult, ReadRequest } from '../../index-structure.js'
import type { KeyColumn } from '../../keys/key-column.js'
import type { DeviceMemory } from '../../memory/page-run.js'
import { kernelsFor, SERIAL_GROUP_SIZE } from '../../primitives/strategy.js'
import type { Arena } from '../arena.js'
import { hasTop } from '../delta/top.js'
import type { TraversalPlan } from '../partitions/locator.js'
import { type OwnKeys, ownKeys } from './own-keys.js'
import { bitmapBytes, type ReadContext, type ReadWork } from './read-context.js'
import type { Asked, ReadOperation, SearchedTree } from './read-operation.js'

/** Keys to be looked up, and where the answers go, on the device. */
export interface GetColumns {
  readonly queries: KeyColumn
  /** How many keys. */
  readonly count: number
  /** A bit a key; zeros before where keys are others' than its `own`. */
  readonly found: DeviceMemory
  /** A padded payload a key. */
  readonly payloads: DeviceMemory
  /** A sequence number a key, where it is asked for: that of its payload. */
  readonly sequences?: DeviceMemory | undefined
  /** Keys that are looked for; all if absent. */
  readonly own?: OwnKeys | undefined
}

/** The first payload of each key. */
export class Get implements ReadOperation<'get'> {
  readonly isPlanned = true
  readonly #context: ReadContext
  /** Keys that a workgroup answers. */
  readonly #groupKeys: number
  readonly #plain: Kernels<'get_first'>
  /** For sorted parts that no tuple has left, and for arenas that `isContiguous`; only of CSS-trees. */
  readonly #whole: Kernels<'get_first'> | undefined
  readonly #contiguous: Kernels<'get_first'> | undefined
  /** Begins where the table of the tree's top says; only where trees may have one. */
  readonly #topped: Kernels<'get_first'> | undefined
  /** For keys that were located before, and by directed traversal; only where trees have partitions. */
  readonly #located: Kernels<'get_first'> | undefined
  readonly #directed: Kernels<'get_directed'> | undefined
  readonly #sequences: Kernels<'get_sequences'>

  /** @param serial whether one thread answers 32 keys, which suits CPUs */
  constructor(context: ReadContext, serial = context.device.facts.software) {
    const { device, tree, locator } = context
    const kernels = (conditions: Conditions = {}) =>
      kernelsFor(device, serial ? 'serial' : 'cooperative', 'index/read/get', ['get_first'], {
        ...tree.conditions,
        tuple_quads: tree.tupleStride === 4 && !serial,
        ...conditions,
      })
    this.#context = context
    this.#groupKeys = serial ? 32 * SERIAL_GROUP_SIZE : GROUP_SIZE
    this.#plain = kernels()
    if (tree.conditions.css) {
      this.#whole = kernels({ whole: true })
      this.#contiguous = kernels({ whole: true, contiguous: true })
    }
    this.#topped = hasTop(tree) ? kernels({ topped: true }) : undefined
    this.#located = locator && kernels({ located: true })
    this.#directed = locator && context.kernels('get-directed', ['get_directed'], { full: tree.full })
    this.#sequences = context.kernels('get-sequences', ['get_sequences'])
  }

  /**
   * Looks up keys that are on the device.
   * @param plan how to find them; one after the other down from the root without it
   */
  record(work: ReadWork, columns: GetColumns, plan?: TraversalPlan): void {
    this.#recordPayloads(work, columns, plan)
    const { queries, count, sequences, own } = columns
    if (sequences === undefined) return
    const { shard, keyShards } = ownKeys(own, queries.keys)
    const columnsOf = { queries: queries.keys, queryHeap: queries.heap, keyShards, sequences }
    const buffers = { ...work.arena.bindings, ...columnsOf }
    const params = { count, shape: this.#context.tree.word, shard }
    work.recorder.dispatch(this.#sequences.get_sequences, buffers, params, count)
  }

  #recordPayloads(
    work: ReadWork,
    { queries, count, found, payloads, own }: GetColumns,
    plan: TraversalPlan | undefined,
  ): void {
    const { recorder, arena } = work
    const { tree, locator } = this.#context
    const { shard, keyShards } = ownKeys(own, queries.keys)
    const columns = { queries: queries.keys, queryHeap: queries.heap, keyShards, found, payloads }
    const buffers = { ...arena.bindings, ...columns }
    const params = { count, shape: tree.word, shard }
    let kernels = this.#kernelsFor(arena)
    let existing: DeviceMemory | undefined
    if (plan !== undefined && locator !== undefined) {
      if (plan.traversal.strategy === 'directed' && this.#directed !== undefined) {
        // Bits of a single query are stored, those of more are added.
        if (count > 1 && own === undefined) recorder.clear(found, 0, 4 * Math.ceil(count / 32))
        const all = { ...buffers, ...plan.table.bindings }
        const directed = { ...params, ...locator.directedParams(plan) }
        recorder.dispatchGroups(this.#directed.get_directed, all, directed, count)
        return
      }
      existing = locator.record(work, plan, queries, { count }).existing
      kernels = this.#located ?? kernels
    }
    const groups = Math.ceil(count / this.#groupKeys)
    recorder.dispatchGroups(kernels.get_first, { ...buffers, existing }, params, groups)
  }

  /** The kernel that looks only where the arena has something. */
  #kernelsFor(arena: Arena): Kernels<'get_first'> {
    const { sorted, top } = arena
    if (sorted === undefined) return (top && this.#topped) ?? this.#plain
    if (arena.isContiguous) return this.#contiguous ?? this.#plain
    return (sorted.hasRemoved ? undefined : this.#whole) ?? this.#plain
  }

  async run(
    { arena, plan }: SearchedTree,
    { memory, withSequences }: ReadRequest<'get'>,
    { keys, count }: Asked<'get'>,
  ): Promise<GetResult> {
    const { payloadBytes, paddedBytes } = this.#context
    const [found, payloads, sequences] = await this.#context.run((recorder, scratch) => {
      const queries = this.#context.queries(recorder, scratch, keys)
      const found = scratch.bytes(bitmapBytes(count))
      const padded = scratch.bytes(count * paddedBytes)
      const sequences = withSequences ? scratch.words(count) : undefined
      const work = { recorder, scratch, arena }
      this.record(work, { queries, count, found, payloads: padded, sequences }, plan)
      const column = this.#context.payloadColumn(work, padded, count)
      return [
        { buffer: found, bytes: bitmapBytes(count) },
        { buffer: column, bytes: count * payloadBytes },
        ...(sequences ? [{ buffer: sequences, bytes: count * SEQUENCE_BYTES }] : []),
      ]
    }, memory)
    return {
      found,
      payloads: { bytes: payloads, width: payloadBytes },
      ...(sequences && { sequences: { bytes: sequences, width: SEQUENCE_BYTES } }),
    }
  }
}
