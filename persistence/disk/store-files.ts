/** What lies in a data directory and in a backup. */
export const DATA_FILE = 'data.mdb'
export const SNAPSHOT_DIRECTORY = 'snapshots'
/** Names of the files among the snapshots, finished or not: index, position, something random. */
export const SNAPSHOT_FILE = /^\d+-\d+-[0-9a-f]{8}\.snapshot(\.tmp)?$/
/** Of a backup only, and written last: a folder without it is none. */
export const MANIFEST_FILE = 'warpdex-backup.json'
/** Of an unfinished backup only, from its begin on: what has it may be removed. */
export const UNFINISHED_FILE = 'warpdex-backup.unfinished'
