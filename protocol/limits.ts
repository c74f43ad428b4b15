const MIB = 1024 * 1024

/** Every limit of the system with its default. `docs/limits.md` explains each to users; keep the two in step. */
export const LIMITS = {
  /** Bytes of one frame. Large enough for a million u64 keys with u64 payloads, small enough to buffer per connection. */
  frameBytes: 64 * MIB,
  /** Bytes of a request's msgpack header: names and options only, columns travel in sections. */
  headerBytes: 64 * 1024,
  /**
   * Levels of arrays and maps in a header, of a request or a reply: both are gone through by recursion. A query of `queryDepth` levels has
   * two to each, and some around them.
   */
  headerDepth: 256,
  /** Bytes of a reply's msgpack header: lists of all indexes and their figures go there. */
  replyHeaderBytes: 16 * MIB,
  /** Replica sets of a cluster: a client has a connection to each. */
  replicaSets: 256,
  /** Sections of one frame: four for each column of a relation, of which there are `relationColumns`. */
  sections: 512,
  /** Keys, or ranges, of one request. Bounds the scratch memory that one request takes on the device. */
  batchItems: 1 << 20,
  /** Parts of a batch: indexes and relations that are written to, and indexes with conditions. All of them are kept on the device, and from others, at a time. */
  batchParts: 64,
  /**
   * Rows of writes that share a log record, and one write on the device: while the disk takes one group the device works on the next, so what
   * is in flight should be two groups and not one. A write of more goes alone.
   */
  groupItems: 1 << 18,
  /** Bytes of the columns of such a group: as of a chunk of a bulk load. */
  groupBytes: 16 * MIB,
  /**
   * Times the log at which a snapshot is due that there may be while writes keep coming: beside them it takes the engine's thread, the
   * device and the disk from them, and a longer log takes longer to replay.
   */
  snapshotLogTimes: 4,
  /** Seconds for which a snapshot that is due waits for a pause between writes: those that never pause are often few, and their log small. */
  snapshotWaitSeconds: 600,
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
  /** Relations of one server: each takes some pages of device memory a column, even while it is empty. */
  relations: 1000,
  /** Columns of a relation: a request's header has their names and a table of their sections, up to four each. */
  relationColumns: 128,
  /** UTF-8 bytes of one string of a relation: it is compared with others byte by byte, on the host. */
  stringBytes: 64 * 1024,
  /** Bytes of the different strings of a column: the host keeps them, and copies them when new ones come. */
  columnStringBytes: 1024 * MIB,
  /** UTF-8 bytes of the name of an index, a relation or a column. */
  indexNameBytes: 128,
  /** Characters of a backup's name, which is a folder's: file systems take 255 bytes, and a suffix must fit. */
  backupNameLength: 128,
  /** Indexes of one server. */
  indexes: 10_000,
  /** Requests of one connection that may be unanswered before the server stops reading its socket. */
  requestsInFlight: 256,
  /**
   * Unanswered requests of all connections: 256 that send all they may. Each takes about a kilobyte beside its bytes. Past it a
   * connection may have one; whoever sends more should wait rather than grow the queue for others.
   */
  requestsInAll: 1 << 16,
  /** Bytes of unanswered requests of one connection, and of one that is coming in, before the server stops reading its socket. */
  bytesInFlight: 256 * MIB,
  /** The same of all connections: sixteen of the largest frames. Past it a few read on at a time, each to the end of its message. */
  bytesInAll: 1024 * MIB,
  /** Bytes that a connection may always have in flight, whatever others have: a request of some thousand keys. */
  bytesReserved: 64 * 1024,
  /**
   * Connections that read on at a time past `bytesInAll`, each to the end of a message and up to `frameBytes`: one that sends slowly then, or
   * nothing, does not hold up all others until it is found out.
   */
  requestsPastBound: 4,
  /** Bytes of replies that wait to be read by one client: half of it for those that are being made, as far as their size can be known. */
  replyBytesQueued: 256 * MIB,
  /** Keys, or entries of results, of large reads that are on the device at a time; more would only wait there. */
  readsUnderWay: 1 << 20,
  /** Bytes of memory for replies that the server keeps for the next ones: what some dozens of large requests under way take. */
  replyMemoryKept: 256 * MIB,
  /** The same of all connections: past it requests wait for others' replies to be read. */
  replyBytesInAll: 1024 * MIB,
  /** Connections of one server. */
  connections: 1024,
  /** Connections that have not become WebSockets, beside the others: they live for seconds. */
  handshakes: 256,
  /** Seconds for an HTTP request, which the opening of a WebSocket is, and for the handshake of TLS before it. */
  handshakeSeconds: 10,
  /** Seconds of silence after which a client is asked whether it is there; as many again, and it is given up. */
  pingSeconds: 30,
  /** Seconds for which a client may leave replies unread, or a request unfinished: what hurries through a bad network takes less. */
  stallSeconds: 30,
  /** A client that is slower than a bad line may be is cut, once it lags by `stallSeconds`. */
  slowestBytesPerSecond: 64 * 1024,
  /** Seconds for the end of what runs, and for snapshots, when the server is told to stop. Service managers wait for 30 to 90. */
  shutdownSeconds: 30,
  /** Pings of a connection whose pongs have not left: some hundred bytes each, and nobody has a use for so many. */
  pingsPending: 1024,
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
  /** Read versions that are open at a time: each may have indexes copied. */
  versions: 4096,
  /** Seconds after its last use for which a read version stays unless its client says otherwise. */
  versionSeconds: 60,
  /** The same of one that a scan has opened: whoever goes through entries may do something slow with those of a page. */
  scanVersionSeconds: 600,
  /** The most that a client may ask for: copies of what was written to meanwhile stay as long. */
  versionSecondsMost: 3600,
  /**
   * Bytes of all copies that are made for read versions; on a software adapter a quarter of the machine's memory at most. They are paged out to
   * the host, which has to have room for them, too.
   */
  versionBytes: 16_384 * MIB,
  /** Bytes of changes in one reply of a feed, unless a single batch has more. */
  watchBytes: 4 * MIB,
  /** Seconds for which a request waits for a change: it is asked again then, so that whoever waits is known to be there. */
  watchSeconds: 20,
  /** Requests of a connection that wait for changes, one a feed, beside `requestsInFlight`: they take about a kilobyte each, and no work. */
  watchWaits: 1024,
  /** Operators of one query: far more than anyone writes, and each takes steps of its own on the device. */
  queryNodes: 256,
  /** Levels of a query's operators and expressions, which are gone through by recursion. */
  queryDepth: 64,
  /** Constants, columns and operators in all expressions of one query. */
  queryExpressions: 4096,
  /** Parts of one expression where those that are looked at several times count as often: `in` and `coalesce` within each other multiply. */
  queryExpressionSize: 2 ** 18,
  /** Lists of constants that come with a query as columns: as many as have room among the sections of a frame. */
  queryLists: 128,
  /** Constants in all of these lists. Each is a comparison where its `in` is no condition on a column, and rows are compared with all of them. */
  queryListValues: 1 << 14,
  /** Tables that come with a query: each takes some pages of device memory a column. */
  queryTables: 64,
  /** Parameters of a statement in SQL. */
  sqlParameters: 4096,
  /** Columns that an operator of a query gives. */
  queryColumns: 256,
  /** Columns by which an operator of a query joins, groups or sorts. */
  queryKeys: 32,
  /** Bytes of the pairs of rows that a join or a product of a query writes at a time: what comes after them takes a multiple of it. */
  queryPassBytes: 64 * MIB,
  /** Bytes of device memory that one query takes beside its relations. Past it the query is refused, lest it take what others need. */
  queryDeviceBytes: 8192 * MIB,
  /**
   * Milliseconds of work that queries have on the device at a time, as far as is known what work takes: whatever others ask for waits behind it. It goes
   * there in halves; much less would leave the device waiting for the host.
   */
  queryUnderWayMilliseconds: 2,
  /** The same on a software adapter, which has the processors of the host. */
  softwareUnderWayMilliseconds: 10,
  /** Of them, and of results that wait to be read, each query may have so many beside what all queries may take together: small ones go on while large ones fill that up. */
  queryFreeBytes: 16 * MIB,
  /** Seconds that a query waits for memory of others in all: longer than `stallSeconds`, after which results are given up that nobody reads. */
  queryWaitSeconds: 60,
  /** Bytes of a query's result that wait to be read: the query waits past it, and with it appends to its relations. */
  queryQueuedBytes: 64 * MIB,
  /** Rows of a relation from which on a selection over it has measured what selections cost: with fewer the plan hardly matters. */
  calibratedRows: 2 ** 20,
  /** Results that are being read at a time: each may keep relations on the device, and `queryQueuedBytes` on the host. */
  queryCursors: 64,
  /** Bytes of the columns of one batch of a query's result: enough for a copy at full speed, few enough to be kept for a slow client. */
  queryBatchBytes: 4 * MIB,
  /** Results of queries that are kept at a time: each takes some pages of device memory a column, and nobody but time clears them away. */
  keptResults: 256,
  /** Seconds after its last use for which a kept result stays unless its query says otherwise: a person at a console thinks for minutes. */
  keptSeconds: 600,
  /** The most that a query may ask for: what is wanted for longer than a day is worth a relation, which survives restarts. */
  keptSecondsMost: 86_400,
  /** Requests of the slow log: a few hundred bytes each, and more than anybody looks through. */
  slowRequests: 1000,
  /** Characters of a result column's name. */
  columnNameLength: 128,
} as const
