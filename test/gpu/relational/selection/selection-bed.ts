import root from 'tap'
import type { Device } from '../../../../gpu/device/device.js'
import type { DeviceMemory } from '../../../../gpu/memory/page-run.js'
import type { Strategy } from '../../../../gpu/primitives/primitives.js'
import { suitsSubgroups } from '../../../../gpu/primitives/strategy.js'
import type { DeviceColumnData } from '../../../../gpu/relational/device-relation.js'
import { DeviceWork } from '../../../../gpu/relational/query/device-work.js'
import { type QueryColumn, valueWords } from '../../../../gpu/relational/query/query-column.js'
import { QueryKernels } from '../../../../gpu/relational/query/query-kernels.js'
import type {
  Condition,
  SelectionOutput,
  SelectionPlan,
} from '../../../../gpu/relational/selection/selection-types.js'
import { type RunOptions, Selections } from '../../../../gpu/relational/selection/selections.js'
import type { Random } from '../../../random.js'
import {
  type Cell,
  type HostRelation,
  hostRelation,
  uploadRelation,
} from '../../../src/query/host-relation.js'
import { randomColumn } from '../../../src/query/relations.js'
import { openDevice } from '../../open-device.js'

const COLUMN_TYPES = ['u32', 'i32', 'f32', 'u64', 'i64', 'string'] as const

/** A table with two columns of each type, of which the second may be null. */
export function randomTable(random: Random, rows: number): HostRelation {
  const columns = COLUMN_TYPES.flatMap((type) =>
    [0, 0.2].map((nulls) => randomColumn(random, `${type}-${nulls}`, type, rows, nulls)),
  )
  const odd = [Number.NaN, -0, 0, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  return hostRelation(
    'table',
    columns.map((column) => {
      if (column.type !== 'f32') return column
      return { ...column, cells: column.cells.map((cell) => (random.chance(0.2) ? random.pick(odd) : cell)) }
    }),
  )
}

/** Rows as a selection gives them: how many, or their numbers, or values. */
export interface Outcome {
  readonly count: number
  readonly rows: readonly number[] | undefined
  readonly columns: readonly (readonly Cell[])[]
  readonly left: readonly number[]
}

let opened: Promise<{ device: Device; kernels: QueryKernels }> | undefined
const made = new Map<Strategy, Selections>()

async function open() {
  const device = await openDevice(root)
  return { device, kernels: await QueryKernels.create(device) }
}

/** The strategies that the device of this file can run. */
export async function strategies(): Promise<readonly Strategy[]> {
  opened ??= open()
  const { device } = await opened
  return suitsSubgroups(device) ? ['serial', 'cooperative', 'subgroups'] : ['serial', 'cooperative']
}

/** Device work of the device of this file. */
export async function withWork(use: (work: DeviceWork) => Promise<void>): Promise<void> {
  opened ??= open()
  const { device, kernels } = await opened
  const scratch = device.scratch()
  try {
    await use(new DeviceWork(device, kernels, scratch))
  } finally {
    scratch.release()
  }
}

/** A table on the device, and selections over it. */
export class SelectionBed {
  readonly device: Device
  readonly selections: Selections
  readonly columns: readonly DeviceColumnData[]
  readonly #kernels: QueryKernels
  readonly #rows: number

  private constructor(
    device: Device,
    kernels: QueryKernels,
    selections: Selections,
    columns: readonly DeviceColumnData[],
    rows: number,
  ) {
    this.device = device
    this.#kernels = kernels
    this.selections = selections
    this.columns = columns
    this.#rows = rows
  }

  static async create(table: HostRelation, strategy: Strategy = 'serial'): Promise<SelectionBed> {
    opened ??= open()
    const { device, kernels } = await opened
    const selections = made.get(strategy) ?? new Selections(device, strategy)
    made.set(strategy, selections)
    const relation = await uploadRelation(device, table)
    return new SelectionBed(device, kernels, selections, [...relation.columns.values()], table.rows)
  }

  async run(
    conditions: readonly Condition[],
    plan: SelectionPlan,
    output: SelectionOutput,
    options?: Omit<RunOptions, 'start'> & { readonly start?: readonly number[] },
    admit?: (bytes: number) => void,
  ): Promise<Outcome> {
    const scratch = this.device.scratch(admit)
    try {
      const work = new DeviceWork(this.device, this.#kernels, scratch)
      const start = options?.start && {
        buffer: work.upload(new Uint8Array(Uint32Array.from([...options.start, 0]).buffer)),
        count: options.start.length,
      }
      const { columns } = this
      const selected = await this.selections.run(work, columns, this.#rows, conditions, plan, output, {
        ...options,
        start,
      })
      const { count, left } = selected
      const rows = selected.rows && (await readWords(work, selected.rows, count))
      const values = []
      for (const column of selected.columns) values.push(await readColumn(work, column, count))
      return { count, rows: rows && [...rows], columns: values, left }
    } finally {
      scratch.release()
    }
  }
}

async function readWords(work: DeviceWork, buffer: DeviceMemory, words: number): Promise<Uint32Array> {
  const [bytes] = await work.readColumns([{ buffer, bytes: words * 4 }])
  return new Uint32Array(bytes!.slice().buffer)
}

async function readColumn(
  work: DeviceWork,
  { type, values, validity, dictionary }: QueryColumn,
  rows: number,
): Promise<Cell[]> {
  const words = await readWords(work, values, rows * valueWords(type))
  const valid = validity && (await readWords(work, validity, Math.ceil(rows / 32)))
  const view = new DataView(words.buffer)
  return Array.from({ length: rows }, (_, row) => {
    if (valid !== undefined && ((valid[row >> 5]! >> (row & 31)) & 1) === 0) return null
    if (type === 'u64') return view.getBigUint64(8 * row, true)
    if (type === 'i64') return view.getBigInt64(8 * row, true)
    if (type === 'i32') return view.getInt32(4 * row, true)
    if (type === 'f32') return view.getFloat32(4 * row, true)
    return type === 'string' ? dictionary!.at(words[row]!) : words[row]!
  })
}
