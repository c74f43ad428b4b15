import { isDeepStrictEqual } from 'node:util'
import type { IndexShape, IndexStructure, WriteBatch } from '../gpu/index-structure.js'
import {
  type Column,
  columnFrom,
  columnOf,
  countOf,
  sliceColumn,
  valueAt,
  valuesOf,
} from '../protocol/columns.js'
import { LAYOUTS, type Traversal, type TreeLayout } from '../protocol/traversal.js'
import {
  FIXED_KEY_TYPES,
  type KeyType,
  keyWidth,
  SEQUENCE_BYTES,
  tokenWidth,
  WriteOp,
} from '../protocol/types.js'
import { type KeySpace, openKeySpace, VARIABLE_KEY_TYPES } from './key-space.js'
import { ModelStructure } from './model-structure.js'
import type { Random } from './random.js'
import { type FlatGet, type FlatNext, type FlatScan, reads, type ScanRequest } from './reads.js'

/** What a program needs of the structure under test beside its interface. */
export interface Subject {
  create(shape: IndexShape): Promise<IndexStructure>
  /** The same content in a structure rebuilt from its image. */
  reload(structure: IndexStructure): Promise<IndexStructure>
  /** Removes garbage, whether that is worthwhile or not, or begins to. */
  compact(structure: IndexStructure, inBackground?: boolean): Promise<void>
}

export const KEY_TYPES: readonly KeyType[] = [...FIXED_KEY_TYPES, ...VARIABLE_KEY_TYPES]

/** A shape at random. */
export function randomShape(random: Random, keyType: KeyType = random.pick(KEY_TYPES)): IndexShape {
  return { ...randomContent(random, keyType), ...randomLayout(random) }
}

/** What an index of any layout holds, at random. */
export function randomContent(random: Random, keyType: KeyType): IndexShape {
  const payloadBytes = random.pick([4, 8, 1, 7, 16, 64])
  const matchFrom = payloadBytes === 16 && random.chance(0.7) ? 2 : 0
  return { keyType, payloadBytes, unique: random.chance(0.4), matchFrom }
}

/** A layout at random. */
export function randomLayout(random: Random): TreeLayout {
  if (random.chance(0.35)) return { structure: 'css' }
  const linked = random.chance(0.4)
  if (random.chance(0.4)) return { linked }
  const layout = random.pick(LAYOUTS)
  const partitionLevels = random.pick([1, 2, 3, 5, 16, 'auto'] as const)
  const isGiven = layout === 'compact' || random.chance(0.7)
  return { layout, linked, ...(isGiven && { partitionLevels }) }
}

/** Bounds from which on writes to CSS-trees are merged at once: in programs, whose batches are small, hardly any, many, or none. */
export const MERGED_TUPLES = [1000, 10, Number.POSITIVE_INFINITY] as const

export interface ProgramOptions {
  readonly steps: number
  /** Items of a batch at most. */
  readonly most?: number
  /** Bytes of the longest key of variable length, or part of a tuple; at random unless given. */
  readonly longestPart?: number
  /** Share of the batches that only insert; 0.4 unless given. */
  readonly inserts?: number
  /** Ways to find keys: reads are made in each of them at one of the steps, writes in any; without them the structure's own choice. */
  readonly traversals?: readonly Traversal[]
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
  { steps, most = 3000, longestPart, inserts = 0.4, traversals = [] }: ProgramOptions,
): Promise<number> {
  const model = new ModelStructure(shape)
  let structure = await subject.create(shape)
  const keySpace = openKeySpace(random, shape.keyType, longestPart)
  const shift = random.below(steps)
  let keys = 0
  let failure: Error | undefined
  try {
    for (let step = 0; step < steps; step++) {
      const traversal = traversals.length === 0 ? undefined : random.pick(traversals)
      const write = { ...randomBatch(random, shape, keySpace, most, inserts), traversal }
      await compareWrite(structure, model, write, `step ${step}: write`)
      keys += countOf(write.keys)
      if (random.chance(0.15)) await subject.compact(structure, random.chance(0.6))
      else if (random.chance(0.1)) {
        const reloaded = await subject.reload(structure)
        structure.destroy()
        structure = reloaded
      } else await structure.compactIfWorthwhile({ inBackground: random.chance(0.8) })
      void structure.background?.then((error) => {
        failure ??= error
      })
      keys += await compareReads(structure, model, random, keySpace, `step ${step}`)
      if (failure !== undefined) throw failure
      for (const traversal of traversals.filter((_, i) => (i + shift) % steps === step)) {
        const what = `step ${step}, ${JSON.stringify(traversal)}`
        await compareTraversal(structure, model, random.pick([1, 2, 33]), keySpace, traversal, what)
      }
    }
    failure ??= await structure.background
    if (failure !== undefined) throw failure
  } finally {
    structure.destroy()
  }
  return keys
}

