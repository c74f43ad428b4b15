import { asBytes } from '../../../protocol/columns.js'
import { WarpdexError } from '../../../protocol/errors.js'
import type { Device } from '../../device/device.js'
import type { DeviceWord } from '../../primitives/primitives.js'
import type { DeviceWork } from '../query/device-work.js'
import { type Predicate, predicateOf } from './predicate.js'
import { FIRST_SOURCE } from './predicate-text.js'
import type { SelectionTile } from './selection-tile.js'
import { buffersOf, type Test } from './tests.js'

/** Which entries a kernel of a plan looks at: numbers of rows, or all rows up to a bound. */
export interface Entries {
  /** How many there are at most. */
  readonly bound: number
  /** How many there are, if fewer may be; the device knows. */
  readonly live: DeviceWord | undefined
  /** The row of each; undefined where entry i is row i. */
  readonly list: GPUBuffer | undefined
}

/** Entries that pass. */
export interface Marked {
  /** How many before each tile, and behind them all. */
  readonly bases: GPUBuffer
  /** A bit an entry. */
  readonly bits: GPUBuffer
  readonly tiles: number
  readonly total: DeviceWord
}

/** Tests in groups: those of a group are all evaluated, those of the next for entries that have passed. */
export type Groups = readonly (readonly Test[])[]

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
    const { bits, counts, tiles } = await this.#marks(
      work,
      entries,
      await this.#predicate(work, entries, groups),
    )
    const total = { buffer: counts, index: tiles }
    work.kernels.primitives.scan(work.recorder, work.scratch, counts, counts, tiles, total)
    return { bases: counts, bits, tiles, total }
  }

  /** A bit for each of them. */
  async bits(work: DeviceWork, entries: Entries, groups: Groups): Promise<GPUBuffer> {
    return (await this.#marks(work, entries, await this.#predicate(work, entries, groups))).bits
  }

  /** How many they are. */
  async count(work: DeviceWork, entries: Entries, groups: Groups): Promise<DeviceWord> {
    const predicate = await this.#predicate(work, entries, groups)
    const total = work.words(1)
    work.recorder.clear(total, 0, 4)
    await this.#dispatch(work, entries, predicate, 'count_all', { total })
    return { buffer: total, index: 0 }
  }

  async #marks(
    work: DeviceWork,
    entries: Entries,
    predicate: Predicate,
  ): Promise<{ readonly bits: GPUBuffer; readonly counts: GPUBuffer; readonly tiles: number }> {
    const tiles = this.#tile.tiles(entries.bound)
    const counts = work.words(tiles + 1)
    const bits = work.words(tiles * this.#tile.words)
    await this.#dispatch(work, entries, predicate, 'mark', { counts, bits })
    return { bits, counts, tiles }
  }

  async #dispatch(
    work: DeviceWork,
    { bound, live, list }: Entries,
    predicate: Predicate,
    entryPoint: string,
    outputs: Readonly<Record<string, GPUBuffer>>,
  ): Promise<void> {
    const kernel = await work.kernels.generated.get(
      {
        module: 'relational/selection/mark',
        conditions: this.#tile.conditions,
        generated: { module: 'relational/selection/plan', text: predicate.text },
      },
      this.#tile.entryPoint(entryPoint),
    )
    const tiles = this.#tile.tiles(bound)
    const { expression } = predicate
    if (expression?.passes.fault !== undefined) work.mayHaveFault = true
    const buffers = {
      ...predicate.buffers,
      ...expression?.code.buffers(work, 0),
      ...outputs,
      faults: work.faults,
      arguments: work.upload(asBytes(predicate.arguments)),
      live: live?.buffer ?? work.absent,
      list,
    }
    const params = { count: bound, liveIndex: live?.index ?? NONE, tiles }
    work.recorder.dispatchGroups(kernel, buffers, params, this.#tile.groups(tiles))
  }

  /** The predicate that is left when what one kernel cannot bind has been evaluated. */
  async #predicate(work: DeviceWork, entries: Entries, groups: Groups): Promise<Predicate> {
    let part: Test[][] = []
    const made = () =>
      predicateOf(
        part.filter(({ length }) => length > 0),
        entries.list !== undefined,
        this.#tile.loads,
      )
    for (const group of groups) {
      part.push([])
      for (const each of group) {
        const test = await this.#fitting(work, entries, each)
        if (!this.#fitsBeside(part.flat(), test)) {
          const { bits } = await this.#marks(work, entries, made())
          part = [[{ kind: 'marked', bits }], []]
        }
        part.at(-1)!.push(test)
      }
    }
    return made()
  }

  /** Whether a kernel can evaluate a test. */
  fits(test: Test): boolean {
    return this.#fits([test])
  }

  #fitsBeside(tests: readonly Test[], test: Test): boolean {
    if (test.kind === 'expression' && tests.some(({ kind }) => kind === 'expression')) return false
    return buffersOf([...tests, test]) <= this.#mostSources
  }

  /** Whether a kernel can evaluate some tests, and read the bits of another beside. */
  #fits(tests: readonly Test[]): boolean {
    return buffersOf(tests) < this.#mostSources
  }

  /** A test that one kernel can evaluate: of an `any` over more columns, branches are evaluated beforehand and leave marks. */
  async #fitting(work: DeviceWork, entries: Entries, test: Test): Promise<Test> {
    if (this.fits(test)) return test
    if (test.kind !== 'any')
      throw new WarpdexError('INTERNAL', `a test of ${test.kind} needs too many buffers`)
    let branches = test.branches
    do {
      const marked: Test[][] = []
      for (const union of this.#unions(branches)) {
        const [only] = union
        const group: readonly Test[] = union.length === 1 ? only! : [{ kind: 'any', branches: union }]
        marked.push([{ kind: 'marked', bits: await this.bits(work, entries, [group]) }])
      }
      branches = marked
    } while (!this.#fits(branches.flat()))
    return { kind: 'any', branches }
  }

  /** As many branches together as one kernel can evaluate; one that is too large by itself is alone. */
  #unions(branches: Groups): (readonly Test[])[][] {
    const unions: (readonly Test[])[][] = []
    for (const branch of branches) {
      const last = unions.at(-1)
      if (last !== undefined && this.#fits([...last, branch].flat())) last.push(branch)
      else unions.push([branch])
    }
    return unions
  }
}
