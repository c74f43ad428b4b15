import type { RowFilter } from '../../persistence/compaction.js'
import type { Store } from '../../persistence/store.js'
import { aligned } from '../../protocol/columns.js'
import { LIMITS } from '../../protocol/limits.js'
import type { InTurn } from './index-snapshots.js'

/** Words of a payload of kind `bytes` as the structure holds it; the first two are its row. */
const PAYLOAD_WORDS = 4

/**
 * Gives back what payloads of kind `bytes` take on disk once no entry refers to them, and merges the small segments that single
 * writes leave. Entries keep their rows as long as they live, and no row is given twice, so a row that no entry had after it
 * was written is dead for good.
 */
export class PayloadReclaimer {
  readonly #store: Store
  readonly #index: number
  #busy = false
  #compacting: Promise<unknown> = Promise.resolve()

  constructor(store: Store, index: number) {
    this.#store = store
    this.#index = index
  }

  /** Reads the structure page by page, each in its turn, then rewrites segments beside whatever comes. */
  async run(inTurn: InTurn): Promise<void> {
    if (this.#busy) return
    this.#busy = true
    try {
      const isLive = await this.#liveRows(inTurn)
      // Begun within a turn, so that whoever unloads the index finds it running.
      const { compacted } = await inTurn(async () => {
        const compacted = this.#store.payloads.compact(this.#index, isLive)
        this.#compacting = compacted.catch(() => {})
        return { compacted }
      })
      await compacted
    } finally {
      this.#busy = false
    }
  }

  /** Waits until no segment is being rewritten. */
  async idle(): Promise<void> {
    await this.#compacting
  }

  /** Which rows have an entry; undefined while most have one, since finding the others out means reading all. */
  async #liveRows(inTurn: InTurn): Promise<RowFilter | undefined> {
    const { firstRow, nextRow, mostDead } = await inTurn(async (structure) => {
      const { firstRow, heldRows, rows } = this.#store.payloads.stats(this.#index)
      return { firstRow, nextRow: rows, mostDead: heldRows > 2 * structure.stats().payloads }
    })
    if (!mostDead) return undefined
    const live = new Uint8Array(Math.ceil((nextRow - firstRow) / 8))
    let tokens: Uint8Array | undefined
    for (let more = true; more; ) {
      const page = await inTurn((structure) =>
        structure.scan({ ranges: 1, limit: LIMITS.scanEntries, tokens }),
      )
      const words = aligned(page.payloads, Uint32Array)
      for (let i = 0; i < words.length; i += PAYLOAD_WORDS) {
        const row = words[i] + words[i + 1] * 2 ** 32
        if (row < nextRow) live[(row - firstRow) >> 3] |= 1 << ((row - firstRow) & 7)
      }
      tokens = page.tokens
      more = page.more[0] === 1
    }
    return (row) => row >= nextRow || (live[(row - firstRow) >> 3] & (1 << ((row - firstRow) & 7))) !== 0
  }
}
