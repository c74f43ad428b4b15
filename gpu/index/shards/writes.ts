import { type Column, countOf } from '../../../protocol/columns.js'
import { uniformCode } from '../../../protocol/uniform-code.js'
import type { Device } from '../../device/device.js'
import type { IndexShape, PreparedWrite, WriteBatch } from '../../index-structure.js'
import type { DeviceMemory } from '../../memory/page-run.js'
import type { Scratch } from '../../memory/scratch.js'
import { ArenaFull } from '../arena.js'
import { batchBytes, type ItemKinds, type ItemSource, type Items, itemKinds, MIXED } from '../batch/items.js'
import { treeShape } from '../layout.js'
import { batchOf } from '../partitions/traversal-costs.js'
import type { PrefixTree } from '../prefix-tree.js'
import type { CutPlace } from '../write/cut.js'
import type { Divider, Division } from './divider.js'
import { GatherRows } from './gather-rows.js'
import { pivotOf } from './pivot.js'
import type { ShardPlaces, Shards } from './shards.js'

/** A batch on the device, divided among the shards. */
interface DividedBatch {
  readonly held: HeldScratch
  readonly batch: WriteBatch
  /** Found while its columns are as they came: who has them may use their memory again once it is applied. */
  readonly kinds: ItemKinds
  readonly division: Division
  readonly payloads: DeviceMemory
  readonly ops: DeviceMemory
}

/** A write prepared in one shard. */
interface PreparedShare {
  readonly places: ShardPlaces
  readonly prepared: PreparedWrite
}

/** A shard that has no room for its share of a batch, and where to cut it. */
export interface FullShard {
  readonly tree: PrefixTree
  readonly place: CutPlace
}

/** What `prepare` comes to: the write, or the shards that must be cut before. */
export type Attempt = { readonly prepared: PreparedWrite } | { readonly full: readonly FullShard[] }

/** Scratch memory that goes back when the last one lets go of it. */
class HeldScratch {
  readonly scratch: Scratch
  #holds = 1

  constructor(scratch: Scratch) {
    this.scratch = scratch
  }

  hold(): void {
    this.#holds++
  }

  release(): void {
    this.#holds--
    if (this.#holds === 0) this.scratch.release()
  }
}

/** Writes to several shards: divided on the device, and settled in all of them before anything is applied in one. */
export class ShardWrites {
  readonly #device: Device
  readonly #shape: IndexShape
  readonly #divider: Divider
  readonly #gather: GatherRows

  constructor(device: Device, shape: IndexShape, divider: Divider) {
    this.#device = device
    this.#shape = shape
    this.#divider = divider
    this.#gather = new GatherRows(device)
  }

