import type { Kernel } from '../../device/kernel.js'
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
  readonly #listTuples: Kernel

  private constructor(contiguous: ContiguousScan, payloadHits: PayloadHits, listTuples: Kernel) {
    this.#contiguous = contiguous
    this.#payloadHits = payloadHits
    this.#listTuples = listTuples
  }

  static async create(
    { device }: ReadContext,
    contiguous: ContiguousScan,
    payloadHits: PayloadHits,
  ): Promise<ListedScan> {
    const listTuples = await device.kernel({
      module: 'index/read/listed-scan',
      entryPoint: 'list_tuples',
      bindings: ['read', 'read', 'write'],
      params: 2,
    })
    return new ListedScan(contiguous, payloadHits, listTuples)
  }

  /** The first entries in the sorted part of ranges whose ends belong to them, of an arena from whose sorted part no tuple has left. */
  record(recorder: Recorder, scratch: Scratch, arena: Arena, search: RangeSearch): Hits {
    const { count, limit } = search
    // Each tuple has a payload, so that one tuple more than the limit tells that there are more.
    const width = limit + 1
    const inPart = { ...search, limit: width }
    const { windows, found } = this.#contiguous.recordWindows(recorder, scratch, arena, inPart)
    const tuples = scratch.words(count * width)
    recorder.dispatch(this.#listTuples, [windows, found, tuples], [count, width], count * width)
    return this.#payloadHits.record(recorder, scratch, arena, search, { tuples, width, lengths: found }).hits
  }
}
