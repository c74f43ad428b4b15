const MIB = 1024 * 1024

/** Every limit of the system with its default. `docs/limits.md` explains each to users; keep the two in step. */
export const LIMITS = {
  /** Bytes of one frame. Large enough for a million u64 keys with u64 payloads, small enough to buffer per connection. */
  frameBytes: 64 * MIB,
  /** Bytes of a request's msgpack header: names and options only, columns travel in sections. */
  headerBytes: 64 * 1024,
  /** Bytes of a reply's msgpack header: lists of all indexes and their figures go there. */
  replyHeaderBytes: 16 * MIB,
  /** Sections of one frame. No operation needs more than eight. */
  sections: 16,
  /** Keys, or ranges, of one request. Bounds the scratch memory that one request takes on the device. */
  batchItems: 1 << 20,
  /** Rows of one chunk of a bulk load: a log record, and one write on the device. More would take more scratch memory and gain little. */
  loadItems: 1 << 21,
  /** Bytes of the columns of such a chunk: a sync is spread well by then, and larger records cost twice the processor time, in fresh memory. */
  loadBytes: 16 * MIB,
  /**
   * Bytes of writes that an index keeps in host memory while it is merged: four chunks of a load. On a GPU a merge is built before the
   * disk has taken as much; past it writers wait.
   */
  mergeBacklogBytes: 64 * MIB,
  /** Tuples that a write must create, at least, to be merged with a CSS-tree's sorted part at once: a delta of so few is not merged at all. */
  mergedTuples: 16 * 1024,
  /** Entries that one scan request returns over all its ranges; a token continues it. */
  scanEntries: 1 << 18,
  /** Bytes of one key of variable length, a tuple's as it is encoded: every write reads whole keys, and a level of the tree is half a byte. */
  keyBytes: 4096,
  /** Bytes of one payload of kind `bytes`. */
  payloadBytes: MIB,
  /** Bytes of a payload of kind `fixed(n)`: it lies in the tuple, so it is read with every lookup. */
  fixedPayloadBytes: 64,
  /** Levels of a tree's partition: every one of them is a step that a thread goes down alone. */
  partitionLevels: 64,
  /** Shards of one index: every batch is looked at for each of them. On a GPU that binds 2 GiB they hold more than any has memory for. */
  shards: 1024,
  /** UTF-8 bytes of an index name. */
  indexNameBytes: 128,
  /** Indexes of one server. */
  indexes: 10_000,
  /** Requests of one connection that may be unanswered before the server stops reading its socket. */
  requestsInFlight: 256,
  /** Bytes of unanswered requests of one connection before the server stops reading its socket. */
  bytesInFlight: 256 * MIB,
  /** Bytes of replies that wait for a client that does not read; past it the connection is closed. */
  replyBytesQueued: 256 * MIB,
  /** Connections of one server. */
  connections: 1024,
  /** Fragments of one WebSocket message: a defence against floods of tiny ones. */
  messageFragments: 4096,
  /** Pieces in which one WebSocket frame may come off the network: a slow one delivers 64 MiB in packets of a kilobyte. */
  messageChunks: 1 << 17,
  /** Write ids remembered for each client, so that a retried write is applied once. */
  writeIdsPerClient: 1024,
  /** Bytes of result codes remembered for each client: more than the requests of `bytesInFlight` have. */
  writeIdBytesPerClient: 64 * MIB,
  /** Write ids remembered over all clients: many that write little take up to 800 bytes of memory for each, 200 MiB together. */
  writeIdsInAll: 1 << 18,
  /** Hours after a client's last write at which its write ids are forgotten. */
  writeIdHours: 24,
  /** Bytes that one transaction on disk takes: a frame's batch with all that is derived from it. LMDB is known to crash past 200 MB. */
  transactionBytes: 160 * MIB,
} as const
