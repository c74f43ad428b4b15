import type { SnapshotInfo } from '../../protocol/replies.js'

/** An index or a relation of which snapshots are taken. */
interface Stored {
  readonly isDropped: boolean
  snapshot(): Promise<SnapshotInfo>
}

/** Takes a snapshot of each, one after the other, but of what is dropped meanwhile. */
export async function takeSnapshots(all: readonly Stored[]): Promise<readonly SnapshotInfo[]> {
  const taken: SnapshotInfo[] = []
  for (const each of all) {
    try {
      taken.push(await each.snapshot())
    } catch (error) {
      if (!each.isDropped) throw error
    }
  }
  return taken
}
