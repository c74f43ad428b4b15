import root from 'tap'
import type { Device } from '../../../../gpu/device/device.js'
import type { DeviceMemory } from '../../../../gpu/memory/page-run.js'
import { Primitives, type Strategy } from '../../../../gpu/primitives/primitives.js'
import type { JoinResult } from '../../../../gpu/relational/joins/join-result.js'
import type { JoinAlgorithm, JoinRequest, JoinSide } from '../../../../gpu/relational/joins/join-types.js'
import { NO_ROW } from '../../../../gpu/relational/joins/join-types.js'
import { Joins } from '../../../../gpu/relational/joins/joins.js'
import { DeviceWork } from '../../../../gpu/relational/query/device-work.js'
import { QueryKernels } from '../../../../gpu/relational/query/query-kernels.js'
import type { JoinKind } from '../../../../protocol/query/tree.js'
import { openDevice } from '../../open-device.js'

/** A side of a join in host memory. */
export interface HostSide {
  readonly keys: readonly bigint[]
}

/** What a test joins, and how. */
export interface HostJoin extends Omit<JoinRequest, 'left' | 'right' | 'passBytes'> {
  readonly left: HostSide
  readonly right: HostSide
  /** More than any test has results unless given. */
  readonly passBytes?: number
}

/** Pairs of rows; undefined stands for no row. */
export type Pair = readonly [left: number | undefined, right: number | undefined]

export interface Outcome {
  readonly pairs: readonly Pair[]
  /** Results of each pass. */
  readonly passes: readonly number[]
  readonly counted: number | undefined
  readonly algorithm: JoinAlgorithm
}

let opened: Promise<Device> | undefined
const made = new Map<Strategy, Promise<QueryKernels>>()

/** The device of this file, and joins on it that are made once a strategy. */
export async function openJoins(strategy: Strategy, slicePairs?: number) {
  opened ??= openDevice(root)
  const device = await opened
  const making =
    made.get(strategy) ??
    Primitives.create(device, strategy).then((primitives) => QueryKernels.create(device, primitives))
  made.set(strategy, making)
  const kernels = await making
  const joins = slicePairs === undefined ? kernels.joins : new Joins(device, kernels.primitives, slicePairs)
  /** @param admit as `Scratch` takes it */
  const openWork = (admit?: (bytes: number) => void) => new DeviceWork(device, kernels, device.scratch(admit))
  return { device, joins, openWork }
}

export async function uploadSide(
  device: Device,
  buffers: DeviceMemory[],
  { keys }: HostSide,
  keyWords: 1 | 2,
): Promise<JoinSide> {
  const upload = async (words: Uint32Array) => {
    const buffer = await device.allocate(Math.max(4, words.byteLength), 'a column')
    buffers.push(buffer)
    device.upload(buffer, new Uint8Array(words.buffer))
    return buffer
  }
  const words = keys.flatMap((key) => [Number(key & 0xffffffffn), Number(key >> 32n)].slice(0, keyWords))
  return { keys: await upload(Uint32Array.from(words)), count: keys.length }
}

/** Joins on the device and reads all passes. */
async function joinOnDevice(strategy: Strategy, host: HostJoin, slicePairs?: number): Promise<Outcome> {
  const { device, joins, openWork } = await openJoins(strategy, slicePairs)
  const work = openWork()
  const buffers: DeviceMemory[] = []
  const sides = {
    left: await uploadSide(device, buffers, host.left, host.keyWords),
    right: await uploadSide(device, buffers, host.right, host.keyWords),
  }
  const request = { passBytes: 2 ** 26, ...host }
  const result = await joins.join(work, {
    ...request,
    left: { ...sides.left, ...flagsOf(host.left) },
    right: { ...sides.right, ...flagsOf(host.right) },
  })
  const outcome = await readResult(work, result)
  work.scratch.release()
  for (const buffer of buffers) buffer.destroy()
  return outcome
}

