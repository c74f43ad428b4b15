import type { Kernels } from '../../device/device.js'
import { GROUP_SIZE, type Recorder } from '../../device/recorder.js'
import type { Scratch } from '../../memory/scratch.js'
import type { Arena } from '../arena.js'
import type { Hits, RangeSearch } from './hits.js'
import type { NarrowPayloads } from './narrow-payloads.js'
import type { ReadContext } from './read-context.js'

/** A scan's result on the device: the columns of `ScanResult`. */
export interface ScanColumns {
  readonly offsets: GPUBuffer
  readonly keys: GPUBuffer
  readonly payloads: GPUBuffer
  readonly more: GPUBuffer
  readonly tokens: GPUBuffer
}

/** Turns the hits of a search into the columns of a reply. */
export class ScanResultWriter {
  readonly #context: ReadContext
  readonly #narrow: NarrowPayloads
  readonly #kernels: Kernels<'write_result'>

  constructor(context: ReadContext, narrow: NarrowPayloads) {
    this.#context = context
    this.#narrow = narrow
    this.#kernels = context.kernels('scan-result', ['write_result'])
  }

  record(recorder: Recorder, scratch: Scratch, arena: Arena, search: RangeSearch, hits: Hits): ScanColumns {
    const { primitives, tree, keyBytes, payloadBytes, paddedBytes } = this.#context
    const { count, limit } = search
    const entries = count * limit
    // One element more than there are ranges, so that the last offset is the number of all entries.
    recorder.clear(hits.found, 4 * count, 4)
    const offsets = scratch.words(count + 1)
    primitives.scan(recorder, scratch, hits.found, offsets, count + 1)
    const keys = scratch.bytes(entries * keyBytes)
    const padded = scratch.bytes(entries * paddedBytes)
    const tokens = scratch.bytes(count * (keyBytes + 4))
    const buffers = { ...arena.bindings, hits: hits.hits, offsets, keys, payloads: padded, tokens }
    const groups = Math.min(Math.ceil(entries / GROUP_SIZE), this.#context.enoughGroups)
    recorder.clear(tokens, 0, count * (keyBytes + 4))
    const params = { ranges: count, shape: tree.word, limit }
    recorder.dispatchGroups(this.#kernels.write_result, buffers, params, groups)
    const total = { buffer: offsets, index: count }
    return {
      offsets,
      keys,
      payloads: this.#narrow.record(recorder, scratch, padded, entries, payloadBytes, total),
      more: this.#narrow.record(recorder, scratch, hits.more, count, 1),
      tokens,
    }
  }
}
