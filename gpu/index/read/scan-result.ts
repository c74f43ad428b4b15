import type { Kernels } from '../../device/device.js'
import { GROUP_SIZE } from '../../device/recorder.js'
import type { DeviceMemory } from '../../memory/page-run.js'
import type { Hits, RangeSearch } from './hits.js'
import type { ReadContext, ReadWork } from './read-context.js'

/** A scan's result on the device: the columns of `ScanResult`. */
export interface ScanColumns {
  readonly offsets: DeviceMemory
  readonly keys: DeviceMemory
  readonly payloads: DeviceMemory
  readonly more: DeviceMemory
  readonly tokens: DeviceMemory
}

/** Turns the hits of a search into the columns of a reply. */
export class ScanResultWriter {
  readonly #context: ReadContext
  readonly #kernels: Kernels<'write_result'>

  constructor(context: ReadContext) {
    this.#context = context
    this.#kernels = context.kernels('scan-result', ['write_result'])
  }

  record(work: ReadWork, search: RangeSearch, hits: Hits): ScanColumns {
    const { enoughGroups, tree } = this.#context
    const { count, limit } = search
    return this.recordColumns(work, search, hits, (columns) => {
      const buffers = { ...work.arena.bindings, hits: hits.hits, ...columns }
      const params = { ranges: count, shape: tree.word, limit }
      const groups = Math.min(Math.ceil((count * limit) / GROUP_SIZE), enoughGroups)
      work.recorder.dispatchGroups(this.#kernels.write_result, buffers, params, groups)
    })
  }

  /**
   * The columns of a reply around what writes their entries.
   * @param found a word a range: its entries, and room for one word more; becomes the offsets
   * @param write records that
   */
  recordColumns(
    work: ReadWork,
    { count, limit, isWhole }: RangeSearch,
    { found, more }: Pick<Hits, 'found' | 'more'>,
    write: (columns: Readonly<Record<'offsets' | 'keys' | 'payloads' | 'tokens', DeviceMemory>>) => void,
  ): ScanColumns {
    const { primitives, narrow, keyBytes, paddedBytes } = this.#context
    const { recorder, scratch } = work
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
    const payloads = this.#context.payloadColumn(work, padded, entries, total, isWhole)
    return {
      offsets: found,
      keys,
      payloads,
      more: narrow.record(work, more, count, 1),
      tokens,
    }
  }
}
