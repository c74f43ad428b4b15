import fc from 'fast-check'
import type { ColumnShape, Columns } from '../../../bench/papers/he/columns.js'
import type { DeviceMemory } from '../../../gpu/memory/page-run.js'
import { type Outputs, randomWords, same } from './bed.js'

/** Columns of a test in host memory; payloads of no words are empty. */
export interface HostColumns {
  readonly keys: Uint32Array
  readonly payloads: Uint32Array
}

export const ALL_SHAPES: readonly ColumnShape[] = ([1, 2] as const).flatMap((keyWords) =>
  ([0, 1, 2] as const).map((payloadWords) => ({ keyWords, payloadWords })),
)

export const anyShape: fc.Arbitrary<ColumnShape> = fc.constantFrom(...ALL_SHAPES)

/** Every width of keys and of payloads, for what has many kernels a shape. */
export const SOME_SHAPES: readonly ColumnShape[] = [
  { keyWords: 1, payloadWords: 1 },
  { keyWords: 2, payloadWords: 0 },
  { keyWords: 2, payloadWords: 2 },
]

/** A word of a key from a random word and the key's position. */
const KINDS = {
  random: (random: number) => random,
  few: (random: number) => (random % 3 === 0 ? 0xffffffff : random % 4),
  mostlyEqual: (random: number) => (random % 64 === 0 ? random : 77),
  equal: () => 0x80ff7f01,
  ascending: (_: number, position: number) => position >>> 1,
  descending: (_: number, position: number) => 2 ** 32 - 1 - position,
}

export type KeyKind = keyof typeof KINDS

export const KEY_KINDS = Object.keys(KINDS) as KeyKind[]

export const anyKeyKind: fc.Arbitrary<KeyKind> = fc.constantFrom(...KEY_KINDS)

/** Keys of a kind, low word first, and random payloads. */
export function makeColumns(kind: KeyKind, seed: number, count: number, shape: ColumnShape): HostColumns {
  const { keyWords, payloadWords } = shape
  const keys = randomWords(seed, count * keyWords).map((word, i) =>
    KINDS[kind](word, Math.floor(i / keyWords)),
  )
  return { keys, payloads: randomWords(seed + 1, count * payloadWords) }
}

export function uploadColumns(
  upload: (words: Uint32Array) => DeviceMemory,
  { keys, payloads }: HostColumns,
  shape: ColumnShape,
): Columns {
  return { keys: upload(keys), payloads: shape.payloadWords > 0 ? upload(payloads) : undefined }
}

/** Columns on the device as outputs of a test; where there are no payloads, none of the keys stand for them. */
export function columnOutputs(columns: Columns, count: number, shape: ColumnShape): Outputs {
  return [
    [columns.keys, count * shape.keyWords],
    [columns.payloads ?? columns.keys, count * shape.payloadWords],
  ]
}

/** Negative, 0 or positive as key i comes before, equals or comes after key j. */
function compareKeys(keys: Uint32Array, i: number, j: number, keyWords: number): number {
  for (let word = keyWords - 1; word >= 0; word--) {
    const difference = keys[i * keyWords + word]! - keys[j * keyWords + word]!
    if (difference !== 0) return difference
  }
  return 0
}

/** The columns with the elements at these positions, in this order. */
export function reordered(columns: HostColumns, order: readonly number[], shape: ColumnShape): HostColumns {
  const pick = (words: Uint32Array, width: number) =>
    Uint32Array.from(
      { length: order.length * width },
      (_, i) => words[order[Math.floor(i / width)]! * width + (i % width)]!,
    )
  return { keys: pick(columns.keys, shape.keyWords), payloads: pick(columns.payloads, shape.payloadWords) }
}

/** The columns sorted by key, stably. */
export function sortedColumns(columns: HostColumns, shape: ColumnShape): HostColumns {
  const { keys } = columns
  const order = Array.from({ length: keys.length / shape.keyWords }, (_, i) => i)
  return reordered(
    columns,
    order.sort((i, j) => compareKeys(keys, i, j, shape.keyWords) || i - j),
    shape,
  )
}

/** Throws if what was read differs from the columns. */
export function sameColumns(found: readonly Uint32Array[], wanted: HostColumns): void {
  same(found[0]!, wanted.keys)
  same(found[1]!, wanted.payloads)
}
