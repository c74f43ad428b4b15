import { asBytes, type Column, countOf } from '../../../protocol/columns.js'
import type { KeyType } from '../../../protocol/types.js'
import { BINARY } from './partition-binary.js'

/** Functions of `partition.wat`; its comments say what they do. */
interface Functions {
  readonly memory: WebAssembly.Memory
  partition4(
    keys: number,
    count: number,
    flip: number,
    low: number,
    high: number,
    bounded: number,
    outKeys: number,
    outNumbers: number,
  ): number
  partition8(
    keys: number,
    count: number,
    flip: bigint,
    low: bigint,
    high: bigint,
    bounded: bigint,
    outKeys: number,
    outNumbers: number,
  ): number
  scatter4(values: number, numbers: number, count: number, all: number): void
  scatter8(values: number, numbers: number, count: number, all: number): void
}

/** Items of a call that are in a range, and their keys. */
export interface RangeItems {
  readonly numbers: Uint32Array
  /** Undefined where they have not been copied. */
  readonly keys?: Column
}

/** Where columns begin, behind the tables of shuffles. */
const HEAP = 1024
const PAGE_BYTES = 65_536
/** Behind each column, for what is stored with the last of it. */
const SLACK = 16
/** Fewer keys are not worth the way into WebAssembly, and more ranges not one pass for each. */
const LEAST_KEYS = 256
const MOST_RANGES = 16
/** What makes keys comparable: of 32 bits as unsigned integers, of 64 bits as signed ones. */
const FLIPS: Partial<Record<KeyType, bigint>> = { u32: 0n, i32: 1n << 31n, u64: 1n << 63n, i64: 0n }

const functions = load()

/** @returns undefined where there is no WebAssembly, or the rules of a page forbid it */
function load(): Functions | undefined {
  try {
    const binary = Uint8Array.from(atob(BINARY), (character) => character.charCodeAt(0))
    const { exports } = new WebAssembly.Instance(new WebAssembly.Module(binary))
    // The module exports these and nothing else.
    const functions = exports as unknown as Functions
    writeShuffles(new Uint8Array(functions.memory.buffer), 4, 4)
    writeShuffles(new Uint8Array(functions.memory.buffer, 256), 2, 8)
    return functions
  } catch {
    return undefined
  }
}

function writeShuffles(table: Uint8Array, lanes: number, width: number): void {
  for (let mask = 0; mask < 2 ** lanes; mask++) {
    const set = Array.from({ length: lanes }, (_, lane) => lane).filter((lane) => (mask >> lane) & 1)
    const bytes = set.flatMap((lane) => Array.from({ length: width }, (_, i) => lane * width + i))
    table.set(bytes, 16 * mask)
  }
}

/**
 * The items in each of some ranges, in a tenth of the time of loops in JavaScript.
 * @param starts keys with which the ranges begin, but for the first one, ascending
 * @returns undefined for what is done as well without WebAssembly
 */
export function partition(
  keys: Column,
  starts: readonly Uint8Array[],
  keyType: KeyType,
): RangeItems[] | undefined {
  const flip = FLIPS[keyType]
  const count = countOf(keys)
  if (functions === undefined || flip === undefined || count < LEAST_KEYS || starts.length >= MOST_RANGES)
    return undefined
  const { width = 0 } = keys
  const [from, outKeys, outNumbers] = place(functions, [count * width, count * width, count * 4])
  put(functions, keys.bytes, from!)
  const bounds = starts.map((start) => boundOf(start, flip))
  const cut = width === 4 ? cut4 : cut8
  return Array.from({ length: starts.length + 1 }, (_, range) => {
    const at = { keys: from!, count, outKeys: outKeys!, outNumbers: outNumbers! }
    const found = cut(functions, at, flip, bounds[range - 1], bounds[range])
    const numbers = new Uint32Array(functions.memory.buffer, outNumbers, found).slice()
    const bytes = new Uint8Array(functions.memory.buffer, outKeys, found * width).slice()
    return { numbers, keys: { bytes, width } }
  })
}

interface Columns {
  readonly keys: number
  readonly count: number
  readonly outKeys: number
  readonly outNumbers: number
}

type Cut = (
  functions: Functions,
  columns: Columns,
  flip: bigint,
  low: bigint | undefined,
  high: bigint | undefined,
) => number

const cut4: Cut = ({ partition4 }, { keys, count, outKeys, outNumbers }, flip, low = 0n, high) => {
  const [bound, bounded] = high === undefined ? [0, 0] : [Number(high), -1]
  return partition4(keys, count, Number(flip), Number(low), bound, bounded, outKeys, outNumbers)
}

const cut8: Cut = ({ partition8 }, { keys, count, outKeys, outNumbers }, flip, low = -(1n << 63n), high) => {
  const [bound, bounded] = high === undefined ? [0n, 0n] : [high, -1n]
  return partition8(keys, count, flip, low, bound, bounded, outKeys, outNumbers)
}

/** A key of 32 bits as an unsigned integer, one of 64 bits as a signed one, in the order of its type. */
function boundOf(key: Uint8Array, flip: bigint): bigint {
  const view = new DataView(key.buffer, key.byteOffset)
  return key.length === 4
    ? BigInt(view.getUint32(0, true)) ^ flip
    : BigInt.asIntN(64, view.getBigUint64(0, true) ^ flip)
}

/**
 * Values of 4 or 8 bytes, each in the place that its number says, of so many.
 * @param parts each place is in one of them; 0xffffffff is none
 * @returns undefined for what is done as well without WebAssembly
 */
export function scattered(
  parts: readonly { readonly bytes: Uint8Array; readonly numbers: Uint32Array }[],
  width: number,
  count: number,
): Uint8Array | undefined {
  if (functions === undefined || (width !== 4 && width !== 8) || count < LEAST_KEYS) return undefined
  const most = Math.max(...parts.map(({ numbers }) => numbers.length))
  const [all, values, places] = place(functions, [count * width, most * width, most * 4])
  const scatter = width === 4 ? functions.scatter4 : functions.scatter8
  for (const { bytes, numbers } of parts) {
    put(functions, bytes, values!)
    put(functions, asBytes(numbers), places!)
    scatter(values!, places!, numbers.length, all!)
  }
  return new Uint8Array(functions.memory.buffer, all, count * width).slice()
}

/** @returns where columns of so many bytes begin. The memory becomes as large as the largest call needs, and stays so. */
function place({ memory }: Functions, sizes: readonly number[]): number[] {
  let end = HEAP
  const starts = sizes.map((size) => {
    const start = end
    end += Math.ceil((size + SLACK) / SLACK) * SLACK
    return start
  })
  const missing = end - memory.buffer.byteLength
  if (missing > 0) memory.grow(Math.ceil(missing / PAGE_BYTES))
  return starts
}

function put({ memory }: Functions, bytes: Uint8Array, at: number): void {
  new Uint8Array(memory.buffer).set(bytes, at)
}
