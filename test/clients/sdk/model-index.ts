import { type IndexDefinition, ResultCode, WriteOp } from '../../../protocol/types.js'

export type ModelKey = number | bigint

export interface ModelEntry {
  readonly key: ModelKey
  readonly sequence: number
  readonly payload: Uint8Array
}

/** An index as a plain list in order. It knows no columns. */
export class ModelIndex {
  static #made = 0
  /** By which requests name it; no other index has ever had it. */
  readonly handle = ++ModelIndex.#made
  /** Rises when its name comes to mean something else. */
  generation = 1
  readonly definition: IndexDefinition
  entries: ModelEntry[] = []
  #nextSequence = 0

  constructor(definition: IndexDefinition) {
    this.definition = definition
  }

  of(key: ModelKey): ModelEntry[] {
    return this.entries.filter((entry) => entry.key === key)
  }

  write(op: WriteOp, key: ModelKey, payload: Uint8Array): ResultCode {
    const resident = this.of(key)
    if (op === WriteOp.deleteKey || op === WriteOp.deletePair) {
      const gone = resident.filter(
        (entry) => op === WriteOp.deleteKey || Buffer.compare(entry.payload, payload) === 0,
      )
      this.entries = this.entries.filter((entry) => !gone.includes(entry))
      return gone.length > 0 ? ResultCode.deleted : ResultCode.notFound
    }
    const refused = op === WriteOp.insertIfAbsent || (op === WriteOp.insert && this.definition.unique)
    if (resident.length > 0 && refused) return ResultCode.exists
    if (op === WriteOp.replace) this.entries = this.entries.filter((entry) => entry.key !== key)
    const entry = { key, sequence: this.#nextSequence++, payload: Uint8Array.from(payload) }
    const next = this.entries.findIndex((other) => other.key > key)
    this.entries.splice(next === -1 ? this.entries.length : next, 0, entry)
    return op === WriteOp.replace && resident.length > 0 ? ResultCode.replaced : ResultCode.inserted
  }

  /** Entries of a range in the order of a scan, after a position where one is given. */
  scan(range: {
    readonly from: ModelKey | undefined
    readonly to: ModelKey | undefined
    readonly fromExclusive: boolean
    readonly toExclusive: boolean
    readonly reverse: boolean
    readonly after: { readonly key: ModelKey; readonly sequence: number } | undefined
  }): ModelEntry[] {
    const { from, to, after, reverse } = range
    const inside = this.entries.filter(({ key, sequence }) => {
      if (from !== undefined && (key < from || (range.fromExclusive && key === from))) return false
      if (to !== undefined && (key > to || (range.toExclusive && key === to))) return false
      if (after === undefined) return true
      if (key !== after.key) return reverse ? key < after.key : key > after.key
      return reverse ? sequence < after.sequence : sequence > after.sequence
    })
    return reverse ? inside.reverse() : inside
  }
}
