/** Who answers, of those that `bench/peers` measures. */
export const PEERS = [
  'warpdex',
  'CPU hash',
  'Redis, columns',
  'Redis, ioredis',
  'LMDB, getBinaryFast',
] as const

/** Keys of a batch. */
export const PEER_BATCHES = [1, 100, 1000, 10_000, 65_536] as const

/** Of what `bench/peers` keeps, which are not rows. */
export interface KeptPeers {
  readonly outcomes: readonly {
    readonly operation: string
    readonly payload: string
    readonly keys: number
    readonly distribution?: string
    readonly batch: number
    readonly rates: Readonly<Record<string, { readonly median: number }>>
  }[]
}

/** Lookups per second of a peer among a million u64 keys with payloads of 16 bytes. */
export function lookupRate({ outcomes }: KeptPeers, batch: number, peer: string): number | undefined {
  const found = outcomes.find(
    (one) =>
      one.operation === 'lookup' &&
      one.payload === 'fixed(16)' &&
      one.keys === 1e6 &&
      one.distribution === 'uniform' &&
      one.batch === batch,
  )
  return found?.rates[peer]?.median
}