/** Reads all passes of a result, and destroys it. */
export async function readResult(work: DeviceWork, result: JoinResult): Promise<Outcome> {
  const { device } = work
  const pairs: Pair[] = []
  const passes: number[] = []
  for await (const { left, right, count, ascending } of result.passes()) {
    work.submit()
    passes.push(count)
    const leftRows = await device.readWords(left, count)
    const rightRows = right === undefined ? undefined : await device.readWords(right, count)
    leftRows.forEach((row, i) => {
      pairs.push([rowOf(row), rowOf(rightRows?.[i])])
    })
    const inOrder = ascending === 'left' ? leftRows : ascending === 'right' ? rightRows! : []
    inOrder.forEach((row, i) => {
      if (i > 0 && row <= inOrder[i - 1]!) throw new Error(`row ${row} does not follow ${inOrder[i - 1]}`)
    })
  }
  const { pairs: counted, choice } = result
  result.destroy()
  return { pairs, passes, counted, algorithm: choice.algorithm }
}

/** What is known of the keys of most sides. */
function flagsOf({ keys }: HostSide) {
  const sorted = keys.length > 1 && keys.every((key, i) => i === 0 || keys[i - 1]! <= key)
  return { sorted, unique: new Set(keys).size === keys.length }
}

function rowOf(row: number | undefined): number | undefined {
  return row === NO_ROW ? undefined : row
}

/** All pairs that match, found by looking at each. */
export function joinOnHost({ left, right, delta, kind = 'inner' }: HostJoin): Pair[] {
  const byKey = new Map<bigint, number[]>()
  const order = right.keys.map((key, row) => ({ key, row }))
  const matchedRight = new Set<number>()
  const pairs: Pair[] = []
  for (const { key, row } of order) byKey.set(key, [...(byKey.get(key) ?? []), row])
  left.keys.forEach((key, row) => {
    const matches = delta === undefined ? (byKey.get(key) ?? []) : bandMatches(order, key, delta)
    for (const match of matches) matchedRight.add(match)
    pairs.push(...resultsOf(kind, row, matches))
  })
  if (kind === 'right' || kind === 'full') {
    for (const { row } of order) if (!matchedRight.has(row)) pairs.push([undefined, row])
  }
  return pairs
}

function bandMatches(right: readonly { key: bigint; row: number }[], key: bigint, delta: bigint): number[] {
  return right.filter((other) => other.key >= key && other.key <= key + delta).map(({ row }) => row)
}

function resultsOf(kind: JoinKind, row: number, matches: readonly number[]): Pair[] {
  if (kind === 'semi') return matches.length > 0 ? [[row, undefined]] : []
  if (kind === 'anti') return matches.length > 0 ? [] : [[row, undefined]]
  if (matches.length === 0 && (kind === 'left' || kind === 'full')) return [[row, undefined]]
  return matches.map((match) => [row, match])
}

/** Throws unless both have the same pairs equally often, in any order. */
export function samePairs(found: readonly Pair[], wanted: readonly Pair[]): void {
  if (found.length !== wanted.length) throw new Error(`${found.length} pairs instead of ${wanted.length}`)
  const sorted = (pairs: readonly Pair[]) =>
    Float64Array.from(pairs, ([left = -1, right = -1]) => (left + 1) * 2 ** 26 + right + 1).sort()
  const [own, other] = [sorted(found), sorted(wanted)]
  own.forEach((pair, i) => {
    if (pair !== other[i]) throw new Error(`pair ${i} in order is ${pair} instead of ${other[i]}`)
  })
}

/** Joins on the device and on the host, and compares. */
export async function checkJoin(strategy: Strategy, host: HostJoin, slicePairs?: number): Promise<Outcome> {
  const outcome = await joinOnDevice(strategy, host, slicePairs)
  samePairs(outcome.pairs, joinOnHost(host))
  return outcome
}
