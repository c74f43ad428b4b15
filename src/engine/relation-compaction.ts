import type { Device } from '../../gpu/device/device.js'
import { compactedRelation } from '../../gpu/relational/stored/compact-relation.js'
import type { StoredRelation } from '../../gpu/relational/stored/stored-relation.js'
import { toWarpdexError } from '../../protocol/errors.js'
import type { RelationDefinition } from '../../protocol/relation.js'
import type { EngineHost } from './engine-host.js'
import { PagedStructure } from './paged-structure.js'
import type { HeldIndex } from './relation-indexes.js'

/** Deleted rows are this part of all before they are worth a compaction. */
const DELETED_SHARE = 1 / 2
/** And so many at least: what a small relation would get back is nothing beside other numbers for its rows. */
const LEAST_DELETED = 2 ** 16

/** A relation whose turn it is, until that is released. */
export interface CompactionTurn {
  readonly id: number
  readonly definition: RelationDefinition
  readonly structure: PagedStructure<StoredRelation>
  holdIndexes(): Promise<{ readonly indexes: readonly HeldIndex[]; release(): void }>
  release(): void
}

/** Live rows in columns of their own, as of a log position. */
interface FreshRelation {
  readonly stored: StoredRelation
  readonly device: Device
  readonly position: number
}

/** Has the live rows of one relation follow each other. */
export class Compactor {
  readonly #host: Pick<EngineHost, 'store' | 'device' | 'onWarning'>
  readonly #name: string
  readonly #hold: (kind: 'read' | 'exclusive') => Promise<CompactionTurn>
  #isUnderWay = false

  /** @param hold takes the relation's turn, beside reads or with nothing beside it */
  constructor(
    host: Pick<EngineHost, 'store' | 'device' | 'onWarning'>,
    name: string,
    hold: (kind: 'read' | 'exclusive') => Promise<CompactionTurn>,
  ) {
    this.#host = host
    this.#name = name
    this.#hold = hold
  }

  /** Moves the rows beside reads, and has the relation go on with them in a turn of its own. */
  async run(): Promise<void> {
    const reading = await this.#hold('read')
    const fresh = await this.#fresh(reading).finally(reading.release)
    let turn: CompactionTurn
    try {
      turn = await this.#hold('exclusive')
    } catch (error) {
      fresh.stored.destroy()
      throw error
    }
    try {
      await this.#goOnWith(turn, fresh)
    } finally {
      turn.release()
    }
  }

  /**
   * Runs beside other requests, where so many rows were deleted that it is worth it, and none is under way.
   * @param figures of the relation
   */
  runIfDue({ rows, deletedRows = 0 }: { readonly rows: number; readonly deletedRows?: number }): void {
    const isDue = deletedRows >= LEAST_DELETED && deletedRows >= DELETED_SHARE * (rows + deletedRows)
    if (this.#isUnderWay || !isDue) return
    this.#isUnderWay = true
    this.run()
      .catch((thrown: unknown) => {
        const { code, message } = toWarpdexError(thrown)
        // There is nothing to be compacted any more.
        if (code === 'SHUTTING_DOWN' || code === 'UNKNOWN_RELATION') return
        this.#host.onWarning(`relation ${JSON.stringify(this.#name)} was not compacted: ${message}`)
      })
      .finally(() => {
        this.#isUnderWay = false
      })
  }

  async #fresh({ id, definition, structure }: CompactionTurn): Promise<FreshRelation> {
    const device = await this.#host.device()
    const position = this.#host.store.log.last(id)
    const stored = await structure.use((stored) => compactedRelation(device, definition.columns, stored))
    return { stored, device, position }
  }

  /** Where something has changed the relation, or its device is another one, its rows are moved once more. */
  async #goOnWith(turn: CompactionTurn, moved: FreshRelation): Promise<void> {
    const { id, structure } = turn
    const { log } = this.#host.store
    let fresh = moved
    if (fresh.position !== log.last(id) || fresh.device !== (await this.#host.device())) {
      fresh.stored.destroy()
      fresh = await this.#fresh(turn)
    }
    let isInPlace = false
    try {
      const { indexes, release } = await turn.holdIndexes()
      try {
        await PagedStructure.changeAll([structure], async () => {
          await log.append(id, { batch: { rows: 0, columns: new Map() }, compacts: true })
          structure.replace(fresh.stored)
          isInPlace = true
        })
        for (const { renumber } of indexes) await renumber()
      } finally {
        release()
      }
    } catch (error) {
      if (!isInPlace) fresh.stored.destroy()
      throw error
    }
  }
}
