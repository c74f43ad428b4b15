import { type DataSet, FIRST_VERSION } from './data-set.js'
import type { Items } from './items.js'
import { WRONG } from './payload-space.js'
import type { Request } from './requests.js'
import { ScanOrder } from './scan-order.js'
import type { ReadAnswer, ScanAnswer } from './target.js'

/** Failures that are described one by one. */
const DESCRIBED = 10

/** What a checker found. */
export interface Verification {
  /** Answers of single keys, and entries of scans, that were checked. */
  readonly checked: number
  readonly failures: number
  /** The first failures. */
  readonly examples: readonly string[]
}

/** A write under way. */
export interface PendingWrite {
  readonly version: number
  /** Own writes with lower numbers were answered before this one was sent. */
  readonly answeredBelow: number
}

/**
 * Checks the answers of one process by rules that hold however requests of many clients meet: a key of the data set, or one whose
 * insert was answered, is there; its payload is one that was written for it as a whole; and it is none that a write of this process
 * has overwritten for certain, which is one that was sent after the overwritten one was answered, and was answered before the read
 * was sent.
 */
export class Checker {
  readonly #data: DataSet
  readonly #items: Items
  readonly #process: number
  readonly #processes: number
  readonly #order: ScanOrder
  readonly #underWay = new Set<number>()
  /** By place: own writes numbered below this less one are overwritten; 0 where nothing is known. */
  #floors = new Uint32Array(0)
  #writes = 0
  #checked = 0
  #failures = 0
  readonly #examples: string[] = []

  constructor(data: DataSet, items: Items, records: number, process: number, processes: number) {
    this.#data = data
    this.#items = items
    this.#process = process
    this.#processes = processes
    this.#order = new ScanOrder(data.keys, records)
  }

  get verification(): Verification {
    return { checked: this.#checked, failures: this.#failures, examples: this.#examples }
  }

  /** Begins a write; its payloads get the version. Versions of processes differ. */
  beginWrite(): PendingWrite {
    const number = this.#writes++
    this.#underWay.add(number)
    const [answeredBelow] = this.#underWay
    return { version: FIRST_VERSION + 1 + number * this.#processes + this.#process, answeredBelow }
  }

  /** A write was answered. One that failed may still come to be, and is never over. */
  endWrite({ version, answeredBelow }: PendingWrite, { items, keys: { count } }: Request): void {
    this.#underWay.delete(this.#numberOf(version))
    for (let i = 0; i < count; i++) {
      const place = this.#items.place(items[i])
      this.#reserve(place)
      this.#floors[place] = Math.max(this.#floors[place], answeredBelow + 1)
    }
  }

  /** Takes down what is known when a read is sent. */
  beginRead({ items, keys: { count } }: Request): Uint32Array {
    const floors = new Uint32Array(count)
    for (let i = 0; i < count; i++) floors[i] = this.#floors[this.#items.place(items[i])] ?? 0
    return floors
  }

  read({ keys: { words, count } }: Request, answer: ReadAnswer, floors: Uint32Array): void {
    this.#checked += count
    for (let i = 0; i < count; i++) {
      const row = answer.row(i)
      if (row === undefined) this.#fail(words, i, 'is not found')
      else this.#payload(words, i, row, floors[i])
    }
  }

  scan(request: Request, answer: ScanAnswer): void {
    const { offsets, words } = answer
    this.#checked += offsets[request.keys.count]
    for (let entry = 0; entry < offsets[request.keys.count]; entry++) {
      this.#payload(words, entry, answer.row(entry), 0)
    }
    for (let i = 0; i < request.keys.count; i++) {
      const problem = this.#order.problem(request, answer, i)
      if (problem !== undefined) this.#fail(request.keys.words, i, problem)
    }
  }

  #payload(words: Uint32Array, i: number, row: Uint8Array, floor: number): void {
    const { payloads, keys } = this.#data
    const version = payloads.version(row, keys.hash(words, i))
    const problem =
      version === WRONG
        ? 'has a payload that was never written for it'
        : this.#isOverwritten(version, floor)
          ? `has the payload of version ${version} after a later one was acknowledged`
          : undefined
    if (problem !== undefined) this.#fail(words, i, problem)
  }

  #isOverwritten(version: number, floor: number): boolean {
    if (floor === 0 || !this.#data.payloads.versioned) return false
    if (version === FIRST_VERSION) return true
    const isOwn = (version - FIRST_VERSION - 1) % this.#processes === this.#process
    return isOwn && this.#numberOf(version) < floor - 1
  }

  #numberOf(version: number): number {
    return Math.floor((version - FIRST_VERSION - 1) / this.#processes)
  }

  #reserve(place: number): void {
    if (place < this.#floors.length) return
    const larger = new Uint32Array(Math.max(this.#items.stored, 2 * place, 1024))
    larger.set(this.#floors)
    this.#floors = larger
  }

  #fail(words: Uint32Array, i: number, problem: string): void {
    this.#failures++
    if (this.#examples.length >= DESCRIBED) return
    const { words: width } = this.#data.keys
    const key = Buffer.from(words.slice(i * width, (i + 1) * width).buffer)
    this.#examples.push(`the key with bytes ${key.toString('hex')} ${problem}`)
  }
}
