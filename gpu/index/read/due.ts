import type { Kernels } from '../../device/device.js'
import type { DueResult, ReadRequest } from '../../index-structure.js'
import type { DeviceMemory } from '../../memory/page-run.js'
import type { DeviceWord } from '../../primitives/primitives.js'
import { recordKeys, restoredKeys } from './key-columns.js'
import { type EntryColumn, type ReadContext, type ReadWork, words } from './read-context.js'
import type { ReadOperation, SearchedTree } from './read-operation.js'

/** What `next` of a result is at most; `due.wesl` has the same. */
export const LATEST = 0xffffffff

/** What is due, on the device. */
interface DueColumns {
  /** How many are due, milliseconds to the next, how many expire later, and how many of the first there are. */
  readonly numbers: readonly DeviceMemory[]
  readonly taken: DeviceWord
  /** Keys, or records of those of variable length. */
  readonly keys: DeviceMemory
  readonly payloads: EntryColumn
}

/** The payloads that expire until some time, and when the next one does, by a look at all that there are (`due.wesl`). */
export class Due implements ReadOperation<'due'> {
  readonly #context: ReadContext
  readonly #kernels: Kernels<'find_due' | 'write_due'>

  constructor(context: ReadContext) {
    this.#context = context
    this.#kernels = context.kernels('due', ['find_due', 'write_due'])
  }

  run({ arena }: SearchedTree, request: ReadRequest<'due'>): Promise<DueResult> {
    const { tree, mostEntries } = this.#context
    const entries = arena.tuples.records + Math.floor(arena.extents.records / tree.entryStride)
    const limit = Math.min(request.limit, entries, mostEntries)
    return this.#context.read(arena, (work) =>
      this.#read(work, this.#record(work, request.until, limit), limit),
    )
  }

  #record({ recorder, scratch, arena }: ReadWork, until: number, limit: number): DueColumns {
    const { keyBytes, paddedBytes, storedBytes, primitives, tree, narrow } = this.#context
    const numbers = [scratch.words(1), scratch.words(1), scratch.words(1), scratch.words(1)] as const
    const [due, next, later, taken] = numbers
    const keys = scratch.bytes(limit * keyBytes)
    const payloads = scratch.bytes(limit * paddedBytes)
    const found = { ...arena.bindings, hits: scratch.words(2 * limit), due }
    const time = { untilLow: until % 2 ** 32, untilHigh: Math.floor(until / 2 ** 32) }
    const params = { shape: tree.word, ...time, limit }
    recorder.clear(due, 0, 4)
    recorder.clear(later, 0, 4)
    primitives.fill(recorder, next, 1, LATEST)
    const { records: count } = arena.tuples
    recorder.dispatch(this.#kernels.find_due, { ...found, next, later }, { ...params, count }, count)
    const written = { ...found, taken, keys, payloads }
    recorder.dispatch(this.#kernels.write_due, written, { ...params, count: limit }, limit)
    const live = { buffer: taken, index: 0 }
    const column = narrow.record({ recorder, scratch }, payloads, limit, storedBytes, live)
    return { numbers, taken: live, keys, payloads: { buffer: column, entryBytes: storedBytes } }
  }

  async #read(work: ReadWork, columns: DueColumns, limit: number): Promise<DueResult> {
    const { recorder, arena } = work
    const { keyBytes: width, storedBytes, restorer } = this.#context
    const { payloads } = columns
    const known = columns.numbers.map((buffer) => ({ buffer, bytes: 4 }))
    const total = ([, , , taken]: readonly Uint8Array[]) => words(taken!)[0]!
    const result = ([due, next, later]: readonly Uint8Array[], bytes: Uint8Array) => ({
      due: words(due!)[0]!,
      next: words(next!)[0]!,
      later: words(later!)[0]!,
      payloads: { bytes, width: storedBytes },
    })
    if (restorer === undefined || arena.heap === undefined) {
      const keys = { buffer: columns.keys, entryBytes: width }
      const read = await this.#context.readEntries(recorder, known, [keys, payloads], limit, total)
      const [bytes, found] = read.entries
      return { ...result(read.known, found!), keys: { bytes: bytes!, width } }
    }
    const { heap } = arena
    const found = { restorer, heap: heap.buffer, records: columns.keys, most: limit, live: columns.taken }
    const { known: restoring, starts } = recordKeys(work, found)
    const all = [...known, ...restoring]
    const read = await this.#context.readEntries(recorder, all, [starts, payloads], limit, total)
    const [length, first] = read.known.slice(known.length)
    const [begins, bytes] = read.entries
    const keys = await restoredKeys(this.#context, work, found, [length!, first!], begins!)
    return { ...result(read.known, bytes!), keys }
  }
}
