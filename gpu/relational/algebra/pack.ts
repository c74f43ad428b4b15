import { WarpdexError } from '../../../protocol/errors.js'
import type { Device } from '../../device/device.js'
import type { Kernel } from '../../device/kernel.js'
import type { Recorder } from '../../device/recorder.js'
import type { Scratch } from '../../memory/scratch.js'
import type { Columns } from '../columns.js'
import { type Field, fieldOf, type TupleLayout, WORD } from './attributes.js'
import type { SortTuples } from './sort-tuples.js'
import { scratchTuples, type Tuples } from './tuples.js'

/** Attributes that a dispatch packs; as in `pack.wesl`. */
const FIELDS = 4

/** Tuples from columns of attributes, and columns from tuples (`pack.wesl`). */
export class Packing {
  readonly #sort: SortTuples
  readonly #pack: Kernel
  readonly #unpack: Kernel

  private constructor(sort: SortTuples, pack: Kernel, unpack: Kernel) {
    this.#sort = sort
    this.#pack = pack
    this.#unpack = unpack
  }

  static async create(device: Device, sort: SortTuples): Promise<Packing> {
    const common = { module: 'relational/algebra/pack', params: 9 }
    const [pack, unpack] = await Promise.all([
      device.kernel({
        ...common,
        entryPoint: 'pack',
        bindings: ['read', 'read', 'read', 'read', 'write'],
      }),
      device.kernel({ ...common, entryPoint: 'unpack', bindings: ['read', 'write'] }),
    ])
    return new Packing(sort, pack, unpack)
  }

  /**
   * Tuples with these attributes, sorted by key, in scratch memory.
   * @param columns for each attribute of the layout a column of u32 words, of which its lowest bits count
   * @param isSorted whether the rows are in the order of their keys already
   * @throws WarpdexError `BAD_REQUEST` if an attribute has no column
   */
  recordPack(
    recorder: Recorder,
    scratch: Scratch,
    columns: ReadonlyMap<string, GPUBuffer>,
    rows: number,
    layout: TupleLayout,
    isSorted = false,
  ): Tuples {
    const tuples = scratchTuples(scratch, layout.shape, rows, 'key')
    for (const word of Object.values(WORD)) {
      const fields = [...layout.key, ...layout.values].filter((field) => field.word === word)
      for (let first = 0; first < fields.length; first += FIELDS) {
        const some = fields.slice(first, first + FIELDS)
        const sources = some.map(({ name }) => columnOf(columns, name))
        const absent = Array.from({ length: FIELDS - some.length }, () => sources[0]!)
        const { buffer, stride, at } = wordOf(tuples.columns, layout, word)
        recorder.dispatch(
          this.#pack,
          [...sources, ...absent, buffer],
          [rows, stride, at, some.length, first > 0 ? 1 : 0, ...some.map(fieldParameter)],
          rows,
        )
      }
    }
    return isSorted ? tuples : this.#sort.recordByKey(recorder, scratch, tuples)
  }

  /**
   * The column of one attribute in scratch memory, a u32 word a tuple. It has `tuples.rows` words, of which those past the
   * number of tuples mean nothing.
   * @throws WarpdexError `BAD_REQUEST` if there is no such attribute
   */
  recordUnpack(
    recorder: Recorder,
    scratch: Scratch,
    { columns, rows }: Tuples,
    layout: TupleLayout,
    attribute: string,
  ): GPUBuffer {
    const field = fieldOf(layout, attribute)
    const column = scratch.words(rows)
    const { buffer, stride, at } = wordOf(columns, layout, field.word)
    recorder.dispatch(this.#unpack, [buffer, column], [rows, stride, at, 1, 0, fieldParameter(field)], rows)
    return column
  }
}

function fieldParameter({ shift, bits }: Field): number {
  return shift | (bits << 8)
}

function columnOf(columns: ReadonlyMap<string, GPUBuffer>, name: string): GPUBuffer {
  const column = columns.get(name)
  if (column !== undefined) return column
  throw new WarpdexError('BAD_REQUEST', `there is no column for the attribute ${JSON.stringify(name)}`)
}

/** Where a word of tuples lies: its column, the column's words a tuple, and which of them it is. */
function wordOf(
  { keys, payloads }: Columns,
  { shape }: TupleLayout,
  word: number,
): { buffer: GPUBuffer; stride: number; at: number } {
  if (word < WORD.payloadLow || payloads === undefined) {
    return { buffer: keys, stride: shape.keyWords, at: word }
  }
  return { buffer: payloads, stride: shape.payloadWords, at: word - WORD.payloadLow }
}
