import type {
  IndexStructure,
  ReadColumns,
  ReadOp,
  ReadRequest,
  ReadResults,
  ScanResult,
} from '../../gpu/index-structure.js'
import type { Column } from '../../protocol/columns.js'
import { LIMITS } from '../../protocol/limits.js'
import type { EngineHost } from './engine-host.js'
import { GatheredReads, goesWithOthers, type SharedOp, SMALL_READ, weightOf } from './gathered-reads.js'
import type { Reader } from './index-requests.js'
import type { IndexUpkeep } from './index-upkeep.js'
import { pagedIndex } from './loader.js'
import type { PagedStructure } from './paged-structure.js'
import { readPayloads } from './payload-reader.js'
import { type OpenVersion, VersionCopies, type VersionId } from './read-versions.js'
import { type RequestQueue, requireWanted } from './request-queue.js'

/** What reads need of their index. */
interface ReadIndex {
  readonly queue: Pick<RequestQueue<never>, 'read' | 'startsReads'>
  /** Whether payloads are of kind `bytes`, so that the structure holds their rows. */
  readonly hasRows: boolean
  /** What there is, in the index's turn. */
  live(): {
    readonly stored: { readonly id: number }
    readonly structure: PagedStructure<IndexStructure>
    readonly upkeep: Pick<IndexUpkeep, 'stopReclaiming'>
  }
}

/** How reads of one index come to its structure, or to a copy that was made for a read version. */
export class IndexReader {
  readonly #host: EngineHost
  readonly #index: ReadIndex
  readonly #gathered: GatheredReads
  readonly #copies: VersionCopies

  constructor(host: EngineHost, index: ReadIndex) {
    this.#host = host
    this.#index = index
    this.#copies = new VersionCopies(host.versions)
    this.#gathered = new GatheredReads(
      (request, columns) => this.#timed(this.#index.live().structure.current.read(request, columns)),
      (reads, milliseconds) => host.meter?.dispatched(reads, milliseconds),
    )
  }

  /** As `Index.read`. */
  read<Op extends ReadOp>(
    request: ReadRequest<Op>,
    columns: ReadColumns,
    reader: Reader | undefined,
    version: OpenVersion | undefined,
  ): Promise<ReadResults[Op]> {
    const copy = version && this.#copies.of(version)
    if (copy === undefined) return this.#index.queue.read(() => this.#readHere(request, columns, reader))
    return this.#inTurn(
      () => copy.use((structure) => this.#run(structure, request, columns)),
      request,
      columns,
      reader,
    )
  }

  /** As `Index.readAndOpen`. */
  readAndOpen(
    version: VersionId,
    request: ReadRequest<'scan'>,
    columns: ReadColumns,
    reader: Reader | undefined,
  ): Promise<ScanResult> {
    const { queue } = this.#index
    return queue.read(async () => {
      const page = await this.#readHere(request, columns, reader)
      if (page.more.includes(1)) {
        this.#host.versions.open(version, LIMITS.scanVersionSeconds, this.#copies)
        // What waits came before the version, and would be seen by it. Nothing is written before this turn ends.
        if (!queue.startsReads) await this.#copies.addForNewest((reserve) => this.#copy(reserve))
      }
      return page
    })
  }

  /** Entries of what there is, in a turn of the index that the caller has. */
  getInTurn(keys: Column): Promise<ReadResults['get']> {
    return this.#run(this.#index.live().structure, { op: 'get', withSequences: true }, { keys })
  }

  /** Called before a write takes its place in the queue: has what is there before it copied, if a read version was opened since the last copy. */
  copyForVersions(): void {
    if (!this.#copies.isDue) return
    this.#copies.add((reserve) => this.#index.queue.read(() => this.#copy(reserve)))
  }

  /** Whether there are copies for read versions. */
  get isCopied(): boolean {
    return !this.#copies.isEmpty
  }

  dropCopies(): Promise<void> {
    return this.#copies.drop()
  }

  /** Position of the last log record that a version sees. @throws WarpdexError `VERSION_GONE` */
  positionOf(version: OpenVersion): Promise<number> {
    const copy = this.#copies.of(version)
    return copy?.position() ?? this.#index.queue.read(async () => this.#position)
  }

  /** That of what there is, in the index's turn. */
  get #position(): number {
    return this.#host.store.log.last(this.#index.live().stored.id)
  }

  /** A copy of what there is, made in the index's turn. */
  async #copy(
    reserve: (bytes: number) => void,
  ): Promise<{ readonly structure: PagedStructure<IndexStructure>; readonly position: number }> {
    const { structure, upkeep } = this.#index.live()
    const position = this.#position
    reserve(structure.deviceBytes)
    await upkeep.stopReclaiming()
    return structure.use(async (current) => ({
      structure: pagedIndex(await current.copy(), this.#host),
      position,
    }))
  }

  #readHere<Op extends ReadOp>(
    request: ReadRequest<Op>,
    columns: ReadColumns,
    reader: Reader | undefined,
  ): Promise<ReadResults[Op]> {
    return this.#inTurn(
      () => this.#run(this.#index.live().structure, request, columns),
      request,
      columns,
      reader,
    )
  }

  /** Runs a read at once or, if it is a large one, when it has its share of the device. */
  #inTurn<Op extends ReadOp>(
    run: () => Promise<ReadResults[Op]>,
    request: ReadRequest<Op>,
    columns: ReadColumns,
    reader: Reader | undefined,
  ): Promise<ReadResults[Op]> {
    const weight = weightOf(request, columns)
    const runWanted = () => {
      requireWanted(reader)
      return run()
    }
    return weight <= SMALL_READ ? runWanted() : this.#host.turns.run(reader?.owner, weight, runWanted)
  }

  #run<Op extends ReadOp>(
    structure: PagedStructure<IndexStructure>,
    request: ReadRequest<Op>,
    columns: ReadColumns,
  ): Promise<ReadResults[Op]> {
    const { stored, structure: here } = this.#index.live()
    const ask = structure === here ? this.#askHere : this.#ask
    if (!this.#index.hasRows) return structure.use((current) => ask(current, request, columns))
    const read = (rows: ReadRequest<Op>) => structure.use((current) => ask(current, rows, columns))
    return readPayloads(this.#host.store.payloads, stored.id, read, request)
  }

  /** Small reads of what there is share dispatches. */
  #askHere = <Op extends ReadOp>(
    structure: IndexStructure,
    request: ReadRequest<Op>,
    columns: ReadColumns,
  ): Promise<ReadResults[Op]> => {
    if (!goesWithOthers(request, columns)) return this.#ask(structure, request, columns)
    const result: Promise<ReadResults[ReadOp]> = this.#gathered.read<SharedOp>(request, columns)
    return result as Promise<ReadResults[Op]>
  }

  #ask = <Op extends ReadOp>(
    structure: IndexStructure,
    request: ReadRequest<Op>,
    columns: ReadColumns,
  ): Promise<ReadResults[Op]> => {
    // Explanations are not timed.
    if (request.op === 'explain') return structure.read(request, columns)
    return this.#timed(structure.read(request, columns))
  }

  async #timed<T>(work: Promise<T>): Promise<T> {
    const since = performance.now()
    const result = await work
    this.#host.meter?.computed(performance.now() - since)
    return result
  }
}
