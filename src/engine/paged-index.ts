import type { Device } from '../../gpu/device/device.js'
import type {
  IndexShape,
  IndexStructure,
  PreparedWrite,
  ReadColumns,
  ReadOp,
  ReadRequest,
  ReadResults,
  StructureImage,
  StructureStats,
  WriteBatch,
} from '../../gpu/index-structure.js'
import { keyWidth } from '../../protocol/types.js'
import { NO_ENGINE_METER } from '../observe/meter.js'
import type { EngineHost, PagingHost } from './engine-host.js'
import { GetCoalescer } from './get-coalescer.js'
import { PagedStructure, type PlaceStats } from './paged-structure.js'
import type { SnapshotContent } from './snapshot-upkeep.js'
import type { StructureFactory } from './structures.js'

export type PagedStats = StructureStats & PlaceStats

/** The structure of an index, which may be paged out. What it is asked for is timed, from the submission until the result is back. */
export class PagedIndex extends PagedStructure<IndexStructure> {
  readonly shape: IndexShape
  readonly #structures: StructureFactory
  readonly #gets: GetCoalescer

  /** Takes over a structure that is on the device. */
  constructor(structure: IndexStructure, host: PagingHost & Pick<EngineHost, 'structures'>) {
    const { shape } = structure
    super(structure, host)
    this.shape = shape
    this.#structures = host.structures
    const { meter = NO_ENGINE_METER } = host
    this.#gets = new GetCoalescer(
      (keys, memory) => this.#timed(performance.now(), this.current.read({ op: 'get', memory }, { keys })),
      keyWidth(shape.keyType),
      shape.payloadBytes,
      (gets, milliseconds) => meter.dispatched(gets, milliseconds),
    )
  }

  /** As the structure's, within `change`. Once it is done others have made way for what it made sure of. */
  prepare(batch: WriteBatch): Promise<PreparedWrite> {
    return this.reserve((structure) => this.#timed(performance.now(), structure.prepare(batch)))
  }

  /** As the structure's; small gets that leave the search to the structure share dispatches. */
  read<Op extends ReadOp>(request: ReadRequest<Op>, columns: ReadColumns): Promise<ReadResults[Op]> {
    return this.use((structure) => {
      const { op, traversal, memory } = request as Partial<ReadRequest<'get'>>
      if (op === 'get' && traversal === undefined && columns.keys !== undefined)
        return this.#gets.get(columns.keys, memory) as Promise<ReadResults[Op]>
      // Explanations are not timed.
      if (request.op === 'explain') return structure.read(request, columns)
      return this.#timed(performance.now(), structure.read(request, columns))
    })
  }

  /**
   * Its entries, which do not depend on how structures lie in memory. One that is on the host stays there, and only a copy of it comes to the
   * device.
   */
  override async snapshot(): Promise<SnapshotContent> {
    const { hostImage } = this
    const { meta, columns, release } = await (hostImage === undefined
      ? this.use((structure) => structure.entries())
      : this.host.budget.withRoom(async () => {
          const copy = await this.restore(await this.host.device(), hostImage)
          return copy.entries().finally(() => copy.destroy())
        }))
    return { meta, parts: columns, release }
  }

  protected override restore(device: Device, image: StructureImage): Promise<IndexStructure> {
    return this.#structures.restore(device, this.shape, image)
  }

  async #timed<T>(since: number, work: Promise<T>): Promise<T> {
    const result = await work
    this.host.meter?.computed(performance.now() - since)
    return result
  }
}
