import type { Recorder } from '../../../gpu/device/recorder.js'
import type { DeviceMemory } from '../../../gpu/memory/page-run.js'
import { scatteredKeys } from '../../keys.js'
import { randomOrder } from '../../primitives.js'
import { median, type Row, spreadOf } from '../../report.js'
import { scattered } from './host-primitives.js'
import {
  type CheckedWork,
  checkedTimes,
  isExactly,
  type PrimitiveBench,
  rate,
  uploadWords,
} from './primitive-bench.js'
import { type GridInvocations, ThreadGrid } from './thread-grid.js'

/** A number of workgroups and of their invocations. */
interface Grid {
  readonly groups: number
  readonly invocations: GridInvocations
}

/** He's grid for Figure 7 has a workgroup for each multiprocessor of a G80, and a warp in it. */
const PAPER_GRID: Grid = { groups: 16, invocations: 32 }
/** The other grid, which keeps a large device busy. */
const FULL_INVOCATIONS = 256
const MOST_GROUPS = 4096
/** Words that each invocation of the larger grid has at least: orders differ only where there are several. */
const LEAST_WORDS = 16

/** Logarithm of the words of the smallest column. */
const SMALLEST = 12
const ORDERS = [true, false] as const

/** A primitive by a grid of threads. */
interface Operation {
  readonly bytesPerWord: number
  record(threads: ThreadGrid, recorder: Recorder, groups: number): void
  readonly wanted: Uint32Array
}

type Primitive = 'map' | 'gather' | 'scatter'

/** Columns on the device, of one length. */
interface Columns {
  readonly source: DeviceMemory
  readonly indices: DeviceMemory
  readonly output: DeviceMemory
}

/**
 * He's Figure 7: the map with neighbouring invocations at neighbouring words (coalesced), and with a run of words for each, for columns
 * of several lengths; then map, gather and scatter of the longest column by a grid that fills the device. Indices of gather
 * and scatter are random, so that only they themselves and one of both columns can be read or written in order.
 */
export async function benchAccessOrder(bench: PrimitiveBench): Promise<Row[]> {
  const { logarithm, quick } = bench
  const logarithms: number[] = []
  for (let one = quick ? logarithm - 2 : Math.min(SMALLEST, logarithm); one <= logarithm; one += 2) {
    logarithms.push(one)
  }
  const rows: Row[] = []
  for (const one of logarithms) rows.push(...(await benchLength(bench, one, PAPER_GRID, ['map'])))
  const groups = Math.floor(2 ** logarithm / (FULL_INVOCATIONS * LEAST_WORDS))
  const fullGrid = {
    groups: Math.max(1, Math.min(MOST_GROUPS, groups)),
    invocations: FULL_INVOCATIONS,
  } as const
  rows.push(...(await benchLength(bench, logarithm, fullGrid, ['map', 'gather', 'scatter'])))
  return rows
}

async function benchLength(
  bench: PrimitiveBench,
  logarithm: number,
  { groups, invocations }: Grid,
  names: readonly Primitive[],
): Promise<Row[]> {
  const { device } = bench
  const count = 2 ** logarithm
  const scratch = device.scratch()
  const words = new Uint32Array(scatteredKeys(1, 0, count).buffer)
  const order = new Uint32Array(randomOrder(count).buffer)
  const columns: Columns = {
    source: uploadWords(device, scratch, words),
    indices: uploadWords(device, scratch, order),
    output: scratch.words(count),
  }
  const operations = operationsOn(words, order, columns)
  const grids = ORDERS.map((coalesced) => new ThreadGrid(device, { invocations, coalesced }))
  const rows: Row[] = []
  for (const name of names) {
    const { bytesPerWord, record, wanted } = operations[name]
    const works = grids.map(
      (threads): CheckedWork => ({
        name,
        record: (recorder) => {
          record(threads, recorder, groups)
          return columns.output
        },
        check: isExactly(name, wanted),
        words: count,
        output: columns.output,
      }),
    )
    const [coalesced, apart] = (await checkedTimes(bench, works)) as [number[], number[]]
    rows.push({
      name: `Figure 7, ${name} by ${groups} × ${invocations}, 2^${logarithm}`,
      figures: {
        words: count,
        ...spreadOf('coalesced µs', coalesced),
        'coalesced GB/s': rate(bytesPerWord * count, median(coalesced)),
        ...spreadOf('not coalesced µs', apart),
        'not coalesced GB/s': rate(bytesPerWord * count, median(apart)),
        'times as fast': median(apart) / median(coalesced),
      },
    })
  }
  scratch.release()
  return rows
}

function operationsOn(
  words: Uint32Array,
  order: Uint32Array,
  { source, indices, output }: Columns,
): Readonly<Record<Primitive, Operation>> {
  const count = words.length
  return {
    map: {
      bytesPerWord: 8,
      record: (threads, recorder, groups) => threads.recordMap(recorder, groups, source, output, count),
      wanted: words.map((word) => Math.imul(3, word) + 1),
    },
    gather: {
      bytesPerWord: 12,
      record: (threads, recorder, groups) =>
        threads.recordGather(recorder, groups, source, indices, output, count),
      wanted: order.map((from) => words[from]!),
    },
    scatter: {
      bytesPerWord: 12,
      record: (threads, recorder, groups) =>
        threads.recordScatter(recorder, groups, source, indices, output, count),
      wanted: scattered(words, order),
    },
  }
}
