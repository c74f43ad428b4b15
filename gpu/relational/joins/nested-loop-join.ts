import type { Device } from '../../device/device.js'
import type { Kernel } from '../../device/kernel.js'
import type { Recorder } from '../../device/recorder.js'
import type { Scratch } from '../../memory/scratch.js'
import type { KeyWords, Primitives } from '../../primitives/primitives.js'
import { columnConditions } from '../columns.js'
import type { Slice } from './expand.js'
import type { JoinSide } from './join-types.js'
import { type KeyRange, type PairWriter, type Roles, rangeParams, type Uncounted } from './matches.js'

/** Probes of a block and build keys of a tile; as in `nested-loop-join.wesl`. */
const BLOCK = 2048
const TILE = 1024

/** Workgroups that keep every core of a large GPU busy. */
const ENOUGH_GROUPS = 2048

/** Numbers that probes get by segments, at most, unless they are more themselves: 64 MiB of counts and of first matches each. */
const MOST_NUMBERS = 2 ** 24

/** How the build side is cut. */
interface Segments {
  readonly blocks: number
  readonly segment: number
  readonly segments: number
}

/** The blocked nested-loop join (`nested-loop-join.wesl`). */
export class NestedLoopJoin {
  readonly #device: Device
  readonly #primitives: Primitives
  readonly #keyWords: KeyWords

  constructor(device: Device, primitives: Primitives, keyWords: KeyWords) {
    this.#device = device
    this.#primitives = primitives
    this.#keyWords = keyWords
  }

  /** Compares every probe with every build key, and counts the matches of each. Both sides have keys. */
  async match(
    recorder: Recorder,
    scratch: Scratch,
    { probe, build }: Roles<JoinSide>,
    range: KeyRange,
  ): Promise<Uncounted> {
    const kernel = await this.#kernel('count_matches', range, false)
    const { blocks, segment, segments } = cut(probe.count, build.count)
    const numbers = segments * probe.count
    const runs = { firsts: scratch.words(numbers), counts: scratch.words(numbers) }
    const params = [probe.count, build.count, blocks, segment, segments, ...rangeParams(range)]
    const buffers = [probe.keys, build.keys, runs.firsts, runs.counts]
    recorder.dispatchGroups(kernel, buffers, params, blocks * segments, { weight: segment / TILE })
    const rows = { probe: probe.rows, build: build.rows }
    return { algorithm: 'ninlj', ...runs, probes: numbers, rows, period: probe.count }
  }

  /**
   * Writes the pairs by comparing all keys again: where a probe has several matches, they are not next to each other.
   * @param mark whether build rows that are written are marked
   */
  async writer(
    scratch: Scratch,
    { probe, build }: Roles<JoinSide>,
    range: KeyRange,
    mark: boolean,
  ): Promise<(slice: Slice) => PairWriter> {
    const kernel = await this.#kernel('write_matches', range, mark)
    const { blocks, segment, segments } = cut(probe.count, build.count)
    const recorder = scratch.record()
    const probeRows = this.#rows(recorder, scratch, probe)
    const buildRows = this.#rows(recorder, scratch, build)
    recorder.submit()
    return (slice) =>
      (recorder, _scratch, { begin, end }, output, marks) => {
        const common = [probe.count, build.count, blocks, segment, segments, ...rangeParams(range)]
        const params = [...common, slice.first, slice.probes, begin, end]
        const buffers = [
          probe.keys,
          build.keys,
          slice.offsets,
          probeRows,
          buildRows,
          output.probe,
          output.build,
        ]
        if (marks !== undefined) buffers.push(marks)
        recorder.dispatchGroups(kernel, buffers, params, blocks * segments, { weight: segment / TILE })
      }
  }

  #rows(recorder: Recorder, scratch: Scratch, { rows, count }: JoinSide): GPUBuffer {
    if (rows !== undefined) return rows
    const positions = scratch.words(count)
    this.#primitives.iota(recorder, positions, count)
    return positions
  }

  #kernel(
    entryPoint: 'count_matches' | 'write_matches',
    { below, above }: KeyRange,
    mark: boolean,
  ): Promise<Kernel> {
    const conditions = {
      ...columnConditions({ keyWords: this.#keyWords, payloadWords: 0 }),
      band: below + above > 0n,
      mark,
    }
    const common = { module: 'relational/joins/nested-loop-join', entryPoint, params: 13, conditions }
    if (entryPoint === 'count_matches') {
      return this.#device.kernel({ ...common, bindings: ['read', 'read', 'write', 'write'] })
    }
    return this.#device.kernel({
      ...common,
      bindings: [
        'read',
        'read',
        'read',
        'read',
        'read',
        'write',
        'write',
        ...(mark ? (['write'] as const) : []),
      ],
    })
  }
}

/** Cuts the build side into segments of whole tiles, so that there are enough workgroups. */
function cut(probes: number, count: number): Segments {
  const blocks = Math.ceil(probes / BLOCK)
  const tiles = Math.ceil(count / TILE)
  const most = Math.max(1, Math.floor(MOST_NUMBERS / probes))
  const wanted = Math.min(tiles, most, Math.ceil(ENOUGH_GROUPS / blocks))
  const segment = Math.ceil(tiles / wanted) * TILE
  return { blocks, segment, segments: Math.ceil(count / segment) }
}
