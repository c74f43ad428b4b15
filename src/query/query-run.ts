import type { DeviceMemory } from '../../gpu/memory/page-run.js'
import type { ColumnIndex, DeviceRelation } from '../../gpu/relational/device-relation.js'
import type { JoinChoice } from '../../gpu/relational/joins/join-choice.js'
import type { Origin } from '../../gpu/relational/order/column-facts.js'
import {
  CONDITION_FAULT,
  type DeviceWork,
  EXPRESSION_FAULT,
  faultySum,
} from '../../gpu/relational/query/device-work.js'
import type { QueryColumn } from '../../gpu/relational/query/query-column.js'
import type { Table } from '../../gpu/relational/query/table.js'
import { WarpdexError } from '../../protocol/errors.js'
import { getOrInsert } from '../../protocol/get-or-insert.js'
import { inputsOf, type TypedNode } from '../../protocol/query/typed.js'
import { SelectionFigures } from './selection/selection-figures.js'
import { SharedTables } from './shared-tables.js'

export interface RunOptions {
  /** Throws where nobody waits for the result any more; asked before each step, and before each slice of its work. */
  readonly refuse?: () => void
  /** Bytes that may have been given back and wait for work to be submitted; none if absent. */
  readonly waitingBytes?: number
  /** Whether the device is waited for behind each step, so that its time is that of the step. */
  readonly isTimed?: boolean | undefined
  /** Whether who asks may be told of an index; of all of them if this is absent. */
  readonly maySee?: ((index: string) => boolean) | undefined
}

/** What the steps of one operator have done so far. */
export class StepFigures {
  rows = 0
  steps = 0
  /** What its kernels read of the device's memory, and wrote there: results and what they need on the way. */
  bytesRead = 0
  bytesWritten = 0
  milliseconds = 0
  /** How it was done, where there was a choice. */
  method: string | undefined
  /** Of a join: the algorithm of the last one, and what each was estimated to take, in nanoseconds. */
  join: Pick<JoinChoice, 'algorithm' | 'costs'> | undefined
  /** Of a `where`: how its selections were planned. */
  readonly selections = new SelectionFigures()
}

/**
 * One execution of a query: what it reads, what it holds on the device, and what its steps took. Steps run one after the other, but for those of a run beside it. A table
 * that a step hands on is held until the one that takes it drops it; whatever no held table needs is given back then.
 */
export class QueryRun {
  readonly work: DeviceWork
  readonly relations: ReadonlyMap<string, DeviceRelation>
  /** What several operators take as an input. */
  readonly shared: SharedTables
  readonly #figures: Map<TypedNode, StepFigures>
  readonly #held = new Set<Table>()
  readonly #kept = new Set<readonly DeviceMemory[]>()
  readonly #options: RunOptions

  /** @param relations every one that the query names */
  constructor(
    work: DeviceWork,
    relations: ReadonlyMap<string, DeviceRelation>,
    options: RunOptions = {},
    figures = new Map<TypedNode, StepFigures>(),
    shared = new SharedTables(),
  ) {
    this.work = work
    this.relations = relations
    this.#options = options
    this.#figures = figures
    this.shared = shared
    for (const relation of relations.values()) work.facts.add(relation)
  }

  /** A relation that the query names. */
  relation(name: string): DeviceRelation {
    const relation = this.relations.get(name)
    if (relation === undefined) throw new WarpdexError('INTERNAL', `relation "${name}" is not at hand`)
    return relation
  }

  /** The relation that a column is one of, if it is not a computed one. */
  originOf(column: QueryColumn): Origin | undefined {
    return this.work.facts.originOf(column)
  }

