import { asBytes } from '../../../protocol/columns.js'
import type { Device } from '../../device/device.js'
import type { Kernel } from '../../device/kernel.js'
import type { DeviceWork } from './device-work.js'
import { PROGRAM_COLUMNS, type Program } from './program.js'

/** As in `evaluate.wesl`. */
const NULLABLE = 16
const KEEP_FAULTS = 32
const FAULTY = 256

/** What a program gives. */
export interface EvaluationOutput {
  /** Words of a result. */
  readonly words: 1 | 2
  /** Gets the rows that have a result, if some may have none. */
  readonly validity?: GPUBuffer | undefined
  /** Whether the validity gets the rows that are faults too, as `ProgramColumn` has them; else one fault is the query's. */
  readonly keepsFaults?: boolean
}

/** Runs programs over rows (`evaluate.wesl`). */
export class Evaluation {
  readonly #kernels: readonly Kernel[]

  /** @param kernels by what programs may have, see `kernelNumber` */
  private constructor(kernels: readonly Kernel[]) {
    this.#kernels = kernels
  }

  static async create(device: Device): Promise<Evaluation> {
    const columns = Array.from({ length: 2 * PROGRAM_COLUMNS }, () => 'read' as const)
    const common = {
      module: 'relational/query/evaluate',
      entryPoint: 'evaluate',
      bindings: ['read', ...columns, 'write', 'write', 'write'],
      params: 4,
    } as const
    const forms = [false, true].flatMap((fallible) => [false, true].map((divides) => ({ fallible, divides })))
    const kernels = forms.map((conditions) => device.kernel({ ...common, conditions }))
    return new Evaluation(await Promise.all(kernels))
  }

  /**
   * @param rows of every column
   * @returns the results
   */
  record(
    work: DeviceWork,
    { words: text, length, columns, fallible, divides }: Program,
    rows: number,
    { words, validity, keepsFaults = false }: EvaluationOutput,
  ): GPUBuffer {
    work.mayHaveFault ||= fallible && !keepsFaults
    const output = work.words(rows * words)
    const program = work.upload(asBytes(text))
    let flags = (validity === undefined ? 0 : NULLABLE) | (keepsFaults ? KEEP_FAULTS : 0)
    const inputs = Array.from({ length: PROGRAM_COLUMNS }, (_, i) => {
      const column = columns[i]
      if (column?.validity !== undefined) flags |= 1 << i
      if (column?.hasFaults) flags |= FAULTY << i
      return [column?.values ?? work.absent, column?.validity ?? work.absent]
    }).flat()
    const buffers = [program, ...inputs, output, validity ?? work.unwritten, work.faults]
    work.recorder.dispatch(
      this.#kernels[kernelNumber({ fallible, divides })]!,
      buffers,
      [rows, words, length, flags],
      rows,
      { weight: length },
    )
    return output
  }
}

function kernelNumber({ fallible, divides }: Pick<Program, 'fallible' | 'divides'>): number {
  return (fallible ? 2 : 0) + (divides ? 1 : 0)
}
