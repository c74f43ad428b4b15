import { asBytes } from '../../../protocol/columns.js'
import type { Device, Kernels } from '../../device/device.js'
import type { PayloadLists } from '../../index-structure.js'
import type { Arena } from '../arena.js'
import type { ReadContext } from '../read/read-context.js'
import { NOTHING, type TreeTotals } from '../totals.js'

/**
 * Whether a key is to be inserted with a further payload, which dies then: only an extent knows a next sequence number that is not the one after
 * that of the single payload.
 */
export function needsSpare(payloads: number, nextSequence: number, sequence: number): boolean {
  return payloads === 1 && nextSequence !== sequence + 1
}

/** Words of a range of keys at most; `range.wesl` says which. */
const MOST_RANGE_WORDS = 6

/** Gives payloads that were inserted anew the sequence numbers that they had (`renumber.wesl`). */
export class Renumbering {
  readonly #device: Device
  readonly #context: ReadContext
  readonly #kernels: Kernels<'find_tuples'> & Kernels<'renumber'>

  constructor(device: Device, context: ReadContext) {
    const { conditions } = context.tree
    this.#device = device
    this.#context = context
    this.#kernels = {
      ...context.kernels('get-all', ['find_tuples']),
      ...device.kernels('index/entries/renumber', ['renumber'], conditions),
    }
  }

  /** Submits it. @returns by how much it changes the tree's totals: payloads die that were only there for their extents */
  apply(arena: Arena, { keys, lists, sequences }: PayloadLists): TreeTotals {
    const { entryStride, word: shape } = this.#context.tree
    const count = lists.length / 2
    const starts = new Uint32Array(count)
    let payloads = 0
    let dead = 0
    for (let i = 0; i < count; i++) {
      starts[i] = payloads
      if (needsSpare(lists[2 * i]!, lists[2 * i + 1]!, sequences[payloads]!)) dead++
      payloads += lists[2 * i]!
    }
    const scratch = this.#device.scratch()
    try {
      const recorder = this.#device.record()
      const queries = this.#context.queries(recorder, scratch, keys)
      const upload = (column: Uint32Array) => this.#context.upload(scratch, asBytes(column), recorder)
      const found = scratch.words(count)
      const tree = { ...arena.bindings, queryHeap: queries.heap }
      const { find_tuples, renumber } = this.#kernels
      // All that a getAll has beside it.
      const beside = { length: scratch.words(1), everything: scratch.words(MOST_RANGE_WORDS) }
      const asked = { ...tree, ...beside, queries: queries.keys, found }
      recorder.dispatch(find_tuples, asked, { count, shape }, count)
      const listed = { found, lists: upload(lists), starts: upload(starts), sequences: upload(sequences) }
      recorder.dispatch(renumber, { ...tree, ...listed }, { keys: count, payloads, shape }, payloads)
      recorder.submit()
    } finally {
      scratch.release()
    }
    return { ...NOTHING, payloads: -dead, garbageBytes: 4 * entryStride * dead }
  }
}
