import type { JoinAlgorithm } from './tree.js'

/** An operator of a query that was carried out, with what it did. */
export interface QueryExplanation {
  readonly op: string
  /** Its place in the tree that was sent. */
  readonly path: string
  /** How it was done, such as the join that was chosen, where there is a choice. */
  readonly method?: string | undefined
  /** Of a join: what it was estimated to take. */
  readonly join?: JoinExplanation | undefined
  /** Of a selection with conditions to plan. */
  readonly selection?: SelectionExplanation | undefined
  readonly estimatedRows: number
  readonly rows: number
  /** Tables that it gave: more than one where its result came in passes. */
  readonly tables: number
  /** What its kernels read on the device: of the rows that they went through the columns, numbers and keys that they needed. */
  readonly bytesRead: number
  /** What they wrote there, results and intermediate columns together. */
  readonly bytesWritten: number
  /** From its first step to the end of its last, without the steps of its inputs. */
  readonly milliseconds: number
  /** What copying as many bytes would take, as a share of its milliseconds; absent until the adapter's copies were measured. */
  readonly copyShare?: number | undefined
  readonly inputs: readonly QueryExplanation[]
}

/** By what factor an estimate of rows was off, either way (the q-error of Moerkotte et al. 2009): 1 where it was right; no row counts as one. */
export function qError(estimatedRows: number, rows: number): number {
  const [estimated, actual] = [Math.max(1, estimatedRows), Math.max(1, rows)]
  return Math.max(estimated / actual, actual / estimated)
}

/** What a join was estimated to take, and the algorithms that were thought to take longer, the best first. */
export interface JoinExplanation extends JoinEstimate {
  readonly alternatives: readonly JoinEstimate[]
}

export interface JoinEstimate {
  readonly algorithm: JoinAlgorithm
  readonly estimatedMilliseconds: number
}

/** How a selection was planned and what came of it: of the largest of its tables, where it had several. */
export interface SelectionExplanation {
  /** In the notation of Sitaridi and Ross: S211 is one kernel, K21 two. Behind an index, what was done for the rows that it gave. */
  readonly plan: string
  /** The index that was looked into beforehand. */
  readonly index?: SelectionIndex | undefined
  readonly estimatedMilliseconds: number
  /** What was evaluated, in its order. */
  readonly conditions: readonly string[]
  readonly kernels: readonly SelectionKernel[]
  /** Plans that were thought to take longer, the best first. */
  readonly alternatives: readonly { readonly plan: string; readonly estimatedMilliseconds: number }[]
}

/** An index that a selection went through: what it answered, the rows that it was thought to give, and those that it gave. */
export interface SelectionIndex {
  /** Absent where who asks may not see the index. */
  readonly name?: string | undefined
  readonly conditions: readonly string[]
  readonly estimatedRows: number
  readonly rows: number
}

/** A kernel of a plan, with the rows that it was thought to leave, and those that it has left. */
export interface SelectionKernel {
  readonly plan: string
  /** What it gave to the next one, or in the end: how many rows there are, their numbers, or columns. */
  readonly gives: 'count' | 'rows' | 'columns'
  readonly estimatedRows: number
  readonly rows: number
}
