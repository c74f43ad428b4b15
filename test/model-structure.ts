import type {
  IndexShape,
  IndexStructure,
  NamedColumn,
  PayloadLists,
  PreparedWrite,
  ReadColumns,
  ReadOp,
  ReadRequest,
  ReadResults,
  StructureEntries,
  StructureImage,
  StructureStats,
  WriteBatch,
} from '../gpu/index-structure.js'
import { keyWidth } from '../protocol/types.js'
import type { SnapshotContent } from '../src/engine/snapshot-upkeep.js'
import type { StructureFactory } from '../src/engine/structures.js'
import { OrderedModel, type Rank } from './ordered-model.js'
import { concat, word, wordsOf } from './plain-bytes.js'

/** Keys of a group of columns; few, so that tests have more than one. */
const GROUP_KEYS = 100

/**
 * A model with the face of a structure: the oracle that structures on the device are compared with, and a stand-in for them where a
 * test is about something else.
 */
export class ModelStructure extends OrderedModel implements IndexStructure {
  readonly deviceBytes = 0
  readonly runs = []
  readonly derivedBytes = 0

  async read<Op extends ReadOp>(request: ReadRequest<Op>, columns: ReadColumns): Promise<ReadResults[Op]> {
    return this.answer(request, columns)
  }

  async prepare(batch: WriteBatch): Promise<PreparedWrite> {
    return { ...this.plan(batch), discard: () => {} }
  }

  async compactIfWorthwhile(): Promise<boolean> {
    return false
  }

  get background(): undefined {
    return undefined
  }

  async image(): Promise<StructureImage> {
    const ranks = this.order()
    const rows = ranks.flatMap((rank) => this.listOf(rank).map((entry) => ({ rank, entry })))
    const keys = this.column(rows.map(({ rank }) => this.keyOf(rank)))
    const parts = {
      keys: keys.bytes,
      keyOffsets: keys.offsets === undefined ? new Uint8Array() : new Uint8Array(keys.offsets.buffer),
      sequences: concat(rows.map(({ entry }) => word(entry.sequence))),
      payloads: concat(rows.map(({ entry }) => entry.payload)),
    }
    return {
      meta: { structure: 'model', rows: rows.length },
      parts: Object.entries(parts).map(([name, bytes]) => ({
        name,
        bytes: bytes.byteLength,
        chunks: [bytes],
      })),
    }
  }

  async copy(): Promise<ModelStructure> {
    const copy = new ModelStructure(this.shape)
    copy.copyFrom(this)
    return copy
  }

  async entries(): Promise<StructureEntries> {
    const { keys, payloads } = this.stats()
    const columns: NamedColumn[] = []
    const ranks = this.order()
    for (let group = 0; group * GROUP_KEYS < ranks.length; group++) {
      const own = ranks.slice(group * GROUP_KEYS, (group + 1) * GROUP_KEYS)
      for (const [name, bytes] of Object.entries(this.#columns(own)))
        columns.push({ name: `${group}/${name}`, chunks: chunked(bytes) })
    }
    async function* all(): AsyncGenerator<NamedColumn> {
      yield* columns
    }
    return { meta: { keys, payloads }, columns: all(), release: () => {} }
  }

  /** As what holds structures has it taken. */
  async snapshot(): Promise<SnapshotContent> {
    const { meta, columns, release } = await this.entries()
    return { meta, parts: columns, release }
  }

  #columns(ranks: readonly Rank[]): Record<string, Uint8Array> {
    const { bytes, offsets } = this.column(ranks.map((rank) => this.keyOf(rank)))
    const keys = { ...(offsets && { keyOffsets: new Uint8Array(offsets.buffer) }), keys: bytes }
    const lists = ranks.map((rank) => this.content.get(rank)!)
    const padded = (payload: Uint8Array) => concat([payload, new Uint8Array(-payload.length & 3)])
    const payloads = concat(lists.map(({ entries }) => padded(entries[0].payload)))
    const odd = [...lists.keys()].filter((i) => {
      const { entries, nextSequence } = lists[i]
      return !this.shape.unique && (entries.length !== 1 || nextSequence !== 1)
    })
    if (odd.length === 0) return { ...keys, payloads }
    return {
      ...keys,
      payloads,
      lists: concat(
        odd.flatMap((i) => [word(i), word(lists[i].entries.length), word(lists[i].nextSequence)]),
      ),
      entries: concat(
        odd.flatMap((i) =>
          lists[i].entries.flatMap(({ sequence, payload }) => [word(sequence), padded(payload)]),
        ),
      ),
    }
  }

  async renumber({ keys, lists, sequences }: PayloadLists): Promise<void> {
    let next = 0
    this.ranks(keys.bytes, keys.offsets).forEach((rank, i) => {
      const list = this.content.get(rank!)!
      const count = lists[2 * i]
      list.nextSequence = lists[2 * i + 1]
      list.entries = list.entries
        .slice(0, count)
        .map(({ payload }, j) => ({ payload, sequence: sequences[next + j] }))
      next += count
    })
  }

  /** Brings an image back, from its parts as whole columns. */
  static restore(shape: IndexShape, parts: ReadonlyMap<string, Uint8Array>): ModelStructure {
    const structure = new ModelStructure(shape)
    const sequences = wordsOf(parts.get('sequences')!)
    const payloads = parts.get('payloads')!
    const keyOffsets = parts.get('keyOffsets')
    const offsets = keyWidth(shape.keyType) === undefined ? wordsOf(keyOffsets!) : undefined
    structure.ranks(parts.get('keys')!, offsets).forEach((rank, i) => {
      const list = structure.content.get(rank!) ?? { nextSequence: 0, entries: [] }
      list.entries.push({
        sequence: sequences[i],
        payload: payloads.slice(i * shape.payloadBytes, (i + 1) * shape.payloadBytes),
      })
      list.nextSequence = sequences[i] + 1
      structure.content.set(rank!, list)
    })
    return structure
  }

  stats(): StructureStats {
    let payloads = 0
    let usedBytes = 0
    for (const [rank, { entries }] of this.content) {
      payloads += entries.length
      usedBytes += entries.length * (this.keyOf(rank).length + this.shape.payloadBytes)
    }
    const regions = [{ role: 'model', bytes: usedBytes, usedBytes, garbageBytes: 0 }]
    const memory = { deviceBytes: usedBytes, usedBytes, garbageBytes: 0, regions }
    return { keys: this.content.size, payloads, shards: 1, ...memory, traversals: {} }
  }

  destroy(): void {
    this.content.clear()
  }
}

/** Makes models in the place of structures on a device. */
export const modelStructures: StructureFactory = {
  create: async (_device, shape) => new ModelStructure(shape),
  restore: async (_device, shape, { parts: given }) => {
    const parts = new Map<string, Uint8Array>()
    for (const { name, chunks } of given) for await (const chunk of chunks) parts.set(name, chunk)
    return ModelStructure.restore(shape, parts)
  },
}

async function* chunked(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.byteLength; at += 1 << 16) yield bytes.subarray(at, at + (1 << 16))
}
