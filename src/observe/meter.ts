/**
 * What happens beside requests and is worth counting; a compaction goes on between writes, a merge in the background, and an expiry is that
 * of a query's kept result.
 */
export const ENGINE_EVENTS = [
  'compaction',
  'merge',
  'snapshot',
  'pageOut',
  'pageIn',
  'deviceLoss',
  'expiry',
] as const
export type EngineEvent = (typeof ENGINE_EVENTS)[number]

/**
 * What the engine tells of its work, in the thread that runs it. All calls come on the serving path, once for a request, a dispatch
 * or a batch and never for a key; whoever listens must be quick. Times are in milliseconds.
 */
export interface EngineMeter {
  /** A request's turn in its index's queue came. */
  waited(milliseconds: number): void
  /** Small reads went to the device together, the first of them after that time; one may be alone. */
  dispatched(reads: number, milliseconds: number): void
  /** The device answered a call. */
  computed(milliseconds: number): void
  /** Writes that went together were synced. */
  logged(writes: number, bytes: number, milliseconds: number): void
  happened(event: EngineEvent): void
}
