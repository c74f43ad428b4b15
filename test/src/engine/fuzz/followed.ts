import type { LoggedRange } from '../../../../persistence/log/log-records.js'
import { exclusionsIn } from '../../../../protocol/changes.js'
import { type Column, columnOf, sliceColumn, valuesOf } from '../../../../protocol/columns.js'
import { keyWidth } from '../../../../protocol/types.js'
import type { ChangePage } from '../../../../src/engine/change-feed.js'
import { OrderedModel } from '../../../ordered-model.js'
import type { KnownIndex } from './known-index.js'

/** Batches of one page. */
const LIMIT = 10

/** What the feed of an index makes of an empty model. */
export class Followed {
  readonly model: OrderedModel
  readonly #known: KnownIndex
  #position = 0

  constructor(known: KnownIndex) {
    this.#known = known
    this.model = new OrderedModel(known.model.shape)
  }

  /** Makes all changes that there are behind those that were made. */
  async catchUp(): Promise<void> {
    for (;;) {
      const page = await this.#known.index.feed.read(this.#position, LIMIT)
      const batches = page.offsets.length - 1
      if (batches === 0) return this.#known.expire(this.model)
      this.#position += batches
      const [range] = valuesOf(page.ops)
      const exclusions = exclusionsIn(range?.[0])
      if (exclusions !== undefined) this.#deleteRange({ ...page.range, ...exclusions })
      else if (page.offsets[batches]! > 0) this.#apply(page)
    }
  }

  #deleteRange({ from, to, ...exclusions }: LoggedRange): void {
    const width = keyWidth(this.model.shape.keyType)
    const [low, high] = [from, to].map((end) => end && columnOf([end], width))
    const ends = { from: low?.bytes, fromOffsets: low?.offsets, to: high?.bytes, toOffsets: high?.offsets }
    this.model.deleteRange({ ...ends, ...exclusions })
  }

  /** Each batch by itself: what has expired leaves before it. */
  #apply({ offsets, ops, keys, payloads, expireAt }: ChangePage): void {
    for (const [batch, own] of valuesOf(ops).entries()) {
      const [first, end] = [offsets[batch]!, offsets[batch + 1]!]
      if (first === end) continue
      const part = (column: Column | undefined) => column && sliceColumn(column, first, end)
      const changed = part(payloads)
      this.#known.expire(this.model)
      const planned = this.model.plan({
        ops: own.length === 1 ? new Uint8Array(end - first).fill(own[0]!) : own,
        keys: sliceColumn(keys, first, end),
        payloads: changed && this.#known.modelPayloads(changed, part(expireAt)),
      })
      planned.apply()
    }
  }
}
