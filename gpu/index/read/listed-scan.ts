import type { Kernels } from '../../device/device.js'
import type { Recorder } from '../../device/recorder.js'
import type { Scratch } from '../../memory/scratch.js'
import type { Arena } from '../arena.js'
import type { ContiguousScan } from './contiguous-scan.js'
import type { Hits, RangeSearch } from './hits.js'
import type { PayloadHits } from './payload-hits.js'
import type { ReadContext } from './read-context.js'

/** Scans of sorted parts whose tuples may have several payloads: their tuples are neighbours, and are listed (`listed-scan.wesl`). */
export class ListedScan {
  readonly #contiguous: ContiguousScan
  readonly #payloadHits: PayloadHits
  readonly #kernels: Kernels<'list_tuples'>

  constructor({ device }: ReadContext, contiguous: ContiguousScan, payloadHits: PayloadHits) {
    this.#contiguous = contiguous
    this.#payloadHits = payloadHits
    this.#kernels = device.kernels('index/read/listed-scan', ['list_tuples'])
  }

  /** The first entries in the sorted part of ranges whose ends belong to them, of an arena from whose sorted part no tuple has left. */
  record(recorder: Recorder, scratch: Scratch, arena: Arena, search: RangeSearch): Hits {
    const { count, limit } = search
    // Each tuple has a payload, so that one tuple more than the limit tells that there are more.
    const width = limit + 1
    const inPart = { ...search, limit: width }
    const { windows, found } = this.#contiguous.recordWindows(recorder, scratch, arena, inPart)
    const tuples = scratch.words(count * width)
    const buffers = { windows, found, listed: tuples }
    recorder.dispatch(this.#kernels.list_tuples, buffers, { ranges: count, width }, count * width)
    return this.#payloadHits.record(recorder, scratch, arena, search, { tuples, width, lengths: found }).hits
  }
}
