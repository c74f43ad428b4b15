import type { Conditions } from '../../device/shaders.js'
import type { TreeShape } from '../layout.js'

/** Conditions of kernels that write tuples by `new-tuple.wesl`. */
export function newTupleConditions(
  { conditions, tupleStride, keyWords }: TreeShape,
  payloadBytes: number,
): Conditions {
  const quads = tupleStride === 4
  const pairs = !quads && keyWords === 2 && payloadBytes === 8
  return { ...conditions, quads, pairs, paired: pairs || (quads && payloadBytes === 8) }
}

/** A region of tuples by the names that `new-tuple.wesl` has for it. */
export function newTuples(buffer: GPUBuffer): Readonly<Record<string, GPUBuffer>> {
  return { quads: buffer, pairs: buffer, newTuples: buffer }
}
