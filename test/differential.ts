import { isDeepStrictEqual } from 'node:util'
import type { IndexShape, IndexStructure, ScanRequest, WriteBatch } from '../gpu/index-structure.js'
import { KEY_TYPES, type KeyType, keyBytes, WriteOp } from '../protocol/types.js'
import { concat, ModelStructure } from './model-structure.js'
import type { Random } from './random.js'

/** What a program needs of the structure under test beside its interface. */
export interface Subject {
  create(shape: IndexShape): Promise<IndexStructure>
  /** The same content in a structure rebuilt from its image. */
  reload(structure: IndexStructure): Promise<IndexStructure>
  /** Removes garbage, whether that is worthwhile or not. */
  compact(structure: IndexStructure): Promise<void>
}

/** A shape at random. */
export function randomShape(random: Random, keyType: KeyType = random.pick(KEY_TYPES)): IndexShape {
  const payloadBytes = random.pick([4, 8, 1, 7, 16, 64])
  const matchFrom = payloadBytes === 16 && random.chance(0.7) ? 2 : 0
  return { keyType, payloadBytes, unique: random.chance(0.4), matchFrom }
}

/**
 * Runs a random program of batched operations against a structure and the model, and compares every answer.
 * @returns how many keys its batches held
 * @throws Error that names the step at which they part
 */
export async function runProgram(
  subject: Subject,
  random: Random,
  shape: IndexShape,
  steps: number,
): Promise<number> {
  const model = new ModelStructure(shape)
  let structure = await subject.create(shape)
  const keySpace = new KeySpace(random, shape.keyType)
  let keys = 0
  try {
    for (let step = 0; step < steps; step++) {
      const write = randomBatch(random, shape, keySpace)
      await compareWrite(structure, model, write, `step ${step}: write`)
      keys += write.keys.byteLength / keyBytes(shape.keyType)
      if (random.chance(0.15)) await subject.compact(structure)
      else if (random.chance(0.1)) {
        const reloaded = await subject.reload(structure)
        structure.destroy()
        structure = reloaded
      } else await structure.compactIfWorthwhile()
      keys += await compareReads(structure, model, random, keySpace, `step ${step}`)
    }
  } finally {
    structure.destroy()
  }
  return keys
}

/** Keys that meet each other often: few heads, many tails, extremes, and any at all. */
class KeySpace {
  readonly #random: Random
  readonly #type: KeyType
  readonly #heads: Uint8Array[]
  readonly #tailBits: number

  constructor(random: Random, type: KeyType) {
    this.#random = random
    this.#type = type
    const heads = random.pick([1, 4, 64])
    this.#heads = Array.from({ length: heads }, () => random.bytes(keyBytes(type)))
    this.#tailBits = random.pick([4, 8, 12])
  }

