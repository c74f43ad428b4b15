/** The log of a replica set: entries in one order, appended by whoever knows the last position. Positions ascend, with gaps; 0 is before the first. */
export interface ReplicatedLog {
  /** Position of the last entry; 0 where there is none. */
  head(): Promise<number>
  /**
   * Appends an entry behind `expected`, the position of the last one, and resolves with its position when a majority of servers has it synced. Finds
   * out what became of an attempt whose outcome is not known.
   * @throws WarpdexError `NOT_OWNER` where another entry is the last one, and nothing was appended; `INTERNAL` where the outcome stays unknown
   */
  append(entry: Uint8Array, expected: number): Promise<number>
  /**
   * The entries after a position, in order, those still to come too, until `stop`.
   * @throws WarpdexError `DAMAGED_FILE` where one is missing
   */
  read(after: number, stop: AbortSignal): AsyncIterable<LogEntry>
  /** About how many bytes all entries have that are there. */
  size(): Promise<number>
  /** Removes the entries up to a position. */
  trim(through: number): Promise<void>
}

export interface LogEntry {
  readonly position: number
  readonly bytes: Uint8Array
}
