import { isDeepStrictEqual } from 'node:util'
import type { Test } from 'tap'
import type { Device } from '../../../../gpu/device/device.js'
import type { Arena } from '../../../../gpu/index/arena.js'
import { TreeReader } from '../../../../gpu/index/read/tree-reader.js'
import type { IndexShape } from '../../../../gpu/index-structure.js'
import { Primitives } from '../../../../gpu/primitives/primitives.js'
import { type KeyType, keyWidth } from '../../../../protocol/types.js'
import { keyOf, ranksOf } from '../../../fixed-keys.js'
import { concat, type ModelStructure } from '../../../model-structure.js'
import { Random, seedOfRun } from '../../../random.js'
import { type HostEntry, type HostKey, modelOf, uploadTree } from '../host-tree.js'

/** A tree on the device, its reader, and what it must answer. */
export interface Subject {
  readonly shape: IndexShape
  readonly keys: readonly HostKey[]
  readonly arena: Arena
  readonly reader: TreeReader
  readonly model: ModelStructure
}

export function seeded(t: Test): Random {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  return new Random(seed)
}

/** `t.same`, but quick on long columns that are the same. */
export function same(t: Test, actual: unknown, expected: unknown, name = 'should be the same'): void {
  if (isDeepStrictEqual(actual, expected)) t.pass(name)
  else t.same(actual, expected, name)
}

export async function subjectOf(
  device: Device,
  shape: IndexShape,
  keys: readonly HostKey[],
  random: Random,
): Promise<Subject> {
  const reader = await TreeReader.create(device, await Primitives.create(device), shape)
  const arena = await uploadTree(device, shape, keys, random)
  return { shape, keys, arena, reader, model: modelOf(shape, keys) }
}

export function randomPayload(shape: IndexShape, random: Random): Uint8Array {
  return random.bytes(shape.payloadBytes)
}

/** Keys in clusters of every density with lists of every kind: alone, long, with gaps, dead at either end or altogether. */
export function randomKeys(shape: IndexShape, random: Random, count: number): HostKey[] {
  const ranks = new Map<string, bigint>()
  for (const key of randomColumn(shape.keyType, random, count)) {
    const [rank] = ranksOf(shape.keyType, key)
    if (rank !== undefined) ranks.set(String(rank), rank)
  }
  return [...ranks.values()].map((rank) => {
    const entries = shape.unique ? uniqueEntries(shape, random) : listEntries(shape, random)
    return random.chance(0.2) ? { rank, entries, depth: random.below(16) } : { rank, entries }
  })
}

function uniqueEntries(shape: IndexShape, random: Random): HostEntry[] {
  return [{ sequence: 0, payload: randomPayload(shape, random), dead: random.chance(0.1) }]
}

function listEntries(shape: IndexShape, random: Random): HostEntry[] {
  const length = random.pick([1, 1, 1, 2, 3, 5, 40, 300])
  const share = random.pick([0, 0, 0.1, 0.5, 0.95])
  const deadBefore = random.chance(0.3) ? random.below(length) : 0
  let sequence = random.below(3)
  return Array.from({ length }, (_, i) => {
    sequence += 1 + (random.chance(0.1) ? random.below(5) : 0)
    return {
      sequence,
      payload: randomPayload(shape, random),
      dead: i < deadBefore || random.chance(share),
    }
  })
}

/** Wire keys: clustered, scattered, extreme. */
function randomColumn(type: KeyType, random: Random, count: number): Uint8Array[] {
  const width = keyWidth(type) ?? 0
  const heads = Array.from({ length: 4 }, () => random.bytes(width))
  return Array.from({ length: count }, () => {
    if (random.chance(0.3)) return random.bytes(width)
    if (random.chance(0.05)) return extreme(type, random)
    const key = random.pick(heads).slice()
    key[0] = random.below(256)
    if (random.chance(0.3)) key[random.below(width)] = random.below(256)
    // Both words alike, so that mistaking one for the other shows.
    if (width === 8 && random.chance(0.1)) key.copyWithin(4, 0, 4)
    return key
  })
}

function extreme(type: KeyType, random: Random): Uint8Array {
  if (type === 'f32' || type === 'f64') {
    const value = random.pick([0, -0, Infinity, -Infinity, Number.MIN_VALUE, -1, 1, NaN])
    const column = type === 'f32' ? Float32Array.of(value) : Float64Array.of(value)
    return new Uint8Array(column.buffer)
  }
  const fill = random.pick([0, 0xff])
  const key = new Uint8Array(keyWidth(type) ?? 0).fill(fill)
  if (random.chance(0.5)) key[key.length - 1] ^= 0x80
  return key
}

/** Keys to ask for: mostly those of the tree, dead ones among them. */
export function queries({ shape, keys }: Subject, random: Random, count: number): Uint8Array {
  const others = randomColumn(shape.keyType, random, count)
  return concat(
    others.map((other) =>
      keys.length > 0 && random.chance(0.6) ? keyOf(shape.keyType, random.pick(keys).rank) : other,
    ),
  )
}
