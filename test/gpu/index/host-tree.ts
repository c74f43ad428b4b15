import type { Device } from '../../../gpu/device/device.js'
import { Arena } from '../../../gpu/index/arena.js'
import { EXTENT_HEADER, SLOTS, type TreeShape, treeShape } from '../../../gpu/index/layout.js'
import type { IndexShape } from '../../../gpu/index-structure.js'
import type { KeyType } from '../../../protocol/types.js'
import { keyOf } from '../../fixed-keys.js'
import { ModelStructure } from '../../model-structure.js'
import { concat } from '../../plain-bytes.js'
import type { Random } from '../../random.js'

const NODE = 0x40000000
const TUPLE = 0x80000000
const DEAD = 0x80000000

/** A payload that was inserted under a key, and perhaps deleted since. */
export interface HostEntry {
  readonly sequence: number
  readonly payload: Uint8Array
  readonly dead?: boolean
}

export interface HostKey {
  readonly rank: bigint
  /** By ascending sequence number. Without a live one the key is not in the tree. */
  readonly entries: readonly HostEntry[]
  /** Depth that its tuple hangs at or below, as it does after the neighbours that put it there are deleted. */
  readonly depth?: number
}

/** A tree laid out by the host, word by word, with garbage between the records. */
export async function uploadTree(
  device: Device,
  shape: IndexShape,
  keys: readonly HostKey[],
  random: Random,
): Promise<Arena> {
  const image = new TreeImage(shape, random)
  image.hang(keys.filter(({ entries }) => entries.some(({ dead }) => !dead)))
  const tree = treeShape(shape)
  const need = {
    nodes: image.nodes.length / SLOTS,
    tuples: image.tuples.length / tree.tupleStride,
    extentWords: image.extents.length,
  }
  const arena = await Arena.create(device, tree, need)
  arena.nodes.take(need.nodes - arena.nodes.records)
  arena.takeTuples(need.tuples)
  arena.extents.take(need.extentWords - arena.extents.records)
  device.upload(arena.nodes.buffer, bytesOf(image.nodes))
  device.upload(arena.tuples.buffer, bytesOf(image.tuples))
  device.upload(arena.extents.buffer, bytesOf(image.extents))
  return arena
}

/** What a tree of these keys must answer. */
export function modelOf(shape: IndexShape, keys: readonly HostKey[]): ModelStructure {
  const rows = keys.flatMap(({ rank, entries }) =>
    entries.filter(({ dead }) => !dead).map((entry) => ({ rank, entry })),
  )
  return ModelStructure.restore(
    shape,
    new Map([
      ['keys', concat(rows.map(({ rank }) => keyOf(shape.keyType, rank)))],
      ['sequences', bytesOf(rows.map(({ entry }) => entry.sequence))],
      ['payloads', concat(rows.map(({ entry }) => entry.payload))],
    ]),
  )
}

class TreeImage {
  readonly nodes: number[] = new Array(SLOTS).fill(0)
  readonly tuples: number[] = []
  readonly extents: number[] = new Array(EXTENT_HEADER).fill(0)
  readonly #shape: IndexShape
  readonly #tree: TreeShape
  readonly #random: Random

  constructor(shape: IndexShape, random: Random) {
    this.#shape = shape
    this.#tree = treeShape(shape)
    this.#random = random
  }

