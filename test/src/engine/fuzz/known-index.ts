import type { ReadColumns, ReadOp, ReadRequest, WriteBatch } from '../../../../gpu/index-structure.js'
import {
  aligned,
  type Column,
  columnOf,
  concatenate,
  countOf,
  valuesOf,
} from '../../../../protocol/columns.js'
import { type IndexDefinition, isFixedKeyType, payloadBytes } from '../../../../protocol/types.js'
import type { Clock, Index, IndexWrite } from '../../../../src/engine/index.js'
import { KEY_TYPES, randomBatch, randomLayout } from '../../../differential.js'
import { type KeySpace, openKeySpace } from '../../../key-space.js'
import { OrderedModel, type PlannedWrite } from '../../../ordered-model.js'
import type { Random } from '../../../random.js'
import { randomExpiries, TIME_BYTES, withTimes } from './expiries.js'
import { Followed } from './followed.js'

/** Bytes that the model has of a payload of any length. */
const LONGEST_PAYLOAD = 8
const LONGEST_KEY = 40

/** An answer to a read that has several columns. */
type Answer = { readonly [name: string]: unknown } & { readonly payloads?: Column }

/** What is there for indexes. */
export interface Room {
  /** Whether they are to be cut into shards. */
  readonly isCut: boolean
  /** Bytes of device memory; unlimited without it. */
  readonly deviceMemory?: number | undefined
}

/** A definition at random of what has room. */
export function randomDefinition(
  random: Random,
  name: string,
  { isCut, deviceMemory }: Room,
): IndexDefinition {
  const payloadKind = random.pick(['u32', 'u64', 'bytes', 'bytes', 'fixed(7)', 'fixed(64)'] as const)
  const keyType = random.pick(KEY_TYPES)
  const { structure = 'prefix', ...layout } = randomLayout(random)
  const ttl = random.chance(0.5) ? { ttl: random.pick([0, 5, 40]) } : {}
  // One key's payloads must fit into a shard, and so must a few keys of full trees.
  if (isCut) return { name, keyType, payloadKind, unique: true, structure, ...ttl }
  const unique = random.chance(0.4)
  const isTooLarge = deviceMemory !== undefined && layout.layout === 'full'
  return { name, keyType, payloadKind, unique, structure, ...ttl, ...(isTooLarge ? {} : layout) }
}

/** An index of an engine, whatever it is called, and what it must hold once all that was asked is done. */
export class KnownIndex {
  readonly definition: IndexDefinition
  readonly keySpace: KeySpace
  readonly model: OrderedModel
  /** What its feed has made of nothing. */
  readonly followed: Followed
  /** Another one after a restart. */
  index: Index
  readonly #clock: Pick<Clock, 'date'>
  /** Bytes that the model has of a payload, without its time. */
  readonly #payloadBytes: number

  /** @param keySpace of its keys, for an index over a column */
  constructor(random: Random, index: Index, clock: Pick<Clock, 'date'>, keySpace?: KeySpace) {
    const { definition } = index
    const { keyType, payloadKind, unique, ttl } = definition
    this.index = index
    this.definition = definition
    this.#clock = clock
    this.keySpace =
      keySpace ?? openKeySpace(random, keyType, isFixedKeyType(keyType) ? undefined : LONGEST_KEY)
    this.#payloadBytes = payloadBytes(payloadKind) ?? LONGEST_PAYLOAD
    const expires = ttl !== undefined
    this.model = new OrderedModel({
      keyType,
      payloadBytes: expires ? TIME_BYTES + this.#payloadBytes : this.#payloadBytes,
      unique,
      expires,
      matchFrom: expires ? TIME_BYTES / 4 : 0,
    })
    this.followed = new Followed(this)
  }

  /** Whether it is over a column of a relation, so that it takes no writes. */
  get isDerived(): boolean {
    return this.definition.of !== undefined
  }

