import type { Device } from '../../../gpu/device/device.js'
import type { DeviceMemory } from '../../../gpu/memory/page-run.js'
import type { Scratch } from '../../../gpu/memory/scratch.js'
import { asBytes } from '../../../protocol/columns.js'
import { scattered } from '../../keys.js'

/** Tuples in host memory, column by column. */
export type HostTuples = readonly Uint32Array[]

/** Two relations with keys, and payloads where there are any, some of whose keys match. */
export interface HostPair {
  readonly first: HostTuples
  readonly second: HostTuples
  /** Places of tuples that have equal keys, in each relation. */
  readonly matched: { readonly first: Uint32Array; readonly second: Uint32Array }
}

/** Ascending keys over the whole range whose lowest bit is that of `start`, 2 or more apart. */
export function ascendingKeys(count: number, start = 0): Uint32Array {
  const widest = Math.max(1, Math.floor(2 ** 31 / Math.max(1, count)) - 1)
  const keys = new Uint32Array(count)
  let key = start
  for (let i = 0; i < count; i++) {
    keys[i] = key
    key += 2 * (1 + (scattered(i + start * 0x9e3779b1) % widest))
  }
  return keys
}

/** As many random values. */
export function randomValues(count: number, seed: number): Uint32Array {
  return Uint32Array.from({ length: count }, (_, i) => scattered(i + seed))
}

/**
 * Two relations of which half of the keys match. The others lie between them at random: the first relation's keys are even, and what
 * only the second has is odd.
 */
export function halfMatchingPair(count: number, withPayloads: boolean): HostPair {
  const firstKeys = ascendingKeys(count)
  const matching = numbersWhere(count, (i) => (scattered(i ^ 0x5bd1e995) & 1) === 1)
  const others = ascendingKeys(count - matching.length, 1)
  const secondKeys = new Uint32Array(count)
  const places = new Uint32Array(matching.length)
  let [taken, other] = [0, 0]
  for (let i = 0; i < count; i++) {
    const key = taken < matching.length ? firstKeys[matching[taken]!]! : 2 ** 32
    if (other < others.length && others[other]! < key) {
      secondKeys[i] = others[other++]!
    } else {
      places[taken++] = i
      secondKeys[i] = key
    }
  }
  const payloads = (seed: number) => (withPayloads ? [randomValues(count, seed)] : [])
  return {
    first: [firstKeys, ...payloads(1)],
    second: [secondKeys, ...payloads(count)],
    matched: { first: matching, second: places },
  }
}

/** A relation, every tuple of which matches itself. */
export function sameTwice(tuples: HostTuples): HostPair {
  const every = numbersWhere(tuples[0]!.length, () => true)
  return { first: tuples, second: tuples, matched: { first: every, second: every } }
}

/** Tuples at these places, in this order. */
export function pick(tuples: HostTuples, places: Uint32Array): HostTuples {
  return tuples.map((column) => places.map((place) => column[place]!))
}

/** The tuples of both, one behind the other. */
export function together(first: HostTuples, second: HostTuples): HostTuples {
  return first.map((column, c) => {
    const both = new Uint32Array(column.length + second[c]!.length)
    both.set(column)
    both.set(second[c]!, column.length)
    return both
  })
}

/** The numbers below `count` that satisfy a condition. */
export function numbersWhere(count: number, condition: (i: number) => boolean): Uint32Array {
  const numbers = new Uint32Array(count)
  let found = 0
  for (let i = 0; i < count; i++) if (condition(i)) numbers[found++] = i
  return numbers.slice(0, found)
}

/** The numbers below `count` that are not among these ascending ones. */
export function numbersWithout(numbers: Uint32Array, count: number): Uint32Array {
  let next = 0
  return numbersWhere(count, (i) => {
    if (numbers[next] !== i) return true
    next++
    return false
  })
}

/** A column on the device. */
export function uploadColumn(device: Device, scratch: Scratch, column: Uint32Array): DeviceMemory {
  const buffer = scratch.words(Math.max(1, column.length))
  device.upload(buffer, asBytes(column))
  return buffer
}

/** Bytes of tuples. */
export function bytesOf(tuples: HostTuples): number {
  return tuples.reduce((sum, { byteLength }) => sum + byteLength, 0)
}

/**
 * Throws unless these are the same tuples, in any order, as far as a sum over hashes of theirs tells.
 * @param name of what has found them
 */
export function checkTuples(name: string, found: HostTuples, wanted: HostTuples): void {
  const [rows, wantedRows] = [found[0]!.length, wanted[0]!.length]
  if (rows !== wantedRows) throw new Error(`${name}: ${rows} tuples instead of ${wantedRows}`)
  if (sumOfHashes(found) !== sumOfHashes(wanted)) throw new Error(`${name}: other tuples than a plain loop's`)
}

function sumOfHashes(tuples: HostTuples): number {
  let sum = 0
  const rows = tuples[0]!.length
  for (let i = 0; i < rows; i++) {
    let hash = 0
    for (const column of tuples) hash = scattered(hash ^ column[i]!)
    sum = (sum + hash) >>> 0
  }
  return sum
}
