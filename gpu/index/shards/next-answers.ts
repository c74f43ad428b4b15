import { rowAt, rowsOf } from '../../../protocol/rows.js'
import { keyWidth } from '../../../protocol/types.js'
import type { GetNextResult, IndexShape } from '../../index-structure.js'
import { SEQUENCE_BYTES } from './shards.js'

/** The answers of several shards to one getNext, put together. */
export class NextAnswers {
  readonly #shape: IndexShape
  readonly #found: Uint8Array
  readonly #keys: Uint8Array[]
  readonly #payloads: Uint8Array
  readonly #sequences: Uint8Array

  constructor(shape: IndexShape, count: number) {
    this.#shape = shape
    this.#found = new Uint8Array(Math.ceil(count / 8))
    this.#keys = new Array(count).fill(new Uint8Array(keyWidth(shape.keyType) ?? 0))
    this.#payloads = new Uint8Array(count * shape.payloadBytes)
    this.#sequences = new Uint8Array(count * SEQUENCE_BYTES)
  }

  /** @param numbers which of the request's positions the result answers */
  add(numbers: Uint32Array, result: GetNextResult): void {
    const { keyType, payloadBytes } = this.#shape
    const keys = { bytes: result.keys, offsets: result.keyOffsets }
    numbers.forEach((number, i) => {
      if (!isSet(result.found, i)) return
      this.#found[number >> 3] |= 1 << (number & 7)
      this.#keys[number] = rowAt(keys, keyWidth(keyType), i)
      this.#payloads.set(rowAt({ bytes: result.payloads }, payloadBytes, i), number * payloadBytes)
      this.#sequences.set(rowAt({ bytes: result.sequences }, SEQUENCE_BYTES, i), number * SEQUENCE_BYTES)
    })
  }

  isFound(number: number): boolean {
    return isSet(this.#found, number)
  }

  result(): GetNextResult {
    const { bytes, offsets } = rowsOf(this.#keys)
    return {
      found: this.#found,
      keys: bytes,
      ...(keyWidth(this.#shape.keyType) === undefined && { keyOffsets: offsets }),
      payloads: this.#payloads,
      sequences: this.#sequences,
    }
  }
}

function isSet(bits: Uint8Array, i: number): boolean {
  return (bits[i >> 3] & (1 << (i & 7))) !== 0
}
