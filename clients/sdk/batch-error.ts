import { WarpdexError } from '../../protocol/errors.js'

/** Why a batch ended early that is sent in several requests. What was stored before stays. */
export class BatchError extends WarpdexError {
  /**
   * How many items are stored: the first ones of the batch and, unless the connection was lost, a deadline passed or a signal was aborted,
   * no others.
   */
  readonly stored: number
  /** A ResultCode for each of them. */
  readonly codes: Uint8Array

  constructor(reason: WarpdexError, codes: Uint8Array) {
    super(reason.code, `${reason.message}; the first ${codes.length} items of the batch are stored`, {
      cause: reason,
    })
    this.name = 'BatchError'
    this.stored = codes.length
    this.codes = codes
  }
}