  /**
   * A batch at random, as the index takes it and as its model does.
   * @param most items at most
   * @param inserts share of the batches that only insert
   */
  randomWrite(
    random: Random,
    most: number,
    inserts: number,
  ): { readonly columns: IndexWrite; readonly batch: WriteBatch } {
    const { ttl } = this.definition
    const batch = randomBatch(random, { payloadBytes: this.#payloadBytes }, this.keySpace, most, inserts)
    const columns = { ...batch, payloads: batch.payloads && this.payloadsOf(batch.payloads) }
    if (ttl === undefined || batch.payloads === undefined) return { columns, batch }
    const { given, times } = randomExpiries(random, ttl, countOf(batch.keys), this.#clock.date())
    return {
      columns: { ...columns, expireAt: given },
      batch: { ...batch, payloads: withTimes(batch.payloads, times) },
    }
  }

  /** Has a batch take place in its model, behind which all leaves that expires until now. */
  apply(planned: PlannedWrite): void {
    planned.apply()
    this.expire()
  }

  /** Has all leave a model of it that expires until now. */
  expire(model: OrderedModel = this.model): void {
    if (model.shape.expires) model.expire(this.#clock.date())
  }

  /** Payloads of the index, and when they expire if they do, as the model has them. */
  modelPayloads(column: Column, expireAt: Column | undefined): Column {
    const width = this.#payloadBytes
    const padded = valuesOf(column).map((value) => concatenate([new Uint8Array(width - value.length), value]))
    const payloads = columnOf(padded, width)
    return expireAt === undefined
      ? payloads
      : withTimes(payloads, [...aligned(expireAt.bytes, BigUint64Array)])
  }

  /** Payloads of the model as the index takes them: those of any length have no zeros at their beginning. */
  payloadsOf(column: Column): Column {
    const isCut = payloadBytes(this.definition.payloadKind) === undefined
    return isCut ? columnOf(valuesOf(column).map(trimmed)) : column
  }

  /** What is to be compared of an answer of the index, or of its model. */
  comparable(answer: unknown): unknown {
    if (ArrayBuffer.isView(answer)) return answer
    // Each has sequence numbers, and with them tokens, of its own.
    const { payloads, tokens: _, sequences: __, ...rest } = answer as Answer
    const shown = payloads && valuesOf(payloads).map((value) => Buffer.from(trimmed(value)).toString('hex'))
    return Object.fromEntries(
      Object.entries({ ...rest, payloads: shown }).filter(([, part]) => part !== undefined),
    )
  }

  /** A read at random. */
  randomRead(random: Random): { readonly request: ReadRequest<ReadOp>; readonly columns: ReadColumns } {
    const keys = this.keySpace.column(random.pick([1, 3, 40]))
    const reverse = random.chance(0.5)
    const ranges = random.pick([1, 1, 3])
    const bound = () => (random.chance(0.3) ? undefined : this.keySpace.bounds(ranges))
    const range = { ranges, fromExclusive: random.chance(0.3), toExclusive: random.chance(0.3) }
    const withExpireAt = this.definition.ttl !== undefined && random.chance(0.5)
    switch (random.below(6)) {
      case 0:
        return { request: { op: 'get', withSequences: random.chance(0.3) }, columns: { keys } }
      case 1:
        return { request: { op: 'getAll', limit: 1e6 }, columns: { keys } }
      case 2:
        return { request: { op: 'count' }, columns: { keys } }
      case 3:
        return { request: { op: 'getNext', reverse }, columns: { keys } }
      case 4:
        return { request: { op: 'countRanges', ...range }, columns: { from: bound(), to: bound() } }
      default:
        return {
          request: { op: 'scan', ...range, reverse, limit: random.pick([1, 20, 5000]), withExpireAt },
          columns: { from: bound(), to: bound() },
        }
    }
  }
}

function trimmed(payload: Uint8Array): Uint8Array {
  const first = payload.findIndex((byte) => byte !== 0)
  return payload.subarray(first === -1 ? payload.length : first)
}
