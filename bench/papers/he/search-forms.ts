import type { Device } from '../../../gpu/device/device.js'
import type { Recorder } from '../../../gpu/device/recorder.js'
import type { DeviceMemory } from '../../../gpu/memory/page-run.js'
import { median, type Row, spreadOf } from '../../report.js'
import { PAPER_KERNELS } from '../kernels.js'
import { show } from './join-bench.js'
import { type CheckedWork, checkedTimes, type PrimitiveBench, uploadWords } from './primitive-bench.js'
import { uniqueKeys } from './workload.js'

/** Keys of a node, most words of the directory in workgroup memory, and most keys of a chunk; as in `search-forms.wesl`. */
const NODE = 32
const UPPER = 2048
const CHUNK = 1024
/** Keys of a partition of a hash join on average, as a power of two: no partition of scattered keys has twice as many. */
const PARTITION_BITS = 9

/** A kernel of a join, over columns in host memory. */
interface Matching {
  readonly algorithm: 'inlj' | 'smj' | 'hj'
  /** The keys of both sides in the order in which the kernel has them; each probe has an equal key on the other side. */
  readonly probe: Uint32Array
  readonly build: Uint32Array
  /** The forms of its search. */
  readonly forms: Readonly<Record<string, (matching: Uploaded) => (recorder: Recorder) => void>>
}

/** Columns on the device. */
interface Uploaded {
  readonly probeKeys: DeviceMemory
  readonly buildKeys: DeviceMemory
  readonly matches: DeviceMemory
}

/**
 * He's Figure 11: the kernels that match, with sequential and with binary search, of INLJ, SMJ and HJ; and INLJ with the upper levels of its
 * tree in workgroup memory. Orders, partitions and the tree are there, and nothing is written but a match for each probe.
 */
export async function benchSearchForms(bench: PrimitiveBench): Promise<Row[]> {
  const { device, logarithm } = bench
  const { left, right } = uniqueKeys(2 ** logarithm)
  const rows: Row[] = []
  for (const make of [treeMatching, mergeMatching, hashMatching]) {
    const scratch = device.scratch()
    const upload = (words: Uint32Array) => uploadWords(device, scratch, words)
    const matching = make(device, upload, left, right)
    const { algorithm, probe, build, forms } = matching
    const uploaded = {
      probeKeys: upload(probe),
      buildKeys: upload(build),
      matches: scratch.words(probe.length),
    }
    const works = Object.entries(forms).map(([name, form]): CheckedWork => {
      const record = form(uploaded)
      return {
        name,
        record: (recorder) => {
          record(recorder)
          return uploaded.matches
        },
        check: matchCheck(`${algorithm}, ${name}`, probe, build),
        words: probe.length,
        output: uploaded.matches,
      }
    })
    const taken = await checkedTimes(bench, works)
    scratch.release()
    const figures: Record<string, number> = {}
    for (const [i, { name }] of works.entries())
      Object.assign(
        figures,
        spreadOf(
          `${name} ms`,
          taken[i]!.map((microseconds) => microseconds / 1e3),
        ),
      )
    figures['times as fast'] = median(taken[0]!) / median(taken[1]!)
    rows.push({ name: `Figure 11, ${algorithm}, ${show(left.length)}`, figures })
  }
  return rows
}

function matchCheck(name: string, probe: Uint32Array, build: Uint32Array): CheckedWork['check'] {
  return (matches) => {
    const wrong = probe.findIndex((key, i) => build[matches[i]!] !== key)
    if (wrong >= 0) throw new Error(`${name}: probe ${wrong} found place ${matches[wrong]}`)
  }
}

type Upload = (words: Uint32Array) => DeviceMemory

/** INLJ: probes in no order look into a CSS-tree. */
function treeMatching(device: Device, upload: Upload, probe: Uint32Array, right: Uint32Array): Matching {
  const build = right.toSorted()
  const { directory, levels } = treeOver(build)
  const buffers = { directory: upload(directory), levels: upload(levels) }
  // Whole levels, from the top.
  const upper = levels.findLast((start) => start <= UPPER) ?? 0
  const params = { probes: probe.length, keys: build.length, parts: levels.length - 1, upper }
  const form = (binary: boolean, inMemory: boolean) => (columns: Uploaded) => {
    const kernel = kernelOf(device, 'find_in_tree', { binary, upper: inMemory })
    return (recorder: Recorder) => recorder.dispatch(kernel, { ...columns, ...buffers }, params, probe.length)
  }
  return {
    algorithm: 'inlj',
    probe,
    build,
    forms: {
      sequential: form(false, false),
      binary: form(true, false),
      'binary, upper levels in workgroup memory': form(true, true),
    },
  }
}