export function randomBatch(
  random: Random,
  shape: Pick<IndexShape, 'payloadBytes'>,
  keySpace: KeySpace,
  most: number,
  inserts: number,
): WriteBatch {
  const count = random.pick([1, 2, 17, 256, 257, 1000, 3000].filter((size) => size <= most))
  const sameKey = random.chance(0.1)
  const keys = sameKey ? repeat(keySpace.column(1), count) : keySpace.column(count)
  // Few distinct payloads, so that pairs are met again.
  const variety = random.pick([2, 10, 1000])
  const payloads = columnOf(
    Array.from({ length: count }, () => {
      const payload = new Uint8Array(shape.payloadBytes)
      const value = random.below(variety)
      payload[shape.payloadBytes - 1] = value & 255
      if (shape.payloadBytes > 1) payload[shape.payloadBytes - 2] = value >> 8
      return payload
    }),
    shape.payloadBytes,
  )
  const kinds = Object.values(WriteOp)
  const columns = { keys, payloads }
  if (random.chance(inserts)) return { ops: WriteOp.insert, ...columns }
  if (random.chance(0.5)) return { ops: random.pick(kinds), ...columns }
  return { ops: Uint8Array.from({ length: count }, () => random.pick(kinds)), ...columns }
}

function repeat({ bytes, width }: Column, count: number): Column {
  return columnOf(
    Array.from({ length: count }, () => bytes),
    width,
  )
}

async function compareWrite(
  structure: IndexStructure,
  model: ModelStructure,
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
  model: ModelStructure,
  random: Random,
  keySpace: KeySpace,
  step: string,
): Promise<number> {
  const count = random.pick([1, 31, 257, 1000])
  const column = keySpace.column(count)
  const { bytes: keys, offsets } = column
  expectEqual(await reads(structure).get(keys, offsets), await model.get(keys, offsets), `${step}: get`)
  expectEqual(await reads(structure).count(keys, offsets), await model.count(keys, offsets), `${step}: count`)
  const few = sliceColumn(column, 0, Math.min(count, 50))
  const all = [few.bytes, 1e6, few.offsets] as const
  expectEqual(await reads(structure).getAll(...all), await model.getAll(...all), `${step}: getAll`)
  for (const reverse of [false, true]) {
    const next = { keys: few.bytes, keyOffsets: few.offsets, reverse }
    const { sequences: _a, ...ours } = await reads(structure).getNext(next)
    const { sequences: _b, ...theirs } = await model.getNext(next)
    expectEqual(ours, theirs, `${step}: getNext${reverse ? ' reverse' : ''}`)
    await compareWalks(structure, model, few, reverse, step)
  }
  return count + (await compareScans(structure, model, random, keySpace, step))
}

/** Where each of some walks is. */
interface Position {
  readonly keys: Uint8Array
  readonly keyOffsets: Uint32Array | undefined
  readonly sequences: Uint8Array
}

/** Walks by get and a few getNexts. Sequence numbers may differ, each goes on from its own. */
async function compareWalks(
  structure: IndexStructure,
  model: ModelStructure,
  { bytes, offsets }: Column,
  reverse: boolean,
  step: string,
  traversal?: Traversal,
): Promise<void> {
  const first = await reads(structure).getFirst(bytes, offsets, traversal)
  const expected = await model.getFirst(bytes, offsets)
  expectEqual(withoutSequences(first), withoutSequences(expected), `${step}: get with sequence numbers`)
  const { keyType } = structure.shape
  let ours: Position = { keys: bytes, keyOffsets: offsets, sequences: first.sequences! }
  let theirs: Position = { keys: bytes, keyOffsets: offsets, sequences: expected.sequences! }
  for (let at = 1; at <= 3; at++) {
    const next = await reads(structure).getNext({ ...ours, reverse, traversal })
    const expected = await model.getNext({ ...theirs, reverse })
    const what = `${step}: walk${reverse ? ' reverse' : ''}, entry ${at}`
    expectEqual(withoutSequences(next), withoutSequences(expected), what)
    ours = following(ours, next, keyType)
    theirs = following(theirs, expected, keyType)
  }
}

