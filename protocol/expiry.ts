/** In the place of the time at which an item of a write expires: as the index's `ttl` says. */
export const BY_TTL = 2n ** 64n - 1n

/** What is known of the expiry of an index's entries. */
export interface ExpiryFigures {
  /** Entries that expired since the server was started. */
  readonly expired: number
  /** Entries that are to expire, when they were last counted: for `stats` of the index, and when any were removed. */
  readonly expiring: number
  /** When the next of them does, in milliseconds since 1970, or a time before that; absent where that is not known, or none does. */
  readonly nextExpiry?: number | undefined
}
