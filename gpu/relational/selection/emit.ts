import type { NumberedBinding } from '../../device/kernel.js'
import type { DeviceWork } from '../query/device-work.js'
import { type QueryColumn, valueWords } from '../query/query-column.js'
import { FIRST_MOVE, generateMoves, type MoveKind, moveBindings } from './generate-moves.js'
import type { GeneratedKernels } from './generated-kernels.js'
import type { Entries, Marked } from './mark.js'
import type { SelectionTile } from './selection-tile.js'

/** What is written of each entry that passes. */
interface Move {
  readonly kind: MoveKind
  readonly buffers: readonly GPUBuffer[]
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
  readonly #kernels: GeneratedKernels
  readonly #tile: SelectionTile
  readonly #mostBuffers: number

  /** @param mostBuffers that a kernel can bind */
  constructor(kernels: GeneratedKernels, tile: SelectionTile, mostBuffers: number) {
    this.#kernels = kernels
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
    const rows = hasRows ? work.words(bound) : undefined
    const moves: Move[] = rows === undefined ? [] : [{ kind: 'row', buffers: [rows] }]
    const written = columns.map((column) => {
      const words = valueWords(column.type)
      const values = work.words(bound * words)
      const validity = column.validity && work.ones(bound)
      moves.push({ kind: words === 2 ? 'wide' : 'word', buffers: [column.values, values] })
      if (column.validity !== undefined) moves.push({ kind: 'bit', buffers: [column.validity, validity!] })
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
      if (move.buffers.length > free) {
        parts.push([])
        free = this.#mostBuffers
      }
      parts.at(-1)!.push(move)
      free -= move.buffers.length
    }
    return parts
  }

  async #move(
    work: DeviceWork,
    list: GPUBuffer | undefined,
    { bases, bits, tiles }: Marked,
    moves: readonly Move[],
  ): Promise<void> {
    const further: NumberedBinding[] = list === undefined ? [] : [[5, 'read']]
    const accesses = moves.flatMap(({ kind }) => moveBindings(kind))
    accesses.forEach((access, i) => {
      further.push([FIRST_MOVE + i, access])
    })
    const text = generateMoves(
      moves.map(({ kind }) => kind),
      list !== undefined,
    )
    const kernel = await this.#kernels.get({
      module: 'relational/selection/emit',
      entryPoint: 'emit',
      bindings: ['read', 'read'],
      further,
      params: 1,
      conditions: this.#tile.conditions,
      generated: { module: 'relational/selection/moves', text },
    })
    const buffers = [
      bases,
      bits,
      ...(list === undefined ? [] : [list]),
      ...moves.flatMap((move) => move.buffers),
    ]
    work.recorder.dispatchGroups(kernel, buffers, [tiles], this.#tile.groups(tiles))
  }
}
