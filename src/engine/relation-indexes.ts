import type { IndexStructure, PreparedWrite } from '../../gpu/index-structure.js'
import type { ColumnDefinition, RelationDefinition } from '../../protocol/relation.js'
import type { RelationBatch } from '../../protocol/relation-batch.js'
import { type IndexDefinition, keyWidth, WriteOp } from '../../protocol/types.js'
import type { HeldIndex, Index } from './named-index.js'
import type { PagedIndex } from './paged-index.js'
import { keysOfRows } from './relation-keys.js'
import { joinBatches } from './write-batch.js'

/** Bytes of a payload, the number of a row. */
const ROW_BYTES = 4

/** Rows that are put into an index at a time when it is made. */
const FILL_ROWS = 2 ** 18

/** Reads rows from a place on; fewer than asked for where a reply would be too large, none past the end. */
type ReadColumns = (names: readonly string[], from: number, limit: number) => Promise<RelationBatch>

/** The indexes over columns of one relation, and how they are kept in step with it. */
export class RelationIndexes {
  readonly #relation: RelationDefinition
  readonly #indexes = new Set<Index>()

  constructor(relation: RelationDefinition) {
    this.#relation = relation
  }

  add(index: Index): void {
    this.#indexes.add(index)
  }

  remove(index: Index): void {
    this.#indexes.delete(index)
  }

  all(): readonly Index[] {
    return [...this.#indexes]
  }

  /** Takes the turns of all of them, with nothing beside. */
  async hold(): Promise<HeldIndexes> {
    const holds = await Promise.allSettled(this.all().map((index) => index.holdAlone()))
    const held = holds.flatMap((hold) => (hold.status === 'fulfilled' ? [hold.value] : []))
    const failed = holds.find((hold) => hold.status === 'rejected')
    const all = new HeldIndexes(this.#relation, held)
    if (failed === undefined) return all
    all.release()
    throw failed.reason
  }

  /** Puts all rows that there are into an empty structure of an index over columns. */
  async fill(structure: IndexStructure, definition: IndexDefinition, read: ReadColumns): Promise<void> {
    const columns = columnsOf(this.#relation, definition)
    const names = columns.map(({ name }) => name)
    for (let from = 0; ; ) {
      const batch = await read(names, from, FILL_ROWS)
      if (batch.rows === 0) break
      const rows = keysOfRows(batch, columns, from)
      const prepared = await structure.prepare({ ops: WriteOp.insert, ...rows, goesOn: true })
      prepared.apply()
      await structure.compactIfWorthwhile({ inBackground: false, goesOn: true })
      from += batch.rows
    }
    await structure.compactIfWorthwhile()
  }
}

/** Indexes whose turn it is, until that is released. */
export class HeldIndexes {
  readonly #relation: RelationDefinition
  readonly #held: readonly HeldIndex[]

  constructor(relation: RelationDefinition, held: readonly HeldIndex[]) {
    this.#relation = relation
    this.#held = held
  }

  get structures(): readonly PagedIndex[] {
    return this.#held.map(({ structure }) => structure)
  }

  /**
   * Makes sure of the memory for the keys of rows that are appended one batch after the other. Called while all are on the device.
   * @param first number of the first row
   */
  async prepare(batches: readonly RelationBatch[], first: number): Promise<readonly PreparedWrite[]> {
    const prepared: PreparedWrite[] = []
    try {
      for (const { structure, definition } of this.#held) {
        const columns = columnsOf(this.#relation, definition)
        let row = first
        const parts = batches.map((batch) => {
          const keys = keysOfRows(batch, columns, row)
          row += batch.rows
          return { ops: WriteOp.insert, ...keys }
        })
        prepared.push(await structure.prepare(joinBatches(parts, keyWidth(definition.keyType), ROW_BYTES)))
      }
      return prepared
    } catch (error) {
      for (const each of prepared) each.discard()
      throw error
    }
  }

  /** What is due once rows were appended. */
  async afterWrites(): Promise<void> {
    for (const { structure, upkeep } of this.#held) await upkeep.afterWrites(structure.current, false)
  }

  /** Makes them anew of the relation. */
  async remake(): Promise<void> {
    for (const { remake } of this.#held) await remake()
  }

  release(): void {
    for (const { release } of this.#held) release()
  }
}

function columnsOf({ columns }: RelationDefinition, { of }: IndexDefinition): readonly ColumnDefinition[] {
  const names = of?.columns ?? []
  return names.flatMap((name) => columns.filter((column) => column.name === name))
}
