import { WarpdexError } from '../../../protocol/errors.js'
import { columnsRead, type TypedExpression } from '../../../protocol/query/typed.js'
import type { Device } from '../../device/device.js'
import type { DeviceMemory } from '../../memory/page-run.js'
import type { DeviceWord } from '../../primitives/primitives.js'
import type { DeviceWork } from '../query/device-work.js'
import { type QueryColumn, valueWords } from '../query/query-column.js'
import { FIRST_SOURCE, type Groups, type PredicateCode, predicateOf, type Test } from './predicate.js'
import type { SelectionTile } from './selection-tile.js'
import { anyTest, expressionTest, marksTest } from './tests.js'

/** Which entries a kernel of a plan looks at: numbers of rows, or all rows up to a bound. */
export interface Entries {
  /** What they are rows of, by the numbers that conditions have for them. */
  readonly columns: readonly QueryColumn[]
  /** How many there are at most. */
  readonly bound: number
  /** How many there are, if fewer may be; the device knows. */
  readonly live: DeviceWord | undefined
  /** The row of each; undefined where entry i is row i. */
  readonly list: DeviceMemory | undefined
}

/** Entries that pass. */
export interface Marked {
  /** How many before each tile, and behind them all. */
  readonly bases: DeviceMemory
  /** A bit an entry. */
  readonly bits: DeviceMemory
  readonly tiles: number
  readonly total: DeviceWord
}

/** What code of an expression may be made of to be a part of a kernel, as `RowText.weight` has it. */
const MOST_WEIGHT = 1024

/** The place of a word that is not there; `mark.wesl` has the same number. */
const NONE = 0xffffffff

/** Evaluates tests over entries (`mark.wesl`). What no kernel can bind is cut into kernels that go on from the bits that the ones before have left. */
export class Mark {
  readonly #tile: SelectionTile
  /** Buffers that a predicate can read. */
  readonly #mostSources: number

  constructor(device: Device, tile: SelectionTile) {
    this.#tile = tile
    this.#mostSources = device.gpu.limits.maxStorageBuffersPerShaderStage - FIRST_SOURCE
  }

  /** The entries that pass all tests. */
  async record(work: DeviceWork, entries: Entries, groups: Groups): Promise<Marked> {
    const { bits, counts, tiles } = await this.#marks(work, entries, groups)
    const total = { buffer: counts, index: tiles }
    work.kernels.primitives.scan(work.recorder, work.scratch, counts, counts, tiles, total)
    return { bases: counts, bits, tiles, total }
  }

  /** A bit for each of them. */
  async bits(work: DeviceWork, entries: Entries, groups: Groups): Promise<DeviceMemory> {
    return (await this.#marks(work, entries, groups)).bits
  }

  /** How many they are. */
  async count(work: DeviceWork, entries: Entries, groups: Groups): Promise<DeviceWord> {
    const total = work.words(1)
    work.recorder.clear(total, 0, 4)
    await this.#dispatch(work, entries, groups, 'count_all', { total })
    return { buffer: total, index: 0 }
  }

  async #marks(
    work: DeviceWork,
    entries: Entries,
    groups: Groups,
  ): Promise<{ readonly bits: DeviceMemory; readonly counts: DeviceMemory; readonly tiles: number }> {
    const tiles = this.#tile.tiles(entries.bound)
    const counts = work.words(tiles + 1)
    const bits = work.words(tiles * this.#tile.words)
    await this.#dispatch(work, entries, groups, 'mark', { counts, bits })
    return { bits, counts, tiles }
  }

  async #dispatch(
    work: DeviceWork,
    entries: Entries,
    groups: Groups,
    entryPoint: string,
    outputs: Readonly<Record<string, DeviceMemory>>,
  ): Promise<void> {
    const { bound, live, list } = entries
    const predicate = await this.#predicate(work, entries, groups)
    const kernel = await work.kernels.generated.get(
      {
        module: 'relational/selection/mark',
        conditions: this.#tile.conditions,
        generated: { module: 'relational/selection/plan', text: predicate.text },
      },
      this.#tile.entryPoint(entryPoint),
    )
    const tiles = this.#tile.tiles(bound)
    const buffers = {
      ...predicate.buffers(work, 0),
      ...outputs,
      live: live?.buffer ?? work.absent,
      list,
    }
    const params = { count: bound, liveIndex: live?.index ?? NONE, tiles }
    work.recorder.dispatchGroups(kernel, buffers, params, this.#tile.groups(tiles))
  }

  /** The predicate that is left when what one kernel cannot bind has been evaluated. */
  async #predicate(work: DeviceWork, entries: Entries, groups: Groups): Promise<PredicateCode> {
    const whole = this.#made(entries, groups)
    if (whole.bindings <= this.#mostSources) return whole
    let part: Test[][] = []
    for (const group of groups) {
      part.push([])
      for (const each of group) {
        const test = await this.#fitting(work, entries, each)
        if (this.#made(entries, [[...part.flat(), test]]).bindings > this.#mostSources) {
          part = [[marksTest(await this.bits(work, entries, part))], []]
        }
        part.at(-1)!.push(test)
      }
    }
    return this.#made(entries, part)
  }

  #made({ columns, list }: Entries, groups: Groups): PredicateCode {
    return predicateOf(columns, groups, list !== undefined, this.#tile)
  }

  /** The test of an expression, unless it is too long for a kernel that does anything else. */
  expression(entries: Entries, expression: TypedExpression): Test | undefined {
    const { weight } = this.#made(entries, [[expressionTest(expression, true)]])
    // Columns of four words are read row by row.
    const isDear =
      weight > this.#tile.writtenOut ||
      columnsRead(expression).some((column) => valueWords(entries.columns[column]!.type) === 4)
    const test = expressionTest(expression, isDear)
    return weight <= MOST_WEIGHT && this.#fits(entries, [test]) ? test : undefined
  }

  /** Whether a kernel can evaluate some tests, and read the bits of another beside. */
  #fits(entries: Entries, tests: readonly Test[]): boolean {
    return this.#made(entries, [tests]).bindings < this.#mostSources
  }

  /** A test that one kernel can evaluate: of alternatives over more columns, halves of the branches are evaluated beforehand and leave marks. */
  async #fitting(work: DeviceWork, entries: Entries, test: Test): Promise<Test> {
    if (this.#fits(entries, [test])) return test
    const { branches } = test
    if (branches === undefined) throw new WarpdexError('INTERNAL', 'a test needs too many buffers')
    const middle = branches.length >> 1
    const marked: Test[][] = []
    for (const half of [branches.slice(0, middle), branches.slice(middle)]) {
      // A branch alone is a group like any other.
      const group = half.length === 1 ? half[0]! : [anyTest(half)]
      marked.push([marksTest(await this.bits(work, entries, [group]))])
    }
    return anyTest(marked)
  }
}
