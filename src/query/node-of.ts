import type { TypedNode } from '../../protocol/query/typed.js'

/** The checked nodes of an operator. */
export type NodeOf<Op extends TypedNode['op']> = Extract<TypedNode, { op: Op }>
