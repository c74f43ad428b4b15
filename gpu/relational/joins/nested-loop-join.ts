import type { Device, Kernels } from '../../device/device.js'
import type { Recorder } from '../../device/recorder.js'
import type { Scratch } from '../../memory/scratch.js'
import type { KeyWords } from '../../primitives/primitives.js'
import type { Slice } from './expand.js'
import type { JoinSide } from './join-types.js'
import { type KeyRange, type Matches, type PairWriter, type Roles, rangeParams } from './matches.js'

/** Probes of a block and build keys of a tile; as in `nested-loop-join.wesl`. */
const BLOCK = 2048
const TILE = 1024

/** Workgroups that keep every core of a large GPU busy. */
const ENOUGH_GROUPS = 2048

/** Numbers that probes get by segments, at most, unless they are more themselves: 64 MiB of counts and of first matches each. */
const MOST_NUMBERS = 2 ** 24

type LoopKernels = Kernels<'count_matches' | 'write_matches'>

/** The blocked nested-loop join (`nested-loop-join.wesl`). */
export class NestedLoopJoin {
  readonly #equal: LoopKernels
  readonly #band: LoopKernels

  constructor(device: Device, keyWords: KeyWords) {
    const kernels = (band: boolean): LoopKernels => {
      const conditions = { wide: keyWords === 2, band }
      return device.kernels(
        'relational/joins/nested-loop-join',
        ['count_matches', 'write_matches'],
        conditions,
      )
    }
    this.#equal = kernels(false)
    this.#band = kernels(true)
  }

  /**
   * Compares every probe with every build key, and counts the matches of each. Both sides have keys. Where a probe has several matches they are not
   * next to each other, and found again to be written.
   */
  match(recorder: Recorder, scratch: Scratch, sides: Roles<JoinSide>, range: KeyRange): Matches {
    const { probe, build } = sides
    const kernels = range.below + range.above > 0n ? this.#band : this.#equal
    const { blocks, segment, segments } = cut(probe.count, build.count)
    const probes = segments * probe.count
    const runs = { firsts: scratch.words(probes), counts: scratch.words(probes) }
    const keys = { probeKeys: probe.keys, buildKeys: build.keys }
    const common = { count: build.count, blocks, segment, segments, ...rangeParams(range) }
    const params = { ...common, probes: probe.count }
    const [groups, options] = [blocks * segments, { weight: segment / TILE }]
    recorder.dispatchGroups(kernels.count_matches, { ...keys, ...runs }, params, groups, options)
    const rewrite =
      ({ first, probes: numbers, offsets }: Slice): PairWriter =>
      (work, { begin, end }, output, matched) => {
        const columns = { outProbeRows: output.probe, outBuildRows: output.build }
        const buffers = { ...keys, ...columns, offsets, matched: matched ?? work.unwritten }
        const window = { firstNumber: first, numbers, begin, end, marks: matched === undefined ? 0 : 1 }
        work.recorder.dispatchGroups(
          kernels.write_matches,
          buffers,
          { ...params, ...window },
          groups,
          options,
        )
      }
    const rows = { probe: undefined, build: undefined }
    return { algorithm: 'ninlj', ...runs, probes, rows, period: probe.count, rewrite }
  }
}

/** Cuts the build side into segments of whole tiles, so that there are enough workgroups. */
function cut(probes: number, count: number) {
  const blocks = Math.ceil(probes / BLOCK)
  const tiles = Math.ceil(count / TILE)
  const most = Math.max(1, Math.floor(MOST_NUMBERS / probes))
  const wanted = Math.min(tiles, most, Math.ceil(ENOUGH_GROUPS / blocks))
  const segment = Math.ceil(tiles / wanted) * TILE
  return { blocks, segment, segments: Math.ceil(count / segment) }
}