  /** For steps that go on beside this run's, until it takes them over. */
  beside(): QueryRun {
    return new QueryRun(this.work.beside(), this.relations, this.#options, this.#figures, this.shared)
  }

  /** What went on beside is over. */
  takeOver(other: QueryRun, made: Table | undefined): void {
    this.work.takeOver(other.work)
    if (made !== undefined) this.#held.add(made)
    this.#giveBack()
  }

  /** Whether figures of the steps are asked for. */
  get isTimed(): boolean {
    return this.#options.isTimed === true
  }

  /** The name of an index that is used, for explanations; undefined where who asks may not see it. */
  nameOf({ name }: ColumnIndex): string | undefined {
    const { maySee } = this.#options
    return maySee === undefined || maySee(name) ? name : undefined
  }

  figures(node: TypedNode): StepFigures {
    return getOrInsert(this.#figures, node, () => new StepFigures())
  }

  /**
   * Runs a step of a node, which makes a table of others.
   * @param inputs what it takes, dropped when it is done
   * @throws WarpdexError `CANCELLED`; `BAD_REQUEST` where an expression has overflowed
   */
  async step(node: TypedNode, inputs: readonly Table[], make: () => Promise<Table> | Table): Promise<Table> {
    const made = await this.replace(node, inputs, make)
    const figures = this.figures(node)
    figures.rows += made.rows
    figures.steps++
    return made
  }

  /** As a step, but what it makes was counted before: the tables of a node as one. */
  async replace(
    node: TypedNode,
    inputs: readonly Table[],
    make: () => Promise<Table> | Table,
  ): Promise<Table> {
    this.refuse()
    return this.measure(node, async () => {
      try {
        const made = await make()
        for (const input of inputs) this.#held.delete(input)
        this.#held.add(made)
        this.#giveBack()
        await this.#regain()
        await this.work.letOthers()
        return made
      } catch (error) {
        for (const input of inputs) this.drop(input)
        throw error
      }
    })
  }

  /** Reads something of a table, as a node's work. Memory that this takes is given back. */
  async read<T>(node: TypedNode, work: () => Promise<T>): Promise<T> {
    try {
      return await this.measure(node, work)
    } finally {
      this.#giveBack()
    }
  }

  /** Counts the time and the bytes of something as a node's. Memory that it takes is given back after the next step unless it is kept. */
  async measure<T>(node: TypedNode, work: () => Promise<T>): Promise<T> {
    const figures = this.figures(node)
    const begin = { time: performance.now(), ...this.work.moved }
    try {
      const done = await work()
      if (this.isTimed) await this.work.done()
      return done
    } finally {
      figures.milliseconds += performance.now() - begin.time
      const { read, written } = this.work.moved
      figures.bytesRead += read - begin.read
      figures.bytesWritten += written - begin.written
    }
  }

  /**
   * Keeps buffers that are no table's.
   * @returns lets them go
   */
  keep(buffers: readonly DeviceMemory[]): () => void {
    this.#kept.add(buffers)
    return () => {
      this.#kept.delete(buffers)
      this.#giveBack()
    }
  }

  /** A table is not needed any more. */
  drop(table: Table): void {
    this.#held.delete(table)
    this.#giveBack()
  }

  /** @throws WarpdexError `CANCELLED` where nobody waits for the result any more */
  refuse(): void {
    this.#options.refuse?.()
  }

  /** A step of a node is done: whatever is read next is a `BAD_REQUEST` where an expression or a sum of it has overflowed, or the condition that it goes by. */
  watchFaults(node: TypedNode): void {
    this.work.watchFaults((faults) => {
      const [input = node] = (faults & CONDITION_FAULT) === 0 ? [] : inputsOf(node)
      return new WarpdexError('BAD_REQUEST', `${input.path}: ${overflowOf(node, faults)}`)
    })
  }

  /** Where much memory is given back, the work that uses it is submitted, so that the next step may have it. */
  async #regain(): Promise<void> {
    const { waitingBytes = 0 } = this.#options
    if (this.work.scratch.waitingBytes > waitingBytes) await this.work.submitted()
  }

  #giveBack(): void {
    this.work.keepOnly(this.#heldBuffers())
  }

  *#heldBuffers(): Generator<DeviceMemory> {
    for (const buffers of this.#kept) yield* buffers
    for (const table of this.#held) yield* table.buffers()
    yield* this.shared.buffers()
  }
}

function overflowOf(node: TypedNode, faults: number): string {
  if ((faults & (EXPRESSION_FAULT | CONDITION_FAULT)) !== 0) {
    return 'a result of an expression does not fit its type (overflow), for which a cast to f64 before the operation would round instead, or a string that is cast to a type is not a value of it'
  }
  const number = faultySum(faults)
  const column =
    number === undefined || node.op !== 'groupBy' ? undefined : node.columns[node.keys.length + number]
  const sum = column === undefined ? 'a sum' : `the sum "${column.name}"`
  return `${sum} has more than 38 digits (overflow); a cast of its values to f64 would round instead`
}
