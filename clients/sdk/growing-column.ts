import type { Column } from '../../protocol/columns.js'

/** A column of values that are added, and copied, one by one. */
export class GrowingColumn {
  readonly #width: number | undefined
  #bytes = new Uint8Array(1024)
  /** Where each value ends, where values have no common width; 0 before the first. */
  readonly #ends: number[] = [0]
  #length = 0

  /** @param width bytes of each value; without it they may have any length */
  constructor(width: number | undefined) {
    this.#width = width
  }

  get byteLength(): number {
    return this.#length
  }

  add(value: Uint8Array): void {
    const end = this.#length + value.byteLength
    if (end > this.#bytes.byteLength) {
      const grown = new Uint8Array(2 * end)
      grown.set(this.#bytes)
      this.#bytes = grown
    }
    this.#bytes.set(value, this.#length)
    this.#length = end
    if (this.#width === undefined) this.#ends.push(end)
  }

  /** All values that were added. */
  column(): Column {
    const bytes = this.#bytes.subarray(0, this.#length)
    if (this.#width !== undefined) return { bytes, width: this.#width }
    return { bytes, offsets: Uint32Array.from(this.#ends) }
  }
}
