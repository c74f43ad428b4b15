import { isDeepStrictEqual } from 'node:util'
import type { Test } from 'tap'
import type { Device } from '../../../../gpu/device/device.js'
import type { Arena } from '../../../../gpu/index/arena.js'
import type { BreadthFirst } from '../../../../gpu/index/read/breadth-first.js'
import { askedFor, type ReadOperation } from '../../../../gpu/index/read/read-operation.js'
import { createReads, type Reads } from '../../../../gpu/index/read/reads.js'
import type { SearchForm } from '../../../../gpu/index/read/scan.js'
import type { IndexShape, ReadColumns, ReadOp, ReadRequest } from '../../../../gpu/index-structure.js'
import type { DeviceMemory } from '../../../../gpu/memory/page-run.js'
import { Primitives } from '../../../../gpu/primitives/primitives.js'
import { type KeyType, keyWidth } from '../../../../protocol/types.js'
import { keyOf, ranksOf } from '../../../fixed-keys.js'
import type { ModelStructure } from '../../../model-structure.js'
import { concat } from '../../../plain-bytes.js'
import { Random, seedOfRun } from '../../../random.js'
import { type FlatScan, flat, type GetNextRequest, reads, type ScanRequest, scanOf } from '../../../reads.js'
import { type HostEntry, type HostKey, modelOf, uploadTree } from '../host-tree.js'

/** The reads of trees of one shape, each a method. */
class ArenaReader {
  readonly #reads: Reads

  constructor(reads: Reads) {
    this.#reads = reads
  }

  get(arena: Arena, keys: Uint8Array) {
    return this.#of(arena).get(keys)
  }

  getFirst(arena: Arena, keys: Uint8Array) {
    return this.#of(arena).getFirst(keys)
  }

  getAll(arena: Arena, keys: Uint8Array, limit: number) {
    return this.#of(arena).getAll(keys, limit)
  }

  count(arena: Arena, keys: Uint8Array) {
    return this.#of(arena).count(keys)
  }

  getNext(arena: Arena, request: GetNextRequest) {
    return this.#of(arena).getNext(request)
  }

  scan(arena: Arena, request: ScanRequest, form?: SearchForm) {
    const { options, columns } = scanOf(request, this.#reads.context.keyType)
    return this.#reads.scan.run({ arena }, options, columns, form).then(flat<FlatScan>)
  }

  order(...given: Parameters<BreadthFirst['order']>): DeviceMemory {
    return this.#reads.breadthFirst!.order(...given)
  }

  #of(arena: Arena) {
    const tree = { arena, keys: 1, plan: undefined }
    const { operations, context } = this.#reads
    return reads({
      shape: this.#reads.context,
      read<Op extends ReadOp>(request: ReadRequest<Op>, columns: ReadColumns) {
        const operation: ReadOperation<Op> = operations[request.op]
        return operation.run(tree, request, askedFor(context.keyType, request, columns))
      },
    })
  }
}

/** A tree on the device, its reader, and what it must answer. */
export interface Subject {
  readonly shape: IndexShape
  readonly keys: readonly HostKey[]
  readonly arena: Arena
  readonly reader: ArenaReader
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
  const reader = new ArenaReader(createReads(device, await Primitives.create(device), shape))
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
