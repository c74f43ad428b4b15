/** An operator of a query that was carried out, with what it did. */
export interface QueryExplanation {
  readonly op: string
  /** Its place in the tree that was sent. */
  readonly path: string
  /** How it was done, such as the join that was chosen, where there is a choice. */
  readonly method?: string | undefined
  /** Of a selection with conditions to plan. */
  readonly selection?: SelectionExplanation | undefined
  readonly estimatedRows: number
  readonly rows: number
  /** Tables that it gave: more than one where its result came in passes. */
  readonly tables: number
  /** What its kernels wrote on the device, results and intermediate columns together. */
  readonly bytes: number
  /** From its first step to the end of its last, without the steps of its inputs. */
  readonly milliseconds: number
  readonly inputs: readonly QueryExplanation[]
}

/** How a selection was planned and what came of it: of the largest of its tables, where it had several. */
export interface SelectionExplanation {
  /** In the notation of Sitaridi and Ross: S211 is one kernel, K21 two. */
  readonly plan: string
  readonly estimatedMilliseconds: number
  /** What was evaluated, in its order. */
  readonly conditions: readonly string[]
  readonly kernels: readonly SelectionKernel[]
  /** Plans that were thought to take longer, the best first. */
  readonly alternatives: readonly { readonly plan: string; readonly estimatedMilliseconds: number }[]
}

/** A kernel of a plan, with the rows that it was thought to leave, and those that it has left. */
export interface SelectionKernel {
  readonly plan: string
  /** What it gave to the next one, or in the end: how many rows there are, their numbers, or columns. */
  readonly gives: 'count' | 'rows' | 'columns'
  readonly estimatedRows: number
  readonly rows: number
}
