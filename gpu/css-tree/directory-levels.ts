import type { TreeShape } from '../prefix-tree/layout.js'

/** Separators of a node: a line of 64 bytes of them, or 8 heads; `directory.wesl` has the same numbers. */
export function fanoutOf({ keyWords }: TreeShape): number {
  return keyWords === 1 ? 16 : 8
}

/** Quads (four words) of the header. */
const HEADER_QUADS = 4
const QUAD_BYTES = 16

/** A level of a directory. */
export interface Level {
  readonly firstQuad: number
  /** Entries of all of its nodes, those past the last child included. */
  readonly places: number
}

/** Where the levels of a directory over so many tuples lie, the one above the leaves first, and its size. */
export function levelsOver(shape: TreeShape, tuples: number): { levels: Level[]; bytes: number } {
  const { leafTuples, form } = shape
  const fanout = fanoutOf(shape)
  const nodeQuads = form === undefined ? 4 : 5
  const levels: Level[] = []
  let quads = HEADER_QUADS
  let children = Math.ceil(tuples / leafTuples)
  while (children > 0) {
    const nodes = Math.ceil(children / fanout)
    levels.push({ firstQuad: quads, places: nodes * fanout })
    quads += nodes * nodeQuads
    children = nodes === 1 ? 0 : nodes
  }
  return { levels, bytes: quads * QUAD_BYTES }
}

/** Bytes of a directory over so many tuples. */
export function directoryBytes(shape: TreeShape, tuples: number): number {
  return levelsOver(shape, tuples).bytes
}