/** The greatest key of each node, level by level from the top, and where levels begin. */
function treeOver(keys: Uint32Array): { readonly directory: Uint32Array; readonly levels: Uint32Array } {
  const fromBelow: Uint32Array[] = []
  for (let below = keys; below.length > NODE; below = fromBelow.at(-1)!) {
    const nodes = Math.ceil(below.length / NODE)
    fromBelow.push(
      Uint32Array.from({ length: nodes }, (_, node) => below[Math.min(below.length, (node + 1) * NODE) - 1]!),
    )
  }
  const fromTop = fromBelow.reverse()
  const levels = new Uint32Array(fromTop.length + 1)
  fromTop.forEach((level, i) => {
    levels[i + 1] = levels[i]! + level.length
  })
  const directory = new Uint32Array(Math.max(1, levels.at(-1)!))
  fromTop.forEach((level, i) => {
    directory.set(level, levels[i])
  })
  return { directory, levels }
}

/** SMJ: sorted sides, one of which is cut into chunks. */
function mergeMatching(device: Device, upload: Upload, left: Uint32Array, right: Uint32Array): Matching {
  const [probe, build] = [left.toSorted(), right.toSorted()]
  const chunks: number[] = []
  let at = 0
  for (let start = 0; start < build.length; start += CHUNK) {
    while (at < probe.length && probe[at]! < build[start]!) at++
    chunks.push(start, at)
  }
  chunks.push(build.length, probe.length)
  return chunkMatching(device, upload, 'smj', { probe, build, chunks: Uint32Array.from(chunks) })
}

/** HJ: sides in partitions by the lowest bits of their keys, which are scattered. */
function hashMatching(device: Device, upload: Upload, left: Uint32Array, right: Uint32Array): Matching {
  const partitions = 2 ** Math.max(0, Math.log2(right.length) - PARTITION_BITS)
  const probe = partitioned(left, partitions)
  const build = partitioned(right, partitions)
  const chunks = new Uint32Array(2 * (partitions + 1))
  for (let i = 0; i <= partitions; i++) {
    chunks[2 * i] = build.starts[i]!
    chunks[2 * i + 1] = probe.starts[i]!
    if (i > 0 && build.starts[i]! - build.starts[i - 1]! > CHUNK)
      throw new Error('a partition has too many keys')
  }
  return chunkMatching(device, upload, 'hj', { probe: probe.keys, build: build.keys, chunks })
}

function partitioned(
  keys: Uint32Array,
  partitions: number,
): { readonly keys: Uint32Array; readonly starts: Uint32Array } {
  const starts = new Uint32Array(partitions + 1)
  for (const key of keys) starts[(key & (partitions - 1)) + 1]! += 1
  for (let i = 0; i < partitions; i++) starts[i + 1]! += starts[i]!
  const next = starts.slice()
  const moved = new Uint32Array(keys.length)
  for (const key of keys) {
    moved[next[key & (partitions - 1)]!] = key
    next[key & (partitions - 1)]! += 1
  }
  return { keys: moved, starts }
}

function chunkMatching(
  device: Device,
  upload: Upload,
  algorithm: 'smj' | 'hj',
  columns: { readonly probe: Uint32Array; readonly build: Uint32Array; readonly chunks: Uint32Array },
): Matching {
  const { probe, build, chunks: bounds } = columns
  const chunks = upload(bounds)
  const parts = bounds.length / 2 - 1
  const params = { probes: probe.length, keys: build.length, parts, upper: 0 }
  const form = (binary: boolean) => (uploaded: Uploaded) => {
    const kernel = kernelOf(device, 'search_chunks', { binary, in_order: algorithm === 'smj' })
    return (recorder: Recorder) => recorder.dispatchGroups(kernel, { ...uploaded, chunks }, params, parts)
  }
  return { algorithm, probe, build, forms: { sequential: form(false), binary: form(true) } }
}

function kernelOf(
  device: Device,
  name: 'find_in_tree' | 'search_chunks',
  conditions: Readonly<Record<string, boolean>>,
) {
  return device.kernels('he/search-forms', [name], conditions, PAPER_KERNELS)[name]!
}
