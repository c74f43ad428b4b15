import { readFile } from 'node:fs/promises'
import { FreeRanges } from './free-ranges.js'
import { bodyBytes, type Segment, type SegmentBody } from './segment.js'

/** Rows that are looked up by one call: what they need lies at the beginning of the memory. */
const CHUNK_ROWS = 16_384
/** Bytes of a row at most, as the device gives them. */
const MOST_STRIDE = 16
/** Where payloads are put together: larger than any. */
const TARGET_BYTES = 2 * 2 ** 20

/** What lies at the beginning of the memory, by address. Address 0 is nobody's, so that it can stand for none. */
const ROWS = 64
const PRESENT = ROWS + CHUNK_ROWS * MOST_STRIDE
const ADDRESSES = PRESENT + CHUNK_ROWS / 8
const LENGTHS = ADDRESSES + CHUNK_ROWS * 4
const TARGET = LENGTHS + CHUNK_ROWS * 4
const HEAP = TARGET + TARGET_BYTES

const ENTRY_BYTES = 24
const PAGE_BYTES = 65_536
/** What WebAssembly can address, less than a page. */
const MOST_BYTES = 2 ** 32 - PAGE_BYTES

/** Functions of `payload-arena.wat`; its comments say what they do. */
interface Functions {
  locate(
    rows: number,
    stride: number,
    count: number,
    present: number,
    table: number,
    segments: number,
    now: number,
    addresses: number,
    lengths: number,
  ): number
  copy(addresses: number, lengths: number, first: number, count: number, target: number, room: number): number
}

/** The address of a row whose segment is not here. */
export const NOT_HERE = 1

/** Where payloads lie, until a segment is taken in. */
export interface LocatedRows {
  /** 0 for rows that are left out. */
  readonly addresses: Uint32Array
  readonly lengths: Uint32Array
  /** How many rows' segments are not here. */
  readonly absent: number
}

/** Segments of one index, in the order of their rows, as the arena's functions read them. */
export interface SegmentTable {
  address: number
  capacity: number
  /** Entries that are written: those of the first so many segments. */
  count: number
}

interface Resident {
  readonly table: SegmentTable
  readonly address: number
  readonly bytes: number
}

/**
 * A bounded arena in host memory, WebAssembly's, for the segments of payloads that are asked for most, and the functions that gather from
 * it, which take a fraction of the time of a loop in JavaScript. Memory that was never used takes none from the system.
 *
 * Nothing waits in here, so that no segment leaves while it is read.
 */
export class PayloadArena {
  readonly #memory: WebAssembly.Memory
  readonly #functions: Functions
  readonly #ranges: FreeRanges
  readonly #capacity: number
  /** In the order in which they came or were last spared. */
  readonly #residents = new Map<Segment, Resident>()
  /** Counts gathers, so that segments know their last one. */
  #now = 1
  #bytes = 0

  private constructor(memory: WebAssembly.Memory, functions: Functions, capacity: number) {
    this.#memory = memory
    this.#functions = functions
    this.#capacity = capacity
    this.#ranges = new FreeRanges(HEAP, memory.buffer.byteLength)
  }

  /**
   * @param capacity bytes of segments at most; their tables come on top
   * @throws RangeError where there is no address space for it: WebAssembly reserves several gibibytes, however little is used
   */
  static async create(capacity: number): Promise<PayloadArena> {
    // Tables are a fraction of a thousandth of what they list; most of it may be on disk.
    const bytes = Math.min(MOST_BYTES, HEAP + 2 * capacity + TARGET_BYTES)
    const pages = Math.ceil(bytes / PAGE_BYTES)
    const memory = new WebAssembly.Memory({ initial: pages, maximum: pages })
    const binary = await readFile(new URL('./payload-arena.wasm', import.meta.url))
    const module = new WebAssembly.Module(binary)
    const { exports } = new WebAssembly.Instance(module, { host: { memory } })
    // The module exports these two functions and nothing else.
    return new PayloadArena(memory, exports as unknown as Functions, capacity)
  }

