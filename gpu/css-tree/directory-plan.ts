import type { TreeShape } from '../prefix-tree/layout.js'

/** Separators of a node; `directory.wesl` has the same number. */
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
  readonly buckets: { readonly firstWord: number; readonly bits: number } | undefined
  readonly bytes: number
}

/** Leaves from which on there is a table of buckets, and the logarithm of its size at most: 16 MiB of the caches. */
const LEAVES_FOR_BUCKETS = 64
const MOST_BUCKET_BITS = 22

/** The directory over so many tuples. */
export function planDirectory(shape: TreeShape, tuples: number): DirectoryPlan {
  const { leafTuples, keyWords, form } = shape
  const nodeQuads = form === undefined ? 2 * keyWords : 5
  const levels: Level[] = []
  const leaves = Math.ceil(tuples / leafTuples)
  let quads = HEADER_QUADS
  let children = leaves
  while (children > 0) {
    const nodes = Math.ceil(children / FANOUT)
    levels.push({ firstQuad: quads, places: nodes * FANOUT })
    quads += nodes * nodeQuads
    children = nodes === 1 ? 0 : nodes
  }
  const bytes = quads * QUAD_BYTES
  if (form !== undefined || leaves < LEAVES_FOR_BUCKETS) return { levels, buckets: undefined, bytes }
  const bits = Math.min(Math.floor(Math.log2(leaves)) - 1, MOST_BUCKET_BITS)
  // One more than there are buckets, and whole quads.
  const words = 2 ** bits + 4
  return { levels, buckets: { firstWord: 4 * quads, bits }, bytes: bytes + 4 * words }
}
