import type { IndexStructure } from '../../gpu/index-structure.js'
import type { RowFilter } from '../../persistence/payloads/compaction.js'
import type { Store } from '../../persistence/store.js'
import { aligned, type Column } from '../../protocol/columns.js'
import { LIMITS } from '../../protocol/limits.js'
import { isFixedKeyType, type KeyType } from '../../protocol/types.js'
import type { InTurn } from './snapshot-upkeep.js'

/** What a reclaimer needs of a structure that may be paged out. */
interface ReclaimedStructure {
  stats(): { readonly payloads: number }
  use<T>(task: (structure: Pick<IndexStructure, 'read' | 'shape'>) => Promise<T>): Promise<T>
}

/** Words of a payload of kind `bytes` as the structure holds it; the first two are its row. */
const PAYLOAD_WORDS = 4

/** Entries that are read at a time: fewer where keys have any length, because a page holds the keys too. */
export function pageEntries(keyType: KeyType): number {
  return isFixedKeyType(keyType) ? LIMITS.scanEntries : LIMITS.frameBytes / LIMITS.keyBytes
}

/**
 * Gives back what payloads of kind `bytes` take on disk once no entry refers to them, and merges the small segments that single
 * writes leave. Entries keep their rows as long as they live, and no row is given twice, so a row that no entry had after it
 * was written is dead for good.
 */
export class PayloadReclaimer {
  readonly #store: Store
  readonly #index: number
  readonly #sparesLogged: boolean
  #running: AbortController | undefined
  #compacting: Promise<unknown> = Promise.resolve()

  /** @param sparesLogged whether what the log refers to stays, for who reads the log */
  constructor(store: Store, index: number, sparesLogged: boolean) {
    this.#store = store
    this.#index = index
    this.#sparesLogged = sparesLogged
  }

  /** Reads the structure page by page, each in its turn, then rewrites segments beside whatever comes. */
  async run(inTurn: InTurn<ReclaimedStructure>): Promise<void> {
    if (this.#running !== undefined) return
    const running = new AbortController()
    this.#running = running
    try {
      const isLive = await this.#liveRows(inTurn)
      // Begun within a turn, so that whoever unloads the index finds it running.
      const { compacted } = await inTurn(async () => {
        const compacted = this.#store.payloads.compact(this.#index, isLive, running.signal)
        this.#compacting = compacted.catch(() => {})
        return { compacted }
      })
      await compacted
    } finally {
      this.#running = undefined
    }
  }

  /** Leaves the rest to the next run, and waits until no segment is being rewritten. */
  async stop(): Promise<void> {
    this.#running?.abort()
    await this.#compacting
  }

  /** Which rows have an entry; undefined while most have one, since finding the others out means reading all. */
  async #liveRows(inTurn: InTurn<ReclaimedStructure>): Promise<RowFilter | undefined> {
    const held = await inTurn(async (structure) => {
      const rows = this.#store.payloads.heldRows(this.#index)
      return rows.size > 2 * structure.stats().payloads ? rows : undefined
    })
    if (held === undefined) return undefined
    let tokens: Column | undefined
    for (let more = true; more; ) {
      const page = await inTurn((paged) =>
        paged.use((structure) =>
          structure.read(
            { op: 'scan', ranges: 1, limit: pageEntries(structure.shape.keyType), withoutKeys: true },
            { tokens },
          ),
        ),
      )
      const words = aligned(page.payloads.bytes, Uint32Array)
      for (let i = 0; i < words.length; i += PAYLOAD_WORDS) held.mark(words[i] + words[i + 1] * 2 ** 32)
      tokens = page.tokens
      more = page.more[0] === 1
    }
    const spared = this.#sparesLogged ? this.#store.log.firstRow(this.#index) : Number.POSITIVE_INFINITY
    // Rows that came meanwhile are not held yet, and nobody knows of their entries.
    return (row) => row >= spared || !held.isUnmarked(row)
  }
}