  column(count: number): Uint8Array {
    return concat(Array.from({ length: count }, () => this.#key()))
  }

  #key(): Uint8Array {
    const random = this.#random
    const kind = random.below(20)
    if (kind === 0) return random.bytes(keyBytes(this.#type))
    if (kind === 1) return extreme(random, this.#type)
    const key = random.pick(this.#heads).slice()
    const tail = random.below(2 ** this.#tailBits)
    key[0] = tail & 255
    key[1] = (key[1]! & ~(tail >> 8)) | (tail >> 8)
    return key
  }
}

function extreme(random: Random, type: KeyType): Uint8Array {
  if (type === 'f32') {
    return new Uint8Array(
      new Float32Array([random.pick([0, -0, Infinity, -Infinity, NaN, 1e-45, -1])]).buffer,
    )
  }
  if (type === 'f64') {
    return new Uint8Array(
      new Float64Array([random.pick([0, -0, Infinity, -Infinity, NaN, 5e-324, -1])]).buffer,
    )
  }
  const key = new Uint8Array(keyBytes(type)).fill(random.pick([0, 255]))
  if (random.chance(0.5)) key[key.length - 1] ^= 128
  return key
}

function randomBatch(random: Random, shape: IndexShape, keySpace: KeySpace): WriteBatch {
  const count = random.pick([1, 2, 17, 256, 257, 1000, 3000])
  const sameKey = random.chance(0.1)
  const keys = sameKey ? repeat(keySpace.column(1), count) : keySpace.column(count)
  // Few distinct payloads, so that pairs are met again.
  const variety = random.pick([2, 10, 1000])
  const payloads = concat(
    Array.from({ length: count }, () => {
      const payload = new Uint8Array(shape.payloadBytes)
      const value = random.below(variety)
      payload[shape.payloadBytes - 1] = value & 255
      if (shape.payloadBytes > 1) payload[shape.payloadBytes - 2] = value >> 8
      return payload
    }),
  )
  const kinds = Object.values(WriteOp)
  if (random.chance(0.4)) return { ops: WriteOp.insert, keys, payloads }
  if (random.chance(0.5)) return { ops: random.pick(kinds), keys, payloads }
  return { ops: Uint8Array.from({ length: count }, () => random.pick(kinds)), keys, payloads }
}

function repeat(key: Uint8Array, count: number): Uint8Array {
  return concat(Array.from({ length: count }, () => key))
}

async function compareWrite(
  structure: IndexStructure,
  model: IndexStructure,
  batch: WriteBatch,
  step: string,
): Promise<void> {
  const [ours, theirs] = [await structure.prepare(batch), await model.prepare(batch)]
  expectEqual(ours.codes, theirs.codes, `${step}: codes of ${JSON.stringify(batch.ops).slice(0, 60)}`)
  ours.apply()
  theirs.apply()
  const counted = ({ keys, payloads }: { keys: number; payloads: number }) => [keys, payloads]
  expectEqual(counted(structure.stats()), counted(model.stats()), `${step}: keys and payloads`)
}

async function compareReads(
  structure: IndexStructure,
  model: IndexStructure,
  random: Random,
  keySpace: KeySpace,
  step: string,
): Promise<number> {
  const count = random.pick([1, 31, 257, 1000])
  const keys = keySpace.column(count)
  expectEqual(await structure.get(keys), await model.get(keys), `${step}: get`)
  expectEqual(await structure.count(keys), await model.count(keys), `${step}: count`)
  const few = keys.subarray(0, Math.min(count, 50) * keyBytes(structure.shape.keyType))
  expectEqual(await structure.getAll(few, 1e6), await model.getAll(few, 1e6), `${step}: getAll`)
  for (const reverse of [false, true]) {
    const next = { keys: few, reverse }
    const { sequences: _a, ...ours } = await structure.getNext(next)
    const { sequences: _b, ...theirs } = await model.getNext(next)
    expectEqual(ours, theirs, `${step}: getNext${reverse ? ' reverse' : ''}`)
  }
  return count + (await compareScans(structure, model, random, keySpace, step))
}

async function compareScans(
  structure: IndexStructure,
  model: IndexStructure,
  random: Random,
  keySpace: KeySpace,
  step: string,
): Promise<number> {
  const ranges = random.pick([1, 3, 40])
  const width = keyBytes(structure.shape.keyType)
  const bound = () =>
    random.chance(0.3) ? undefined : numbersOnly(keySpace.column(ranges), structure.shape.keyType)
  const request: ScanRequest = {
    ranges,
    from: bound(),
    to: bound(),
    fromExclusive: random.chance(0.3),
    toExclusive: random.chance(0.3),
    reverse: random.chance(0.5),
    limit: random.pick([1, 2, 10, ranges === 1 ? 5000 : 100]),
  }
  let [ours, theirs] = [await structure.scan(request), await model.scan(request)]
  for (let page = 0; ; page++) {
    const { tokens: _a, ...seen } = ours
    const { tokens: _b, ...expected } = theirs
    expectEqual(
      seen,
      expected,
      `${step}: scan page ${page} of ${JSON.stringify({ ...request, from: 0, to: 0 })}`,
    )
    if (page === 3 || !theirs.more.includes(1)) return ranges
    ours = await structure.scan({ ...request, tokens: finished(ours.tokens, ours.more, width + 4) })
    theirs = await model.scan({ ...request, tokens: finished(theirs.tokens, theirs.more, width + 4) })
  }
}

/** Ranges without more entries are taken out of the next page. */
function finished(tokens: Uint8Array, more: Uint8Array, width: number): Uint8Array {
  const next = tokens.slice()
  more.forEach((flag, range) => {
    if (flag === 0) next.fill(255, range * width, (range + 1) * width)
  })
  return next
}

/** NaN is no bound. */
function numbersOnly(keys: Uint8Array, type: KeyType): Uint8Array {
  if (type === 'f32') {
    const floats = new Float32Array(keys.slice().buffer)
    return new Uint8Array(floats.map((value) => (Number.isNaN(value) ? 1 : value)).buffer)
  }
  if (type === 'f64') {
    const floats = new Float64Array(keys.slice().buffer)
    return new Uint8Array(floats.map((value) => (Number.isNaN(value) ? 1 : value)).buffer)
  }
  return keys
}

function expectEqual(seen: unknown, expected: unknown, what: string): void {
  if (isDeepStrictEqual(seen, expected)) return
  throw new Error(`${what}: ${difference(seen, expected)}`)
}

/** The first place at which two answers differ. */
function difference(seen: unknown, expected: unknown): string {
  if (ArrayBuffer.isView(seen) && ArrayBuffer.isView(expected)) {
    const a = seen as Uint8Array
    const b = expected as Uint8Array
    if (a.length !== b.length) return `length ${a.length} instead of ${b.length}`
    const at = a.findIndex((value, i) => value !== b[i])
    return `${a[at]} instead of ${b[at]} at ${at} of ${a.length}`
  }
  if (typeof seen === 'object' && typeof expected === 'object' && seen !== null && expected !== null) {
    for (const [name, value] of Object.entries(expected)) {
      const ours = (seen as Record<string, unknown>)[name]
      if (!isDeepStrictEqual(ours, value)) return `${name}: ${difference(ours, value)}`
    }
  }
  return `${JSON.stringify(seen)} instead of ${JSON.stringify(expected)}`
}
