import type { Device } from '../../gpu/device/device.js'
import type { DeviceRelation } from '../../gpu/relational/device-relation.js'
import { StoredRelation } from '../../gpu/relational/stored/stored-relation.js'
import { columnWords } from '../../protocol/column-types.js'
import type { QueryTable } from '../../protocol/query/query-tables.js'
import type { RelationBatch } from '../../protocol/relation-batch.js'

/** Rows that came with a query, checked. */
export interface CheckedTable extends Omit<QueryTable, 'appends'> {
  readonly batches: readonly RelationBatch[]
}

/** The tables that came with a query, on the device until that is over. */
export class DeviceTables {
  readonly #stored = new Map<string, StoredRelation>()

  /** @throws WarpdexError `OUT_OF_DEVICE_MEMORY`, `TOO_LARGE`, with nothing left behind */
  static async create(device: Device, tables: Iterable<CheckedTable>): Promise<DeviceTables> {
    const created = new DeviceTables()
    try {
      for (const { definition, batches } of tables) {
        const stored = await StoredRelation.create(device, definition.columns)
        created.#stored.set(definition.name, stored)
        ;(await stored.prepare(batches)).apply()
      }
      return created
    } catch (error) {
      created.destroy()
      throw error
    }
  }

  get bytes(): number {
    return [...this.#stored.values()].reduce((sum, { deviceBytes }) => sum + deviceBytes, 0)
  }

  /** By their names. */
  get relations(): readonly (readonly [string, DeviceRelation])[] {
    return Array.from(this.#stored, ([name, { relation }]): [string, DeviceRelation] => {
      // Samples have no values of 128 bits.
      const isWide = [...relation.columns.values()].some(({ type }) => columnWords(type) === 4)
      const { sample: _, ...unsampled } = relation
      return [name, isWide ? unsampled : relation]
    })
  }

  destroy(): void {
    for (const stored of this.#stored.values()) stored.destroy()
  }
}
