import type { Device } from '../../gpu/device/device.js'
import type { Scratch } from '../../gpu/memory/scratch.js'
import type { Tuples } from '../../gpu/relational/algebra/tuples.js'
import { scattered } from '../keys.js'

/** Sorted tuples of one-word keys, and payloads where there are any, in host memory. */
export interface HostTuples {
  readonly keys: Uint32Array
  readonly payloads: readonly Uint32Array[]
}

/** Two relations some of whose keys match. */
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
  const payloads = (seed: number) => (withPayloads ? [firstKeys.map((_, i) => scattered(i + seed))] : [])
  return {
    first: { keys: firstKeys, payloads: payloads(1) },
    second: { keys: secondKeys, payloads: payloads(count) },
    matched: { first: matching, second: places },
  }
}

/** Tuples at these places, in this order. */
export function pick({ keys, payloads }: HostTuples, places: Uint32Array): HostTuples {
  const at = (column: Uint32Array) => places.map((place) => column[place]!)
  return { keys: at(keys), payloads: payloads.map(at) }
}

/** The numbers below `count` that satisfy a condition. */
export function numbersWhere(count: number, condition: (i: number) => boolean): Uint32Array {
  const numbers = new Uint32Array(count)
  let found = 0
  for (let i = 0; i < count; i++) if (condition(i)) numbers[found++] = i
  return numbers.slice(0, found)
}

export function uploadTuples(device: Device, scratch: Scratch, { keys, payloads }: HostTuples): Tuples {
  const put = (words: Uint32Array) => {
    const buffer = scratch.words(words.length)
    device.upload(buffer, new Uint8Array(words.buffer, words.byteOffset, words.byteLength))
    return buffer
  }
  const payloadWords = payloads.length === 1 ? 1 : payloads.length === 2 ? 2 : 0
  return {
    shape: { keyWords: 1, payloadWords },
    columns: { keys: put(keys), payloads: payloadWords === 0 ? undefined : put(interleaved(payloads)) },
    rows: keys.length,
    order: 'key',
  }
}

function interleaved(columns: readonly Uint32Array[]): Uint32Array {
  if (columns.length === 1) return columns[0]!
  const words = new Uint32Array(columns.length * columns[0]!.length)
  columns.forEach((column, c) => {
    for (let i = 0; i < column.length; i++) words[i * columns.length + c] = column[i]!
  })
  return words
}

/** Throws unless the relation on the device is this one. */
export async function checkTuples(
  device: Device,
  name: string,
  found: Tuples,
  wanted: HostTuples,
): Promise<void> {
  const { columns, count, rows } = found
  const counted = count === undefined ? rows : (await device.readWords(count.buffer, 1, count.index * 4))[0]!
  if (counted !== wanted.keys.length) {
    throw new Error(`${name}: ${counted} tuples instead of ${wanted.keys.length}`)
  }
  await compare(device, `${name}, keys`, columns.keys, wanted.keys)
  if (columns.payloads !== undefined) {
    await compare(device, `${name}, payloads`, columns.payloads, interleaved(wanted.payloads))
  }
}

async function compare(device: Device, name: string, buffer: GPUBuffer, wanted: Uint32Array): Promise<void> {
  const found = await device.readWords(buffer, wanted.length)
  for (let i = 0; i < wanted.length; i++) {
    if (found[i] !== wanted[i]) throw new Error(`${name}: word ${i} is ${found[i]} instead of ${wanted[i]}`)
  }
}