  /** Bytes of segments that it holds. */
  get bytes(): number {
    return this.#bytes
  }

  /**
   * Finds rows. Their segments stay until the next call, whatever is taken in.
   * @param segments all of the index; they may have become more since the last call, but are else the same unless the table was restarted
   * @param rows row i is words i * stride and i * stride + 1
   * @param present bitmap of the rows that count; all do without it
   * @returns undefined where there is no room for the table
   */
  locate(
    table: SegmentTable,
    segments: readonly Segment[],
    rows: Uint32Array,
    stride: number,
    present: Uint8Array | undefined,
  ): LocatedRows | undefined {
    if (!this.#bringUpToDate(table, segments)) return undefined
    const count = rows.length / stride
    const addresses = new Uint32Array(count)
    const lengths = new Uint32Array(count)
    const now = ++this.#now
    let absent = 0
    for (let first = 0; first < count; first += CHUNK_ROWS) {
      const some = Math.min(CHUNK_ROWS, count - first)
      this.#words(ROWS, some * stride).set(rows.subarray(first * stride, (first + some) * stride))
      if (present !== undefined) {
        const bits = present.subarray(first / 8, Math.ceil((first + some) / 8))
        new Uint8Array(this.#memory.buffer, PRESENT, bits.length).set(bits)
      }
      absent += this.#functions.locate(
        ROWS,
        stride * 4,
        some,
        present === undefined ? 0 : PRESENT,
        table.address,
        table.count,
        now,
        ADDRESSES,
        LENGTHS,
      )
      addresses.set(this.#words(ADDRESSES, some), first)
      lengths.set(this.#words(LENGTHS, some), first)
    }
    return { addresses, lengths, absent }
  }

  /**
   * Puts the first payloads of located rows together.
   * @param taken how many
   * @param bytes how long they are together
   */
  copy({ addresses, lengths }: LocatedRows, taken: number, bytes: number): Uint8Array {
    const result = new Uint8Array(bytes)
    let end = 0
    for (let first = 0; first < taken; first += CHUNK_ROWS) {
      const some = Math.min(CHUNK_ROWS, taken - first)
      this.#words(ADDRESSES, some).set(addresses.subarray(first, first + some))
      this.#words(LENGTHS, some).set(lengths.subarray(first, first + some))
      for (let done = 0; done < some; ) {
        const until = this.#functions.copy(ADDRESSES, LENGTHS, done, some, TARGET, TARGET_BYTES)
        let length = 0
        for (let i = done; i < until; i++) length += lengths[first + i]
        result.set(new Uint8Array(this.#memory.buffer, TARGET, length), end)
        end += length
        done = until
      }
    }
    return result
  }

  /** A copy of a segment's payloads, if it is here. */
  body(segment: Segment): SegmentBody | undefined {
    const resident = this.#residents.get(segment)
    if (resident === undefined) return undefined
    const { count, payloadBytes } = segment
    const { address } = resident
    const offsets = this.#words(address, count + 1).slice()
    const start = address + (count + 1) * 4
    return { offsets, bytes: new Uint8Array(this.#memory.buffer, start, payloadBytes).slice() }
  }

  /** Takes a segment in, and lets others go for it. @returns false where there is no room, since the last located rows need it */
  add(table: SegmentTable, segment: Segment, body: SegmentBody): boolean {
    if (this.#residents.has(segment)) return true
    const bytes = roundUp(bodyBytes(body))
    if (bytes > this.#capacity) return false
    while (this.#bytes + bytes > this.#capacity) if (!this.#evictOne()) return false
    const address = this.#take(bytes)
    if (address === undefined) return false
    this.#words(address, segment.count + 1).set(body.offsets)
    const start = address + (segment.count + 1) * 4
    new Uint8Array(this.#memory.buffer, start, body.bytes.byteLength).set(body.bytes)
    this.#residents.set(segment, { table, address, bytes })
    this.#bytes += bytes
    this.#enter(table, segment, address)
    return true
  }

  /** Lets a segment go, if it is here. */
  remove(segment: Segment): void {
    const resident = this.#residents.get(segment)
    if (resident === undefined) return
    this.#residents.delete(segment)
    this.#ranges.give(resident.address, resident.bytes)
    this.#bytes -= resident.bytes
    this.#enter(resident.table, segment, 0)
  }

  /** An empty table for the segments of an index. */
  createTable(): SegmentTable {
    return { address: 0, capacity: 0, count: 0 }
  }

  /** Makes a table ready for another list of segments. */
  restartTable(table: SegmentTable): void {
    table.count = 0
  }

  /** Gives a table's memory back; its segments must have left. */
  dropTable(table: SegmentTable): void {
    if (table.capacity > 0) this.#ranges.give(table.address, table.capacity * ENTRY_BYTES)
    table.capacity = 0
    table.count = 0
  }

  /** Writes the entries of segments that came, or of all where there is a new list. @returns false where there is no room for them */
  #bringUpToDate(table: SegmentTable, segments: readonly Segment[]): boolean {
    if (segments.length > table.capacity) {
      this.dropTable(table)
      const capacity = Math.max(64, 2 * segments.length)
      const address = this.#take(capacity * ENTRY_BYTES)
      if (address === undefined) return false
      table.address = address
      table.capacity = capacity
    }
    const view = new DataView(this.#memory.buffer, table.address, table.capacity * ENTRY_BYTES)
    for (; table.count < segments.length; table.count++) {
      const segment = segments[table.count]
      const at = table.count * ENTRY_BYTES
      view.setBigUint64(at, BigInt(segment.firstRow), true)
      view.setUint32(at + 8, segment.count, true)
      view.setUint32(at + 12, this.#residents.get(segment)?.address ?? 0, true)
      view.setUint32(at + 16, 0, true)
    }
    return true
  }

  /** Says in a table where a segment is now, unless it is not in there. */
  #enter(table: SegmentTable, segment: Segment, address: number): void {
    const entry = this.#entryOf(table, segment)
    if (entry !== undefined) this.#words(entry + 12, 1)[0] = address
  }

  #entryOf(table: SegmentTable, { firstRow }: Segment): number | undefined {
    const view = new DataView(this.#memory.buffer, table.address, table.count * ENTRY_BYTES)
    const first = BigInt(firstRow)
    let low = 0
    let high = table.count
    while (low < high) {
      const middle = (low + high) >>> 1
      if (view.getBigUint64(middle * ENTRY_BYTES, true) < first) low = middle + 1
      else high = middle
    }
    const isThere = low < table.count && view.getBigUint64(low * ENTRY_BYTES, true) === first
    return isThere ? table.address + low * ENTRY_BYTES : undefined
  }

  /** Room for so many bytes, for which segments leave where that helps. */
  #take(bytes: number): number | undefined {
    const whole = roundUp(bytes)
    for (;;) {
      const address = this.#ranges.take(whole)
      if (address !== undefined || !this.#evictOne()) return address
    }
  }

  /**
   * Lets the oldest one go that was not used since it was last looked at; those that were are spared once.
   * @returns false where the last located rows use all
   */
  #evictOne(): boolean {
    let looks = 2 * this.#residents.size
    for (const [segment, resident] of this.#residents) {
      if (looks-- === 0) break
      const entry = this.#entryOf(resident.table, segment)
      const used = entry === undefined ? undefined : this.#words(entry + 16, 1)
      if (used === undefined || used[0] === 0) {
        this.remove(segment)
        return true
      }
      if (used[0] !== this.#now) used[0] = 0
      this.#residents.delete(segment)
      this.#residents.set(segment, resident)
    }
    return false
  }

  #words(address: number, count: number): Uint32Array {
    return new Uint32Array(this.#memory.buffer, address, count)
  }
}

function roundUp(bytes: number): number {
  return Math.ceil(bytes / 8) * 8
}
