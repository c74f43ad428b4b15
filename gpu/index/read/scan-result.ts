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
    const { enoughGroups, tree } = this.#context
    const { count, limit } = search
    return this.recordColumns(recorder, scratch, search, hits, (columns) => {
      const buffers = { ...arena.bindings, hits: hits.hits, ...columns }
      const params = { ranges: count, shape: tree.word, limit }
      const groups = Math.min(Math.ceil((count * limit) / GROUP_SIZE), enoughGroups)
      recorder.dispatchGroups(this.#kernels.write_result, buffers, params, groups)
    })
  }

  /**
   * The columns of a reply around what writes their entries.
   * @param found a word a range: its entries, and room for one word more; becomes the offsets
   * @param write records that
   */
  recordColumns(
    recorder: Recorder,
    scratch: Scratch,
    { count, limit }: RangeSearch,
    { found, more }: Pick<Hits, 'found' | 'more'>,
    write: (columns: Readonly<Record<'offsets' | 'keys' | 'payloads' | 'tokens', GPUBuffer>>) => void,
  ): ScanColumns {
    const { primitives, keyBytes, payloadBytes, paddedBytes } = this.#context
    const entries = count * limit
    // One element more than there are ranges, so that the last offset is the number of all entries.
    recorder.clear(found, 4 * count, 4)
    primitives.scan(recorder, scratch, found, found, count + 1)
    const keys = scratch.bytes(entries * keyBytes)
    const padded = scratch.bytes(entries * paddedBytes)
    const tokens = scratch.bytes(count * (keyBytes + 4))
    recorder.clear(tokens, 0, count * (keyBytes + 4))
    write({ offsets: found, keys, payloads: padded, tokens })
    const total = { buffer: found, index: count }
    const payloads = this.#narrow.record(recorder, scratch, padded, entries, payloadBytes, total)
    return {
      offsets: found,
      keys,
      payloads,
      more: this.#narrow.record(recorder, scratch, more, count, 1),
      tokens,
    }
  }
}
