import { asBytes } from '../../../protocol/columns.js'
import type { Device, Kernels } from '../../device/device.js'
import type { PayloadLists } from '../../index-structure.js'
import type { Arena } from '../arena.js'
import type { WriteEffect } from '../batch/batch.js'
import type { ReadContext } from '../read/read-context.js'
import { needsSpare } from './lists.js'

/** Gives payloads that were inserted anew the sequence numbers that they had (`renumber.wesl`). */
export class Renumbering {
  readonly #device: Device
  readonly #context: ReadContext
  readonly #kernels: Kernels<'find_listed'> & Kernels<'renumber'>

  constructor(device: Device, context: ReadContext) {
    const { conditions } = context.tree
    this.#device = device
    this.#context = context
    this.#kernels = {
      ...device.kernels('index/entries/find-listed', ['find_listed'], conditions),
      ...device.kernels('index/entries/renumber', ['renumber'], conditions),
    }
  }

  /** Submits it. @returns what it does to the tree: payloads die that were only there for their extents */
  apply(arena: Arena, { keys, lists, sequences }: PayloadLists): WriteEffect {
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
      const { find_listed, renumber } = this.#kernels
      recorder.dispatch(find_listed, { ...tree, queries: queries.keys, found }, { keys: count, shape }, count)
      const listed = { found, lists: upload(lists), starts: upload(starts), sequences: upload(sequences) }
      recorder.dispatch(renumber, { ...tree, ...listed }, { keys: count, payloads, shape }, payloads)
      recorder.submit()
    } finally {
      scratch.release()
    }
    return {
      tuplesCreated: 0,
      tuplesRemoved: 0,
      payloadsAdded: 0,
      payloadsRemoved: dead,
      garbageBytes: 4 * entryStride * dead,
    }
  }
}
