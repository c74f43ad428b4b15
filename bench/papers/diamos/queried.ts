import type { Device } from '../../../gpu/device/device.js'
import { DeviceWork } from '../../../gpu/relational/query/device-work.js'
import type { QueryKernels } from '../../../gpu/relational/query/query-kernels.js'
import type { Table } from '../../../gpu/relational/query/table.js'
import { StoredRelation } from '../../../gpu/relational/stored/stored-relation.js'
import { asBytes } from '../../../protocol/columns.js'
import { checkQuery } from '../../../protocol/query/check-query.js'
import type { QueryNode } from '../../../protocol/query/tree.js'
import type { TypedNode } from '../../../protocol/query/typed.js'
import { execute } from '../../../src/query/execute.js'
import { pruneColumns } from '../../../src/query/prune-columns.js'
import { QueryRun } from '../../../src/query/query-run.js'
import { profiled } from '../../profiled.js'
import type { HostTuples } from './host-tuples.js'

/** Names of columns: the key's, and the payload's where there is one. */
const NAMES = ['k', 'v']

/** Relations of u32 columns, stored on the device as an engine stores them, and queries over them by the operators that a server runs. */
export class Queried {
  readonly #device: Device
  readonly #kernels: QueryKernels
  readonly #relations = new Map<string, StoredRelation>()

  private constructor(device: Device, kernels: QueryKernels) {
    this.#device = device
    this.#kernels = kernels
  }

  /** @param hosts by their names */
  static async store(
    device: Device,
    kernels: QueryKernels,
    hosts: Readonly<Record<string, HostTuples>>,
  ): Promise<Queried> {
    const queried = new Queried(device, kernels)
    for (const [name, columns] of Object.entries(hosts)) {
      const definitions = columns.map((_, i) => ({ name: NAMES[i]!, type: 'u32', nullable: false }) as const)
      const relation = await StoredRelation.create(device, definitions)
      queried.#relations.set(name, relation)
      const values = new Map(columns.map((column, i) => [NAMES[i]!, { values: asBytes(column) }]))
      const prepared = await relation.prepare([{ rows: columns[0]!.length, columns: values }])
      prepared.apply()
    }
    return queried
  }

  /** The tree that a server would run for a query. */
  check(query: QueryNode): TypedNode {
    const columnsOf = (name: string) =>
      Array.from(
        this.#relations.get(name)!.relation.columns,
        ([name, { type }]) => ({ name, type, nullable: false }) as const,
      )
    return pruneColumns(checkQuery(query, columnsOf))
  }

  /** Runs a query until the device is done, its result's values in columns of their own. */
  run(node: TypedNode): Promise<void> {
    return this.#carryOut(node, async () => {})
  }

  /** The same, in milliseconds. */
  async wallClock(node: TypedNode): Promise<number> {
    const start = performance.now()
    await this.run(node)
    return performance.now() - start
  }

  /** The same, in microseconds of the device's time of the kernels alone; by the wall clock where the adapter has no timestamps. */
  async kernelTime(node: TypedNode): Promise<number> {
    let milliseconds = 0
    const kernels = await profiled(this.#device, async () => {
      milliseconds = await this.wallClock(node)
    })
    return kernels?.reduce((sum, { microseconds }) => sum + microseconds, 0) ?? milliseconds * 1e3
  }

  /** The rows of a result. */
  async read(node: TypedNode): Promise<HostTuples> {
    const parts: Uint32Array[][] = node.columns.map(() => [])
    await this.#carryOut(node, async (work, table) => {
      for (const [i, column] of parts.entries()) {
        const { values } = table.dense(work, i)
        await work.submitted()
        column.push(await this.#device.readWords(values, table.rows))
      }
    })
    return parts.map(joined)
  }

  destroy(): void {
    for (const relation of this.#relations.values()) relation.destroy()
  }

  async #carryOut(node: TypedNode, use: (work: DeviceWork, table: Table) => Promise<void>): Promise<void> {
    const scratch = this.#device.scratch()
    try {
      const work = new DeviceWork(this.#device, this.#kernels, scratch)
      const relations = new Map(Array.from(this.#relations, ([name, { relation }]) => [name, relation]))
      const run = new QueryRun(work, relations)
      for await (const table of execute(run, node)) {
        for (const i of node.columns.keys()) table.dense(work, i)
        await use(work, table)
        run.drop(table)
      }
      await work.done()
    } finally {
      scratch.release()
    }
  }
}

function joined(parts: readonly Uint32Array[]): Uint32Array {
  if (parts.length === 1) return parts[0]!
  const all = new Uint32Array(parts.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const part of parts) {
    all.set(part, at)
    at += part.length
  }
  return all
}
