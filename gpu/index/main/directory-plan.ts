import type { TreeShape } from '../layout.js'

/** Separators of a node; `directory.wesl` has the same number. The header has room for ten levels, more than an index fills with so many. */
export const FANOUT = 8

/** Quads (four words) of the header. */
const HEADER_QUADS = 4
const QUAD_BYTES = 16

/** A level of a directory. */
export interface Level {
  readonly firstQuad: number
  /** Entries of all of its nodes, those past the last child included. */
  readonly places: number
}

/** Where the parts of a directory lie. */
export interface DirectoryPlan {
  /** The one above the leaves first. */
  readonly levels: readonly Level[]
  /** The table of buckets: its first word, and the logarithm of their number; undefined where there is none. */
  readonly buckets:
    | { readonly firstWord: number; readonly bits: number; readonly gapWords: number }
    | undefined
  readonly bytes: number
}

/** Tuples from which on there is a table of buckets: fewer are a level or two. */
const TUPLES_FOR_BUCKETS = 256

/** Buckets of the shortest long gap; `directory.wesl` has the same number. */
const LONG_GAP = 64

/** The directory over so many tuples. */
export function planDirectory(shape: TreeShape, tuples: number): DirectoryPlan {
  const { leafTuples, keyWords, form } = shape
  const nodeQuads = form === undefined ? (FANOUT * keyWords) / 4 : 1 + FANOUT / 2
  const levels: Level[] = []
  let quads = HEADER_QUADS
  let children = Math.ceil(tuples / leafTuples)
  while (children > 0) {
    const nodes = Math.ceil(children / FANOUT)
    levels.push({ firstQuad: quads, places: nodes * FANOUT })
    quads += nodes * nodeQuads
    children = nodes === 1 ? 0 : nodes
  }
  const bytes = quads * QUAD_BYTES
  if (form !== undefined || tuples < TUPLES_FOR_BUCKETS) return { levels, buckets: undefined, bytes }
  // Evenly spread keys are one to two a bucket.
  const bits = Math.floor(Math.log2(tuples))
  // One more than there are buckets, and whole quads.
  const words = 2 ** bits + 4
  // A count, and a word for each long gap: there cannot be more of them than fit beside each other.
  const gapWords = Math.ceil(2 ** bits / LONG_GAP) + 2
  return { levels, buckets: { firstWord: 4 * quads, bits, gapWords }, bytes: bytes + 4 * words }
}
