/** Where the snapshots of a replica set are: backups of its owner's store, each by the position in the log up to which it has everything. */
export interface SnapshotPlace {
  /** For people. */
  readonly name: string
  /** Positions of those that are whole, the newest first. */
  positions(): Promise<number[]>
  /**
   * Puts one there, unless it is.
   * @param backUp makes a backup of the store in a new folder
   */
  put(position: number, backUp: (folder: string) => Promise<void>): Promise<void>
  /** Has one used as a folder, which may be gone thereafter. */
  fetch(position: number, use: (folder: string) => Promise<void>): Promise<void>
  /** Removes those before a position, and what was begun and not finished there. */
  removeBefore(position: number): Promise<void>
}

export function newestFirst(positions: readonly number[]): number[] {
  return positions.toSorted((one, other) => other - one)
}