/** Where a walk is after a step. One that has ended stays where it was. */
function following(before: Position, next: FlatNext, keyType: KeyType): Position {
  const width = keyWidth(keyType)
  const from = ({ keys, keyOffsets, sequences }: Position) => ({
    keys: valuesOf(columnFrom(keys, width, keyOffsets)),
    sequences: valuesOf({ bytes: sequences, width: SEQUENCE_BYTES }),
  })
  const [stayed, gone] = [from(before), from({ keyOffsets: undefined, ...next })]
  const isFound = (i: number) => ((next.found[i >> 3] >> (i & 7)) & 1) === 1
  const keys = columnOf(
    stayed.keys.map((key, i) => (isFound(i) ? gone.keys[i] : key)),
    width,
  )
  const sequences = stayed.sequences.map((sequence, i) => (isFound(i) ? gone.sequences[i] : sequence))
  return { keys: keys.bytes, keyOffsets: keys.offsets, sequences: columnOf(sequences, SEQUENCE_BYTES).bytes }
}

function withoutSequences({ sequences: _, ...columns }: FlatGet): Omit<FlatGet, 'sequences'> {
  return columns
}

/** Every operation that takes a traversal and changes nothing. */
async function compareTraversal(
  structure: IndexStructure,
  model: ModelStructure,
  count: number,
  keySpace: KeySpace,
  traversal: Traversal,
  step: string,
): Promise<void> {
  const column = keySpace.column(count)
  const { bytes: keys, offsets: keyOffsets } = column
  const ours = await reads(structure).get(keys, keyOffsets, traversal)
  expectEqual(ours, await model.get(keys, keyOffsets), `${step}: get`)
  for (const reverse of [false, true]) {
    const next = { keys, keyOffsets, reverse }
    const { sequences: _a, ...ours } = await reads(structure).getNext({ ...next, traversal })
    const { sequences: _b, ...theirs } = await model.getNext(next)
    expectEqual(ours, theirs, `${step}: getNext${reverse ? ' reverse' : ''}`)
    await compareWalks(structure, model, column, reverse, step, traversal)
  }
}

async function compareScans(
  structure: IndexStructure,
  model: ModelStructure,
  random: Random,
  keySpace: KeySpace,
  step: string,
): Promise<number> {
  const ranges = random.pick([1, 3, 40])
  const bound = () => (random.chance(0.3) ? undefined : keySpace.bounds(ranges))
  const from = bound()
  const to = bound()
  const request: ScanRequest = {
    ranges,
    from: from?.bytes,
    fromOffsets: from?.offsets,
    to: to?.bytes,
    toOffsets: to?.offsets,
    fromExclusive: random.chance(0.3),
    toExclusive: random.chance(0.3),
    reverse: random.chance(0.5),
    withoutKeys: random.chance(0.2),
    withoutPayloads: random.chance(0.2),
    limit: random.pick([1, 2, 10, ranges === 1 ? 5000 : 100]),
  }
  const counts = await reads(structure).countRanges(request)
  expectEqual(
    counts,
    await model.countRanges({ ...request, limit: Number.POSITIVE_INFINITY }),
    `${step}: countRanges`,
  )
  let [ours, theirs] = [await reads(structure).scan(request), await model.scan(request)]
  for (let page = 0; ; page++) {
    const { tokens: _a, tokenOffsets: _b, ...seen } = ours
    const { tokens: _c, tokenOffsets: _d, ...expected } = theirs
    const { reverse, limit, fromExclusive, toExclusive } = request
    const shown = JSON.stringify({ ranges, reverse, limit, fromExclusive, toExclusive })
    expectEqual(seen, expected, `${step}: scan page ${page} of ${shown}`)
    if (page === 3 || !theirs.more.includes(1)) return ranges
    const { keyType } = structure.shape
    ours = await reads(structure).scan({ ...request, ...unfinished(ours, keyType) })
    theirs = await model.scan({ ...request, ...unfinished(theirs, keyType) })
  }
}

/** Where the next page goes on; ranges without more entries are taken out of it. */
function unfinished(
  { tokens: bytes, tokenOffsets: offsets, more }: FlatScan,
  keyType: KeyType,
): Pick<ScanRequest, 'tokens' | 'tokenOffsets'> {
  const width = tokenWidth(keyType)
  const none = new Uint8Array(width ?? 4).fill(255)
  const tokens = columnFrom(bytes, width, offsets)
  const next = columnOf(
    Array.from(more, (flag, i) => (flag === 1 ? valueAt(tokens, i) : none)),
    width,
  )
  return { tokens: next.bytes, tokenOffsets: next.offsets }
}

/** @throws Error that says where they differ */
export function expectEqual(seen: unknown, expected: unknown, what: string): void {
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