  hang(keys: readonly HostKey[]): void {
    const ordered = keys.map((key) => ({ key, digits: digitsOf(this.#shape.keyType, key.rank), tuple: 0 }))
    // Tuples lie in the order of their creation, which is not that of the keys.
    for (const each of shuffled(ordered, this.#random)) each.tuple = this.#addTuple(each.key)
    this.#fillNode(0, ordered, 0)
  }

  #fillNode(
    node: number,
    keys: readonly { key: HostKey; digits: readonly number[]; tuple: number }[],
    depth: number,
  ): void {
    for (let digit = 0; digit < SLOTS; digit++) {
      const under = keys.filter(({ digits }) => digits[depth] === digit)
      if (under.length === 0) continue
      const { key, tuple } = under[0]
      const alone = under.length === 1 && depth >= (key.depth ?? 0)
      if (alone || depth === this.#tree.levels - 1) {
        this.nodes[node * SLOTS + digit] = TUPLE + tuple
        continue
      }
      this.#addGarbage(this.nodes, SLOTS)
      const child = this.nodes.length / SLOTS
      this.nodes.push(...new Array(SLOTS).fill(0))
      this.nodes[node * SLOTS + digit] = NODE + child
      this.#fillNode(child, under, depth + 1)
    }
  }

  #addTuple({ rank, entries }: HostKey): number {
    this.#addGarbage(this.tuples, this.#tree.tupleStride)
    const number = this.tuples.length / this.#tree.tupleStride
    const [first, ...further] = entries
    const key = orderedBits(this.#shape.keyType, rank)
    this.tuples.push(Number(key & 0xffffffffn))
    if (this.#tree.keyWords === 2) this.tuples.push(Number(key >> 32n))
    if (!this.#shape.unique) this.tuples.push(sequenceWord(first), this.#addExtent(further, first))
    this.tuples.push(...this.#payloadWords(first.payload))
    return number
  }

  /** The word offset of an extent with these entries, which may be none; 0 for no extent. */
  #addExtent(entries: readonly HostEntry[], inTuple: HostEntry): number {
    if (entries.length === 0 && this.#random.chance(0.7)) return 0
    this.#addGarbage(this.extents, 3)
    const at = this.extents.length
    const live = entries.filter(({ dead }) => !dead).length
    const leading = entries.findIndex(({ dead }) => !dead)
    const dead = leading < 0 ? entries.length : leading
    const spare = this.#random.below(3)
    const next = (entries.at(-1) ?? inTuple).sequence + 1
    this.extents.push(entries.length + spare, entries.length, live, next, this.#random.below(dead + 1))
    for (const entry of entries) {
      this.extents.push(sequenceWord(entry))
      for (const word of this.#payloadWords(entry.payload)) this.extents.push(word)
    }
    this.#pushRandom(this.extents, spare * this.#tree.entryStride)
    return at
  }

  #payloadWords(payload: Uint8Array): Uint32Array {
    const padded = new Uint8Array(this.#tree.payloadWords * 4)
    padded.set(payload)
    return new Uint32Array(padded.buffer)
  }

  #addGarbage(words: number[], record: number): void {
    if (this.#random.chance(0.2)) this.#pushRandom(words, record)
  }

  #pushRandom(words: number[], count: number): void {
    for (let i = 0; i < count; i++) words.push(this.#random.word())
  }
}

function sequenceWord({ sequence, dead }: HostEntry): number {
  return dead ? sequence + DEAD : sequence
}

/** The unsigned number that a key is in the tree: its rank from the smallest one's, bit by bit. */
export function orderedBits(type: KeyType, rank: bigint): bigint {
  const bits = type.endsWith('64') ? 64 : 32
  if (type.startsWith('u')) return rank
  if (type.startsWith('i')) return rank + (1n << BigInt(bits - 1))
  const wire = keyOf(type, rank)
  const view = new DataView(wire.buffer)
  const raw = bits === 64 ? view.getBigUint64(0, true) : BigInt(view.getUint32(0, true))
  return rank < 0n ? BigInt.asUintN(bits, ~raw) : raw + (1n << BigInt(bits - 1))
}

function digitsOf(type: KeyType, rank: bigint): number[] {
  const levels = type.endsWith('64') ? 16 : 8
  const key = orderedBits(type, rank)
  return Array.from({ length: levels }, (_, depth) => Number((key >> BigInt(4 * (levels - 1 - depth))) & 15n))
}

function shuffled<T>(items: readonly T[], random: Random): T[] {
  const result = [...items]
  for (let i = result.length - 1; i > 0; i--) {
    const j = random.below(i + 1)
    ;[result[i], result[j]] = [result[j], result[i]]
  }
  return result
}

function bytesOf(words: readonly number[]): Uint8Array {
  return new Uint8Array(Uint32Array.from(words).buffer)
}
