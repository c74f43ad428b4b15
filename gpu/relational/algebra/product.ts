import { WarpdexError } from '../../../protocol/errors.js'
import type { Device } from '../../device/device.js'
import type { Kernel } from '../../device/kernel.js'
import type { Recorder } from '../../device/recorder.js'
import type { Scratch } from '../../memory/scratch.js'
import { unboundedCount } from '../../primitives/device-count.js'
import type { DeviceWord } from '../../primitives/primitives.js'
import type { ColumnShape } from '../columns.js'
import { columnBuffers, columnConditions, ifPayload } from '../columns.js'
import { scratchTuples, type Tuples, tupleBytes } from './tuples.js'

/** A piece of a product: tuples from number `skip` of the rows that belong to tuple `first` of the first relation. */
export interface ProductWindow {
  readonly first: number
  readonly skip: number
  /** Tuples at most. */
  readonly rows: number
}

/**
 * The shape of a product's tuples: the first relation's key; as payload its payload, the second's key and the second's payload.
 * @throws WarpdexError `BAD_REQUEST` if that is more than two words of payload
 */
export function productShape(first: ColumnShape, second: ColumnShape): ColumnShape {
  const words = first.payloadWords + second.keyWords + second.payloadWords
  if (words === 1 || words === 2) return { keyWords: first.keyWords, payloadWords: words }
  throw new WarpdexError(
    'BAD_REQUEST',
    `the product's payload would have ${words} words; project the relations so that it has 2 at most`,
  )
}

/** The windows that a product of so many tuples comes in, of `most` tuples each. */
export function* productWindows(
  firstRows: number,
  secondRows: number,
  most: number,
): Generator<ProductWindow> {
  const total = BigInt(firstRows) * BigInt(secondRows)
  const step = BigInt(most)
  for (let start = 0n; start < total; start += step) {
    const rows = total - start < step ? total - start : step
    yield {
      first: Number(start / BigInt(secondRows)),
      skip: Number(start % BigInt(secondRows)),
      rows: Number(rows),
    }
  }
}

/** PRODUCT of tuples of two shapes (`product.wesl`): one dispatch. */
export class Product {
  readonly #kernel: Kernel
  readonly #shape: ColumnShape
  readonly #mostBytes: number
  readonly #unbounded: DeviceWord

  private constructor(kernel: Kernel, shape: ColumnShape, mostBytes: number, unbounded: DeviceWord) {
    this.#kernel = kernel
    this.#shape = shape
    this.#mostBytes = mostBytes
    this.#unbounded = unbounded
  }

  /** @param mostBytes bytes of a result at most */
  static async create(
    device: Device,
    first: ColumnShape,
    second: ColumnShape,
    mostBytes: number,
  ): Promise<Product> {
    const shape = productShape(first, second)
    const [kernel, unbounded] = await Promise.all([
      device.kernel({
        module: 'relational/algebra/product',
        entryPoint: 'product',
        params: 7,
        conditions: {
          ...columnConditions(first),
          second_wide: second.keyWords === 2,
          second_payload: second.payloadWords > 0,
          out_wide_payload: shape.payloadWords === 2,
        },
        bindings: ['read'],
        further: [
          ...ifPayload(first, [1, 'read']),
          [2, 'read'],
          ...ifPayload(second, [3, 'read']),
          [4, 'read'],
          [5, 'read'],
          [6, 'write'],
          [7, 'write'],
          [8, 'write'],
        ],
      }),
      unboundedCount(device),
    ])
    return new Product(kernel, shape, mostBytes, unbounded)
  }

  /** Tuples of the largest result. */
  get mostRows(): number {
    return Math.floor(this.#mostBytes / tupleBytes(this.#shape))
  }

  /**
   * The product in scratch memory, or a window of it. Rows of a window are counted by the tuples that there are, so that who cuts a
   * product into windows must know how many those are.
   * @throws WarpdexError `OUT_OF_DEVICE_MEMORY` if the result may be larger than it may be; `productWindows` cuts it into pieces
   */
  record(
    recorder: Recorder,
    scratch: Scratch,
    first: Tuples,
    second: Tuples,
    window: ProductWindow = { first: 0, skip: 0, rows: first.rows * second.rows },
  ): Tuples {
    const bytes = window.rows * tupleBytes(this.#shape)
    if (bytes > this.#mostBytes) {
      throw new WarpdexError(
        'OUT_OF_DEVICE_MEMORY',
        `the product may take ${bytes} bytes, and ${this.#mostBytes} are allowed; it can be made in windows`,
      )
    }
    const count = { buffer: scratch.words(1), index: 0 }
    const order = second.order === 'tuple' && first.shape.payloadWords === 0 ? 'tuple' : 'key'
    const result = scratchTuples(scratch, this.#shape, window.rows, order, count)
    const [firstLive, secondLive] = [first, second].map(({ count }) => count ?? this.#unbounded)
    recorder.dispatch(
      this.#kernel,
      [
        ...columnBuffers(first.columns),
        ...columnBuffers(second.columns),
        firstLive!.buffer,
        secondLive!.buffer,
        ...columnBuffers(result.columns),
        count.buffer,
      ],
      [first.rows, second.rows, firstLive!.index, secondLive!.index, window.first, window.skip, window.rows],
      Math.max(1, Math.ceil(window.rows / 4)),
    )
    return result
  }
}
