/** An operator of a query that was carried out, with what it did. */
export interface QueryExplanation {
  readonly op: string
  /** Its place in the tree that was sent. */
  readonly path: string
  /** How it was done, such as the join that was chosen, where there is a choice. */
  readonly method?: string | undefined
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
