import type { Kernel } from '../../device/kernel.js'
import type { DeviceMemory } from '../../memory/page-run.js'
import type { DeviceWork } from '../query/device-work.js'
import { type QueryColumn, valueWords } from '../query/query-column.js'
import { generateMoves, type MoveKind } from './generate-moves.js'
import type { Entries, Marked } from './mark.js'
import type { SelectionTile } from './selection-tile.js'

/** What is wanted of the entries that pass: their rows, and values of columns. */
export interface Wanted {
  readonly hasRows: boolean
  readonly columns: readonly QueryColumn[]
}

/** What is written of each entry that passes. */
interface Move {
  readonly kind: MoveKind
  /** Undefined of the row itself. */
  readonly source: DeviceMemory | undefined
}

/** What is written: the rows of the entries that pass, and columns at these rows. */
export interface Emitted {
  readonly rows: DeviceMemory | undefined
  readonly columns: readonly QueryColumn[]
}

/** Bindings that are no moves': bases, bits, list. */
const OWN_BINDINGS = 3

/** Writes what is wanted of entries that pass (`emit.wesl`). */
export class Emit {
  readonly #tile: SelectionTile
  readonly #mostBuffers: number

  /** @param mostBuffers that a kernel can bind */
  constructor(tile: SelectionTile, mostBuffers: number) {
    this.#tile = tile
    this.#mostBuffers = mostBuffers - OWN_BINDINGS
  }

  /** Has the kernels that `record` is going to need be made meanwhile. Whoever records them is told of a failure. */
  prepare(work: DeviceWork, { list }: Entries, wanted: Wanted): void {
    for (const part of this.#parts(movesOf(wanted))) this.#kernel(work, list, part).catch(() => {})
  }

  /** @param bound how many pass at most */
  async record(
    work: DeviceWork,
    { list }: Entries,
    { bases, bits, tiles }: Marked,
    bound: number,
    wanted: Wanted,
  ): Promise<Emitted> {
    const rows = wanted.hasRows ? work.scratch.words(bound) : undefined
    const columns = wanted.columns.map((column) => {
      const values = work.scratch.words(bound * valueWords(column.type))
      return { ...column, values, validity: column.validity && work.ones(bound) }
    })
    const outputs = [rows, ...columns.flatMap(({ values, validity }) => [values, validity])]
    const buffers = outputs.filter((output) => output !== undefined).values()
    for (const part of bound === 0 ? [] : this.#parts(movesOf(wanted))) {
      const kernel = await this.#kernel(work, list, part)
      const moved = part.flatMap(({ source }, i): [string, DeviceMemory | undefined][] => [
        [`source${i}`, source],
        [`output${i}`, buffers.next().value],
      ])
      const all = { ...Object.fromEntries(moved), bases, bits, list }
      work.recorder.dispatchGroups(kernel, all, { tiles }, this.#tile.groups(tiles))
    }
    return { rows, columns }
  }

  /** As many moves together as a kernel can bind. */
  #parts(moves: readonly Move[]): Move[][] {
    const parts: Move[][] = []
    let free = 0
    for (const move of moves) {
      const buffers = move.source === undefined ? 1 : 2
      if (buffers > free) {
        parts.push([])
        free = this.#mostBuffers
      }
      parts.at(-1)!.push(move)
      free -= buffers
    }
    return parts
  }

  #kernel(work: DeviceWork, list: DeviceMemory | undefined, moves: readonly Move[]): Promise<Kernel> {
    const text = generateMoves(
      moves.map(({ kind }) => kind),
      list !== undefined,
    )
    const description = {
      module: 'relational/selection/emit',
      conditions: this.#tile.conditions,
      generated: { module: 'relational/selection/moves', text },
    }
    return work.kernels.generated.get(description, this.#tile.entryPoint('emit'))
  }
}

/** In the order of what they are written to. */
function movesOf({ hasRows, columns }: Wanted): Move[] {
  const ofColumns = columns.flatMap(({ type, values, validity }): Move[] => [
    { kind: valueWords(type), source: values },
    ...(validity === undefined ? [] : [{ kind: 'bit', source: validity } as const]),
  ])
  return hasRows ? [{ kind: 'row', source: undefined }, ...ofColumns] : ofColumns
}
