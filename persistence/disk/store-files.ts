/** What lies in a data directory and in a backup. */
export const DATA_FILE = 'data.mdb'
/** LMDB's own, of its readers. */
export const LMDB_LOCK_FILE = 'lock.mdb'
export const SNAPSHOT_DIRECTORY = 'snapshots'
/** Names of the files among the snapshots, finished or not: index, position, something random. */
export const SNAPSHOT_FILE = /^\d+-\d+-[0-9a-f]{8}\.snapshot(\.tmp)?$/
/** Of a backup only, and written last: a folder without it is none. */
export const MANIFEST_FILE = 'warpdex-backup.json'
/** Of an unfinished backup, or of a data directory that one is to replace, from the begin on: what has it may be removed. */
export const UNFINISHED_FILE = 'warpdex-backup.unfinished'

/** The tables of the data file. */
export const TABLES = ['indexes', 'log', 'outcomes', 'payloads', 'snapshots'] as const
export type TableName = (typeof TABLES)[number]
/** Where the data file carries its format, beside the tables. */
export const FORMAT_KEY = Buffer.from('warpdex')
/** Where the data file of a replica says what of the log of its replica set it has. */
export const REPLICA_KEY = Buffer.from('warpdex replica')
/** How LMDB is told to treat keys and values: as bytes. */
export const ENCODING = { encoding: 'binary', keyEncoding: 'binary' } as const
