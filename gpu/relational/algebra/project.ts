import type { Device } from '../../device/device.js'
import type { Kernel } from '../../device/kernel.js'
import type { Recorder } from '../../device/recorder.js'
import type { Scratch } from '../../memory/scratch.js'
import { unboundedCount } from '../../primitives/device-count.js'
import type { AffineFunction, DeviceWord } from '../../primitives/primitives.js'
import type { ColumnShape } from '../columns.js'
import { columnBuffers, columnConditions, ifPayload } from '../columns.js'
import { type Attribute, type Field, fieldOf, layOut, type TupleLayout, WORD } from './attributes.js'
import type { SortTuples } from './sort-tuples.js'
import { scratchTuples, type Tuples } from './tuples.js'

/** An attribute of the result: one of the input, or an affine function of it, modulo 2^bits. */
export interface ProjectedAttribute {
  readonly from: string
  /** The attribute's own name unless given. */
  readonly name?: string
  /** The attribute's own width unless given; higher bits are cut off. */
  readonly bits?: number
  readonly compute?: AffineFunction
}

/** The attributes that tuples get, in the order in which they are packed. */
export interface Projection {
  readonly key: readonly ProjectedAttribute[]
  readonly values?: readonly ProjectedAttribute[]
}

/** The same with both layouts known. */
export interface ProjectionPlan {
  readonly from: TupleLayout
  readonly to: TupleLayout
  readonly steps: readonly Step[]
  /** Whether the results come out sorted by key without being sorted. */
  readonly keepsOrder: boolean
}

/**
 * How a field is moved, as four words.
 *
 * ```
 * | source: word 2, shift 5 | target: word 2, shift 5, bits 6 |  mask of the source  | multiplier | addend |
 * ```
 */
interface Step {
  readonly source: Field
  readonly target: Field
  readonly compute: AffineFunction
}

const IDENTITY: AffineFunction = { multiplier: 1, addend: 0 }

/** @throws WarpdexError `BAD_REQUEST` if the projection names what is not there, or does not fit into a tuple */
export function planProjection(from: TupleLayout, { key, values = [] }: Projection): ProjectionPlan {
  const attribute = (projected: ProjectedAttribute): Attribute => {
    const { bits } = fieldOf(from, projected.from)
    return { name: projected.name ?? projected.from, bits: projected.bits ?? bits }
  }
  const to = layOut(key.map(attribute), values.map(attribute))
  const step = (projected: ProjectedAttribute): Step => ({
    source: fieldOf(from, projected.from),
    target: fieldOf(to, projected.name ?? projected.from),
    compute: projected.compute ?? IDENTITY,
  })
  // A key that is a beginning of the old one, as it was, is in the old order.
  const keepsOrder = key.every((projected, i) => {
    const { source, target, compute } = step(projected)
    return source === from.key[i] && target.bits >= source.bits && isIdentity(compute)
  })
  return { from, to, steps: joinNeighbours([...key, ...values].map(step)), keepsOrder }
}

function isIdentity({ multiplier, addend }: AffineFunction): boolean {
  return multiplier === 1 && addend === 0
}

/** Moves fields that are neighbours in both tuples together. */
function joinNeighbours(steps: readonly Step[]): Step[] {
  const joined: Step[] = []
  for (const step of steps) {
    const before = joined.at(-1)
    if (before !== undefined && areNeighbours(before, step)) {
      const bits = before.source.bits + step.source.bits
      joined[joined.length - 1] = {
        source: { ...step.source, bits },
        target: { ...step.target, bits },
        compute: IDENTITY,
      }
    } else {
      joined.push(step)
    }
  }
  return joined
}

/** Whether the second step's field lies right below the first one's, in both tuples, and neither is changed. */
function areNeighbours(first: Step, second: Step): boolean {
  return (
    [first, second].every(
      ({ source, target, compute }) => isIdentity(compute) && source.bits === target.bits,
    ) && (['source', 'target'] as const).every((side) => liesBelow(first[side], second[side]))
  )
}

function liesBelow(high: Field, low: Field): boolean {
  return high.word === low.word && high.shift === low.shift + low.bits
}

function stepWords({ source, target, compute }: Step): readonly number[] {
  const packed =
    source.word | (source.shift << 2) | (target.word << 7) | (target.shift << 9) | (target.bits << 14)
  return [packed, 0xffff_ffff >>> (32 - source.bits), compute.multiplier, compute.addend]
}

/** PROJECT from tuples of one shape to those of another (`project.wesl`). */
export class Project {
  readonly #device: Device
  readonly #kernel: Kernel
  readonly #sort: SortTuples
  readonly #unbounded: DeviceWord

  private constructor(device: Device, kernel: Kernel, sort: SortTuples, unbounded: DeviceWord) {
    this.#device = device
    this.#kernel = kernel
    this.#sort = sort
    this.#unbounded = unbounded
  }

  static async create(
    device: Device,
    sort: SortTuples,
    from: ColumnShape,
    to: ColumnShape,
  ): Promise<Project> {
    const { wide, payload, wide_payload } = columnConditions(to)
    const [kernel, unbounded] = await Promise.all([
      device.kernel({
        module: 'relational/algebra/project',
        entryPoint: 'project',
        params: 4,
        conditions: {
          ...columnConditions(from),
          out_wide: wide,
          out_payload: payload,
          out_wide_payload: wide_payload,
        },
        bindings: ['read'],
        further: [
          ...ifPayload(from, [1, 'read']),
          [2, 'read'],
          [3, 'read'],
          [4, 'write'],
          ...ifPayload(to, [5, 'write']),
        ],
      }),
      unboundedCount(device),
    ])
    return new Project(device, kernel, sort, unbounded)
  }

  /**
   * The projected tuples, as many as there were, in scratch memory. They are sorted again, stably, where their keys are no
   * longer in order.
   */
  record(recorder: Recorder, scratch: Scratch, tuples: Tuples, plan: ProjectionPlan): Tuples {
    const { columns, rows, count: live = this.#unbounded } = tuples
    const { steps, to, keepsOrder } = plan
    const table = scratch.words(4 * steps.length)
    this.#device.upload(table, new Uint8Array(Uint32Array.from(steps.flatMap(stepWords)).buffer))
    const result = scratchTuples(scratch, to.shape, rows, 'key', tuples.count)
    const payloadsToo = steps.some(({ source }) => source.word >= WORD.payloadLow)
    recorder.dispatch(
      this.#kernel,
      [...columnBuffers(columns), live.buffer, table, ...columnBuffers(result.columns)],
      [rows, live.index, steps.length, payloadsToo ? 1 : 0],
      Math.ceil(rows / 4),
    )
    return keepsOrder ? result : this.#sort.recordByKey(recorder, scratch, result)
  }
}
