/** The closed set of error codes. A code never changes its meaning; `docs/protocol.md` lists what each asks of a client. */
export const ERROR_CODES = [
  'BAD_REQUEST',
  'UNKNOWN_INDEX',
  'INDEX_EXISTS',
  'WRONG_KEY_TYPE',
  'TOO_LARGE',
  'OUT_OF_DEVICE_MEMORY',
  'NO_ADAPTER',
  'DEVICE_LOST',
  'DAMAGED_FILE',
  'OVERLOADED',
  'UNAUTHORISED',
  'CANCELLED',
  'DEADLINE_EXCEEDED',
  'CONNECTION_LOST',
  'SHUTTING_DOWN',
  'INTERNAL',
  'DISK_FULL',
  'UNKNOWN_RELATION',
  'RELATION_EXISTS',
  'INDEX_CHANGED',
  'KEY_EXISTS',
  'VERSION_GONE',
  'CONDITION_FAILED',
  'POSITION_GONE',
  'NOT_OWNER',
] as const

export type ErrorCode = (typeof ERROR_CODES)[number]

/** What an error says beside its code and message. */
export interface WarpdexErrorOptions extends ErrorOptions {
  readonly item?: number | undefined
  readonly owner?: string | undefined
}

/** Every error that the project raises on purpose. The message says what was wrong and what would be right. */
export class WarpdexError extends Error {
  readonly code: ErrorCode
  /** Which of several things it is about, from 0 on: of `CONDITION_FAILED` the condition. */
  readonly item: number | undefined
  /** Of `NOT_OWNER`: the address of the node to ask, where it is known. */
  readonly owner: string | undefined

  constructor(code: ErrorCode, message: string, options: WarpdexErrorOptions = {}) {
    super(message, options)
    this.name = 'WarpdexError'
    this.code = code
    this.item = options.item
    this.owner = options.owner
  }
}

/** For what a caller, or a client, should have put otherwise. */
export function badRequest(message: string, options?: ErrorOptions): WarpdexError {
  return new WarpdexError('BAD_REQUEST', message, options)
}

/** Any thrown value as a WarpdexError; what was not raised on purpose becomes `INTERNAL`. */
export function toWarpdexError(thrown: unknown): WarpdexError {
  if (thrown instanceof WarpdexError) return thrown
  const message = thrown instanceof Error ? thrown.message : String(thrown)
  return new WarpdexError('INTERNAL', message, { cause: thrown })
}
