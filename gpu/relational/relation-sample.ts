import type { StringDictionary } from './string-dictionary.js'

/** Rows of a sample at most. A share of 0.5 is known from them to within 0.02, and what they take to be read does not count. */
export const SAMPLE_ROWS = 4096

/** By how much a relation may have grown before its sample is drawn anew. */
const GROWTH = 0.1

/** The values of a column in the rows of a sample, as they are on the device: words, of wide ones two a value, and strings by their numbers. */
export interface SampledColumn {
  readonly words: Uint32Array
  /** A bit a row, as in `DeviceColumnData`; undefined where all have values. */
  readonly validity: Uint32Array | undefined
  /** Of strings. */
  readonly dictionary: StringDictionary | undefined
}

/** Some rows of a relation, the same ones of all columns, so that it shows how these go together. */
export interface RelationSample {
  /** Rows of the relation when they were drawn. */
  readonly of: number
  /** Their numbers, ascending. */
  readonly rows: Uint32Array
  /** Those columns that were asked for so far, by name. */
  readonly columns: Map<string, SampledColumn>
}

/** Keeps a relation's sample until the relation has grown by a share, or its strings have other numbers. */
export class SampleKeeper {
  #sample: RelationSample | undefined

  /** @param rows of the relation now; those that a sample has are there still */
  at(rows: number): RelationSample {
    const kept = this.atHand(rows)
    if (kept !== undefined) return kept
    this.#sample = { of: rows, rows: sampleRows(rows), columns: new Map() }
    return this.#sample
  }

  /** The sample as it is, if it is one of the relation as it is. */
  atHand(rows: number): RelationSample | undefined {
    const kept = this.#sample
    return kept !== undefined && rows >= kept.of && rows <= kept.of * (1 + GROWTH) ? kept : undefined
  }

  /** Numbers of strings are others now. */
  forget(): void {
    this.#sample = undefined
  }
}

/**
 * Numbers of rows, all equally likely and none twice (Bentley and Floyd, "Programming pearls: a sample of brilliance", 1987). All
 * rows where they are few. Neighbours are drawn as often as others: what counts different values takes that for granted, and equal ones often
 * lie side by side.
 */
export function sampleRows(rows: number): Uint32Array {
  if (rows <= SAMPLE_ROWS) return Uint32Array.from({ length: rows }, (_, row) => row)
  const drawn = new Set<number>()
  for (let last = rows - SAMPLE_ROWS; last < rows; last++) {
    const row = Math.floor(scattered(last) * (last + 1))
    drawn.add(drawn.has(row) ? last : row)
  }
  return Uint32Array.from(drawn).sort()
}

/** A number from 0 to below 1 that follows from another without any order (the finisher of MurmurHash3). */
function scattered(number: number): number {
  let hash = (number + 0x9e3779b9) | 0
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return ((hash ^ (hash >>> 16)) >>> 0) / 2 ** 32
}
