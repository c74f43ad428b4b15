import fc from 'fast-check'
import t, { type Test } from 'tap'
import type { Device } from '../../../gpu/device/device.js'
import type { NormalForm } from '../../../gpu/keys/normalise.js'
import { Primitives, type Strategy } from '../../../gpu/primitives/primitives.js'
import { openDevice } from '../open-device.js'
import { randomWords } from '../primitives/bed.js'

/** What the tests of one strategy run with. */
export interface Bed {
  readonly device: Device
  readonly primitives: Primitives
  readonly strategy: Strategy
}

let opened: Promise<readonly Bed[]> | undefined

async function open(): Promise<readonly Bed[]> {
  const device = await openDevice(t)
  // Another file of the process has one of its own.
  t.teardown(() => {
    opened = undefined
  })
  const strategies = ['cooperative', 'serial'] as const
  return Promise.all(
    strategies.map(async (strategy) => ({
      device,
      strategy,
      primitives: await Primitives.create(device, strategy),
    })),
  )
}

/** Runs a test with the kernels for GPUs and with those for CPUs, whatever the device is. */
export async function withEachStrategy(
  t: Test,
  body: (t: Test, bed: Bed) => Promise<void>,
  strategies?: readonly Strategy[],
): Promise<void> {
  opened ??= open()
  for (const bed of await opened) {
    if (strategies?.includes(bed.strategy) ?? true) await t.test(bed.strategy, (t) => body(t, bed))
  }
}

/** Column of keys as on the wire. */
export interface Column {
  readonly offsets: Uint32Array
  readonly bytes: Uint8Array
}

export function columnOf(keys: readonly Uint8Array[]): Column {
  const offsets = new Uint32Array(keys.length + 1)
  keys.forEach((key, i) => {
    offsets[i + 1] = offsets[i]! + key.length
  })
  return { offsets, bytes: Buffer.concat(keys) }
}

/** The normal form of one key, as bytes that are not filled up. */
function encode(key: Uint8Array, form: NormalForm): Buffer {
  if (form === 'raw') return Buffer.from(key)
  const escaped = Buffer.alloc(2 * key.length + 2)
  let length = 0
  for (const byte of key) {
    escaped[length++] = byte
    if (byte === 0) escaped[length++] = 0xff
  }
  return escaped.subarray(0, length + 2)
}

/** The words of a heap that holds these keys from the highest byte on, each at a word of its own, and their records. */
export function heapOf(
  keys: readonly Uint8Array[],
  form: NormalForm,
): { heap: Uint32Array; records: Uint32Array } {
  const encoded = keys.map((key) => encode(key, form))
  const words = encoded.map(({ length }) => Math.ceil(length / 4))
  const heap = Buffer.alloc(4 * words.reduce((sum, count) => sum + count, 0))
  const records = new Uint32Array(2 * keys.length)
  let place = 0
  encoded.forEach((bytes, i) => {
    heap.set(bytes, 4 * place)
    records[2 * i] = place
    records[2 * i + 1] = bytes.length * 0x10000 + keys[i]!.length
    place += words[i]!
  })
  heap.swap32()
  return { heap: new Uint32Array(heap.buffer, heap.byteOffset, heap.length / 4), records }
}

/** Makes key number i of a set from a random number. */
type Shape = (random: number, i: number, seed: number) => Uint8Array

const EXTREMES = [0x00, 0x01, 0xfe, 0xff]
const LONGEST = 4096

function randomBytes(seed: number, length: number): Buffer {
  const words = randomWords(seed | 1, Math.ceil(length / 4))
  return Buffer.from(words.buffer, 0, length)
}

/** Up to 12 bytes of the extremes, by the digits of a random number. */
function extremeKey(random: number): Buffer {
  return Buffer.from(Array.from({ length: random % 13 }, (_, i) => EXTREMES[(random >>> (2 * i + 4)) & 3]!))
}

/** Sets of keys, among them those that break sorts and escapes. */
const SHAPES: Readonly<Record<string, Shape>> = {
  random16: (random) => randomBytes(random, 16),
  empty: () => Buffer.alloc(0),
  extremes: extremeKey,
  anyLength: (random) => randomBytes(random, random % 41),
  /** a, aa, aaa, …: each is a prefix of the next; also of zeros. */
  chain: (_, i, seed) => Buffer.alloc(i % 150, EXTREMES[seed & 3]),
  duplicates: (random, _, seed) => randomBytes(seed + (random % 7), 3 * (random % 7)),
  /** A long shared prefix, and tails of which some are prefixes of others. */
  shared: (random, _, seed) => Buffer.concat([randomBytes(seed, seed % 700), extremeKey(random)]),
  /** A shared prefix of each of a few groups, of different lengths. */
  groups: (random, _, seed) =>
    Buffer.concat([
      randomBytes(seed + (random % 5), (seed % 5) + 30 * (random % 5)),
      extremeKey(random >>> 4),
    ]),
  /** Branches again and again, so that it takes rounds to part them. */
  branches: (random) =>
    Buffer.concat(Array.from({ length: 5 }, (_, i) => Buffer.alloc(9, (random >>> (2 * i)) & 3))),
}

export function makeKeys(shape: string, seed: number, count: number): Uint8Array[] {
  return Array.from(randomWords(seed, count), (random, i) => SHAPES[shape]!(random, i, seed))
}

/** Keys of every shape mixed. */
export function mixedKeys(seed: number, count: number): Uint8Array[] {
  const shapes = Object.values(SHAPES)
  return Array.from(randomWords(seed, count), (random, i) =>
    shapes[(random >>> 8) % shapes.length]!(random, i, seed),
  )
}

/** Keys of the greatest length: all alike but for the last bit, all zeros, all ones, and one byte shorter ones. */
export function longestKeys(): Uint8Array[] {
  const alike = () => randomBytes(99, LONGEST)
  const lastBit = alike()
  lastBit[LONGEST - 1]! ^= 1
  const bounds = [LONGEST - 5, LONGEST - 4, LONGEST - 3, LONGEST - 2, LONGEST - 1, LONGEST]
  return [
    alike(),
    lastBit,
    alike(),
    lastBit,
    ...bounds.map((length) => alike().subarray(0, length)),
    ...bounds.map((length) => Buffer.alloc(length, 0x00)),
    ...bounds.map((length) => Buffer.alloc(length, 0xff)),
    ...bounds.map((length) => Buffer.concat([Buffer.alloc(length - 1, 'a'), Buffer.alloc(1)])),
  ]
}

/** Makes keys that are no prefixes of each other of any keys, as tuples are. */
export function prefixFree(keys: readonly Uint8Array[]): Uint8Array[] {
  return keys.map((key) => encode(key, 'terminated')).filter(({ length }) => length <= LONGEST)
}

export const anyShape: fc.Arbitrary<string> = fc.constantFrom(...Object.keys(SHAPES))
