import type { DeviceWork } from '../query/device-work.js'
import { type QueryColumn, valueWords } from '../query/query-column.js'
import { generateMoves, type MoveKind } from './generate-moves.js'
import type { Entries, Marked } from './mark.js'
import type { SelectionTile } from './selection-tile.js'

/** What is written of each entry that passes. */
interface Move {
  readonly kind: MoveKind
  /** Undefined of the row itself. */
  readonly source: GPUBuffer | undefined
  readonly output: GPUBuffer
}

/** What is written: the rows of the entries that pass, and columns at these rows. */
export interface Emitted {
  readonly rows: GPUBuffer | undefined
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

  /**
   * @param bound how many pass at most
   * @param hasRows whether their rows are wanted
   * @param columns of which values are wanted
   */
  async record(
    work: DeviceWork,
    { list }: Entries,
    marked: Marked,
    bound: number,
    hasRows: boolean,
    columns: readonly QueryColumn[],
  ): Promise<Emitted> {
    const rows = hasRows ? work.scratch.words(bound) : undefined
    const moves: Move[] = rows === undefined ? [] : [{ kind: 'row', source: undefined, output: rows }]
    const written = columns.map((column) => {
      const words = valueWords(column.type)
      const values = work.scratch.words(bound * words)
      const validity = column.validity && work.ones(bound)
      moves.push({ kind: words === 2 ? 'wide' : 'word', source: column.values, output: values })
      if (validity !== undefined) moves.push({ kind: 'bit', source: column.validity, output: validity })
      return { ...column, values, validity }
    })
    const parts = bound === 0 ? [] : this.#parts(moves)
    for (const part of parts) await this.#move(work, list, marked, part)
    return { rows, columns: written }
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

  async #move(
    work: DeviceWork,
    list: GPUBuffer | undefined,
    { bases, bits, tiles }: Marked,
    moves: readonly Move[],
  ): Promise<void> {
    const text = generateMoves(
      moves.map(({ kind }) => kind),
      list !== undefined,
    )
    const kernel = await work.kernels.generated.get(
      {
        module: 'relational/selection/emit',
        conditions: this.#tile.conditions,
        generated: { module: 'relational/selection/moves', text },
      },
      this.#tile.entryPoint('emit'),
    )
    const moved = moves.flatMap(({ source, output }, i): [string, GPUBuffer | undefined][] => [
      [`source${i}`, source],
      [`output${i}`, output],
    ])
    const buffers = { ...Object.fromEntries(moved), bases, bits, list }
    work.recorder.dispatchGroups(kernel, buffers, { tiles }, this.#tile.groups(tiles))
  }
}
