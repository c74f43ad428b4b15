import { DeviceFull } from '../../../gpu/device/device-full.js'
import { isTooLarge } from '../../../gpu/relational/query/device-work.js'
import type { Table } from '../../../gpu/relational/query/table.js'
import type { TypedNode } from '../../../protocol/query/typed.js'
import type { QueryRun } from '../query-run.js'
import { waits } from '../shared-nodes.js'
import { collect, type Tables } from './tables.js'

/** The inputs of an operator of two, each as one table. */
export type Sides = () => Promise<readonly [left: Table, right: Table]>

interface Inputs {
  readonly left: TypedNode
  readonly right: TypedNode
}

type Execute = (run: QueryRun, node: TypedNode) => Tables

/**
 * Both inputs at a time: while one waits for something that it reads, the other goes on. One after the other where each step is timed, where one has nothing to wait
 * for, and where both together need more memory than there is.
 */
export function sidesOf(run: QueryRun, { left, right }: Inputs, execute: Execute): Sides {
  const all = (of: QueryRun, node: TypedNode) => collect(of, node, execute(of, node))
  return async () => {
    const isApart = run.isTimed || !waits(left) || !waits(right)
    const both = isApart ? undefined : await together(run, left, right, all)
    return both ?? [await all(run, left), await all(run, right)]
  }
}

/** @returns undefined where there is too little memory for that */
async function together(
  run: QueryRun,
  left: TypedNode,
  right: TypedNode,
  all: (run: QueryRun, node: TypedNode) => Promise<Table>,
): Promise<readonly [Table, Table] | undefined> {
  const runs = [run.beside(), run.beside()] as const
  const [ofLeft, ofRight] = await Promise.allSettled([all(runs[0], left), all(runs[1], right)])
  const made = ofLeft.status === 'fulfilled' && ofRight.status === 'fulfilled'
  const tables = made ? ([ofLeft.value, ofRight.value] as const) : undefined
  for (const [i, other] of runs.entries()) run.takeOver(other, tables?.[i])
  for (const side of [ofLeft, ofRight]) {
    if (side.status === 'rejected' && !lacksMemory(side.reason)) throw side.reason
  }
  return tables
}

function lacksMemory(error: unknown): boolean {
  return isTooLarge(error) || error instanceof DeviceFull
}
