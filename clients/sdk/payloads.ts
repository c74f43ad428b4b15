import { aligned } from '../../protocol/columns.js'
import { WarpdexError } from '../../protocol/errors.js'
import type { Rows } from '../../protocol/rows.js'
import { type IndexDefinition, type PayloadKind, payloadBytes } from '../../protocol/types.js'

/** One payload in JavaScript. */
export type Payload<P extends PayloadKind> = P extends 'u32' ? number : P extends 'u64' ? bigint : Uint8Array

/** A column of payloads: rows of n bytes for `fixed(n)`, and the payloads one after the other for `bytes`. */
export type PayloadArray<P extends PayloadKind> = P extends 'u32'
  ? Uint32Array
  : P extends 'u64'
    ? BigUint64Array
    : Uint8Array

/** Payloads that came back. They are views of the reply's memory, which lives as long as they do. */
export class Payloads<P extends PayloadKind> implements Iterable<Payload<P>> {
  readonly length: number
  /** All payloads in one typed array. */
  readonly array: PayloadArray<P>
  /** For kind `bytes`: where in `array` each payload starts, and the end of the last. */
  readonly offsets: Uint32Array | undefined
  /** Payload number i. */
  readonly at: (i: number) => Payload<P>
  readonly #definition: IndexDefinition
  readonly #column: Rows

  /** @throws WarpdexError `INTERNAL` when the column does not fit together */
  constructor(definition: IndexDefinition, column: Rows) {
    const { array, at, length } = readColumn(definition, column)
    // The kind is known only now; P is what the caller said of the index.
    this.array = array as PayloadArray<P>
    this.at = at as (i: number) => Payload<P>
    this.offsets = column.offsets
    this.length = length
    this.#definition = definition
    this.#column = column
  }

  /** Payloads number `first` to before `end`, as views of the same memory. */
  part(first: number, end: number): Payloads<P> {
    const { bytes, offsets } = this.#column
    const width = payloadBytes(this.#definition.payloadKind) ?? 0
    const part =
      offsets === undefined
        ? { bytes: bytes.subarray(first * width, end * width) }
        : { bytes, offsets: offsets.subarray(first, end + 1) }
    return new Payloads<P>(this.#definition, part)
  }

  *[Symbol.iterator](): Iterator<Payload<P>> {
    for (let i = 0; i < this.length; i++) yield this.at(i)
  }
}

interface Values {
  readonly array: Uint32Array | BigUint64Array | Uint8Array
  readonly length: number
  readonly at: (i: number) => number | bigint | Uint8Array
}

function readColumn({ payloadKind }: IndexDefinition, { bytes, offsets }: Rows): Values {
  if (payloadKind === 'u32') {
    const array = aligned(bytes, Uint32Array)
    return { array, length: array.length, at: (i) => array[i] }
  }
  if (payloadKind === 'u64') {
    const array = aligned(bytes, BigUint64Array)
    return { array, length: array.length, at: (i) => array[i] }
  }
  const width = payloadBytes(payloadKind)
  if (width !== undefined) {
    const at = (i: number) => bytes.subarray(i * width, (i + 1) * width)
    return { array: bytes, length: bytes.length / width, at }
  }
  if (offsets === undefined) throw new WarpdexError('INTERNAL', 'payloads of kind bytes came without offsets')
  const at = (i: number) => bytes.subarray(offsets[i], offsets[i + 1])
  return { array: bytes, length: offsets.length - 1, at }
}
