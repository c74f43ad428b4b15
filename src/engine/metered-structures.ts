import type { IndexStructure } from '../../gpu/index-structure.js'
import type { EngineMeter } from '../observe/meter.js'
import type { StructureFactory } from './structures.js'

/** Structures whose calls are timed, from the submission until the result is back, and whose compactions are counted. */
export function meteredStructures(structures: StructureFactory, meter: EngineMeter): StructureFactory {
  return {
    ...structures,
    create: async (device, shape) => metered(await structures.create(device, shape), meter),
    restore: async (device, shape, meta, readPart) =>
      metered(await structures.restore(device, shape, meta, readPart), meter),
  }
}

/** Hands everything on at once, so that what is called first is submitted first, and returns the structure's own promises. */
function metered(structure: IndexStructure, meter: EngineMeter): IndexStructure {
  const time = <T>(since: number, result: Promise<T>): Promise<T> => {
    result.then(
      () => meter.computed(performance.now() - since),
      () => {},
    )
    return result
  }
  return {
    shape: structure.shape,
    read: (request, columns) =>
      // An explanation is no work.
      request.op === 'explain'
        ? structure.read(request, columns)
        : time(performance.now(), structure.read(request, columns)),
    ...(structure.duringReads && { duringReads: structure.duringReads.bind(structure) }),
    prepare: (batch) => time(performance.now(), structure.prepare(batch)),
    compactIfWorthwhile: async (options) => {
      const wasMerging = structure.background !== undefined
      const isCompacted = await structure.compactIfWorthwhile(options)
      if (isCompacted) meter.happened('compaction')
      if (!wasMerging && structure.background !== undefined) meter.happened('merge')
      return isCompacted
    },
    get background() {
      return structure.background
    },
    get derivedBytes() {
      return structure.derivedBytes
    },
    image: (options) => structure.image(options),
    entries: () => structure.entries(),
    renumber: (lists) => structure.renumber(lists),
    stats: () => structure.stats(),
    destroy: () => structure.destroy(),
  }
}