  /** @throws what preparing the batch throws for other reasons than that a shard is full and can be cut */
  async prepare({ boundaries, trees }: Shards, batch: WriteBatch): Promise<Attempt> {
    const held = new HeldScratch(this.#device.scratch())
    try {
      const divided = await this.#divide(held, boundaries, batch)
      const { positions, starts } = divided.division
      const shares = trees.flatMap((tree, shard) => {
        const count = starts[shard + 1] - starts[shard]
        return count === 0 ? [] : [{ tree, shard, places: { positions, first: starts[shard], count } }]
      })
      const settled = await Promise.allSettled(
        shares.map(async ({ tree, shard, places }) => {
          const share = { ...batchOf(treeShape(this.#shape), batch.keys), count: places.count }
          const source = this.#source(divided, shard, places)
          return { places, prepared: await tree.prepareItems(source, () => share, batch.traversal) }
        }),
      )
      const prepared = settled.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
      const failures = settled.flatMap((result, i) =>
        result.status === 'rejected' ? [{ ...shares[i], reason: result.reason }] : [],
      )
      if (failures.length === 0) return { prepared: await this.#joined(held, prepared) }
      for (const share of prepared) share.prepared.discard()
      const full: FullShard[] = []
      for (const { tree, places, reason } of failures) {
        if (!(reason instanceof ArenaFull)) throw reason
        const place = await this.#placeOfCut(tree.stats().keys, batch, places)
        if (place === undefined) throw reason
        full.push({ tree, place })
      }
      held.release()
      return { full }
    } catch (error) {
      held.release()
      throw error
    }
  }

  /** One shard's share, which lasts as long as the batch is held. */
  #source(divided: DividedBatch, shard: number, places: ShardPlaces): ItemSource {
    const { batch, held } = divided
    return {
      bytes: Math.ceil((batchBytes(batch) * places.count) / countOf(batch.keys)),
      provide: (scratch) => this.#share(scratch, divided, shard, places),
      hold: () => held.hold(),
      release: () => held.release(),
    }
  }

  async #divide(held: HeldScratch, boundaries: Column, batch: WriteBatch): Promise<DividedBatch> {
    const { scratch } = held
    const upload = (column: Uint8Array | undefined): DeviceMemory => {
      const buffer = scratch.bytes(column?.byteLength ?? 0)
      if (column !== undefined) this.#device.upload(buffer, column)
      return buffer
    }
    const payloads = upload(batch.payloads?.bytes)
    const ops = upload(typeof batch.ops === 'number' ? undefined : batch.ops)
    const kinds = itemKinds(this.#shape, batch)
    const division = await this.#divider.divide(scratch, boundaries, batch.keys)
    return { held, batch, kinds, division, payloads, ops }
  }

  /** One shard's items, in scratch buffers. */
  #share(scratch: Scratch, divided: DividedBatch, shard: number, places: ShardPlaces): Items {
    const { batch, kinds, division, payloads, ops } = divided
    const recorder = this.#device.record()
    const { keys, heap } = this.#divider.part(recorder, scratch, division, shard)
    const own = {
      ...kinds,
      count: places.count,
      keys: heap === undefined ? { fixed: keys } : { records: keys, heap },
      ops: kinds.op === MIXED ? this.#gather.record(recorder, scratch, ops, places, 1) : scratch.bytes(0),
      payloads:
        batch.payloads === undefined
          ? scratch.bytes(0)
          : this.#gather.record(recorder, scratch, payloads, places, this.#shape.payloadBytes),
    }
    recorder.submit()
    return own
  }

  /** The shares as one write. Takes over the hold on the batch. */
  async #joined(held: HeldScratch, shares: readonly PreparedShare[]): Promise<PreparedWrite> {
    const discard = () => {
      for (const { prepared } of shares) prepared.discard()
      held.release()
    }
    let codes: Uint8Array
    try {
      codes = await this.#codes(shares)
    } catch (error) {
      for (const { prepared } of shares) prepared.discard()
      throw error
    }
    return {
      codes,
      apply: () => {
        try {
          for (const { prepared } of shares) prepared.apply()
        } finally {
          held.release()
        }
      },
      discard,
    }
  }

  /** Result codes in the order of the batch. */
  async #codes(shares: readonly PreparedShare[]): Promise<Uint8Array> {
    const count = shares.reduce((sum, { places }) => sum + places.count, 0)
    const codes = new Uint8Array(count)
    if (count === 0) return codes
    // As all items of most batches have, then nothing has to be read.
    const uniform = new Set(shares.map(({ prepared }) => uniformCode(prepared.codes)))
    const [only] = uniform
    if (uniform.size === 1 && only !== undefined) return codes.fill(only)
    const positions = await this.#device.readWords(shares[0].places.positions, count)
    for (const { places, prepared } of shares) {
      prepared.codes.forEach((code, i) => {
        codes[positions[places.first + i]] = code
      })
    }
    return codes
  }

  /** Where to cut a full shard: in the middle of what it has more of, its own keys or those that come. */
  async #placeOfCut(
    keys: number,
    { keys: coming }: WriteBatch,
    { positions, first, count }: ShardPlaces,
  ): Promise<CutPlace | undefined> {
    if (keys >= count && keys > 1) return { rank: Math.floor(keys / 2) }
    const numbers = await this.#device.readWords(positions, count, 4 * first)
    const key = pivotOf(this.#shape.keyType, coming, numbers)
    return key && { key }
  }
}
