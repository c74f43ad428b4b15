import type { IndexStructure, ScanRequest, ScanResult } from '../../gpu/index-structure.js'
import type { GatheredPayloads } from '../../persistence/payloads/gather.js'
import type { PayloadStore } from '../../persistence/payloads/payload-store.js'
import { aligned } from '../../protocol/columns.js'
import { WarpdexError } from '../../protocol/errors.js'
import { LIMITS } from '../../protocol/limits.js'

/** Payloads of a result: of one width, or cut by byte offsets where they are of kind `bytes`. */
export interface PayloadColumns {
  readonly payloads: Uint8Array
  /** Payload i is bytes payloadOffsets[i] to payloadOffsets[i + 1]. */
  readonly payloadOffsets?: Uint32Array | undefined
}

/** Room that a reply has for payloads beside its other columns. */
const PAYLOAD_BYTES = LIMITS.frameBytes / 2

/** Puts payloads of kind `bytes` in the place of the rows that a structure returns for them: four words each, row id first. */
export class PayloadReader {
  readonly #store: PayloadStore
  readonly #index: number

  constructor(store: PayloadStore, index: number) {
    this.#store = store
    this.#index = index
  }

  /**
   * The payloads of rows.
   * @param present a bitmap of the rows that count; all of them without it
   * @throws WarpdexError `TOO_LARGE` when they do not fit into one reply
   */
  async read(rows: Uint8Array, present?: Uint8Array): Promise<PayloadColumns> {
    const { offsets, bytes } = await this.#leading(rows, present)
    if (offsets.length - 1 === rows.byteLength / 16) return { payloads: bytes, payloadOffsets: offsets }
    throw tooLarge()
  }

  /**
   * A scan whose payloads fit into one reply: with a lower limit than asked for where they would not.
   * @throws WarpdexError `TOO_LARGE` when even one entry a range is too much
   */
  async scan(
    structure: IndexStructure,
    request: ScanRequest,
  ): Promise<Omit<ScanResult, 'payloads'> & PayloadColumns> {
    const result = await structure.scan(request)
    const { offsets, bytes } = await this.#leading(result.payloads)
    const fitting = offsets.length - 1
    if (fitting === result.payloads.byteLength / 16)
      return { ...result, payloads: bytes, payloadOffsets: offsets }
    const limit = request.ranges === 1 ? fitting : request.limit >> 1
    if (limit === 0) throw tooLarge()
    return this.scan(structure, { ...request, limit })
  }

  /** The payloads of as many leading rows as fit. */
  #leading(rows: Uint8Array, present?: Uint8Array): Promise<GatheredPayloads> {
    return this.#store.gather(this.#index, {
      rows: aligned(rows, Uint32Array),
      stride: 4,
      present,
      maxBytes: PAYLOAD_BYTES,
    })
  }
}

function tooLarge(): WarpdexError {
  return new WarpdexError(
    'TOO_LARGE',
    `the payloads take more than the ${PAYLOAD_BYTES} bytes that one reply has for them; ask for less at a time`,
  )
}
