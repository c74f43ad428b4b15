import type { MatchKind } from '../../../protocol/query/tree.js'
import type { QueryColumn } from '../query/query-column.js'
import type { Condition } from './selection-types.js'

/** A column's strings against a text, by their bytes on the device. */
export interface TextTest {
  readonly kind: 'text'
  /** Undefined where the entries are the numbers of the strings themselves. */
  readonly column: number | undefined
  readonly match: MatchKind
  readonly text: string
  readonly negated: boolean
  /** The dictionary's texts (`match.wesl`), and how many there are. */
  readonly texts: GPUBuffer
  readonly strings: number
}

/** A condition in a form that a kernel can evaluate. */
export type Testable =
  | Extract<Condition, { kind: 'values' }>
  | TextTest
  /** A bit for each value of a column. */
  | { readonly kind: 'lookUp'; readonly column: number; readonly bits: GPUBuffer }
  /** A bit for each entry. */
  | { readonly kind: 'marked'; readonly bits: GPUBuffer }
  | { readonly kind: 'any'; readonly branches: readonly (readonly Testable[])[] }

/** The buffers that tests read, once each. */
export function buffersOf(columns: readonly QueryColumn[], tests: readonly Testable[]): Set<GPUBuffer> {
  const buffers = new Set<GPUBuffer>()
  const addColumn = (number: number | undefined) => {
    const column = number === undefined ? undefined : columns[number]
    if (column !== undefined) buffers.add(column.values)
    if (column?.validity !== undefined) buffers.add(column.validity)
  }
  const add = (test: Testable) => {
    if (test.kind === 'any') test.branches.flat().forEach(add)
    else if (test.kind !== 'marked') addColumn(test.column)
    if (test.kind === 'text') buffers.add(test.texts)
    if (test.kind === 'lookUp' || test.kind === 'marked') buffers.add(test.bits)
  }
  tests.forEach(add)
  return buffers
}
