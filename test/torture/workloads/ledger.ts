import { asBytes } from '../../../protocol/columns.js'
import type { Section, Sections } from '../../../protocol/frame.js'
import { WriteOp } from '../../../protocol/types.js'
import type { Random } from '../../random.js'
import type { RequestHeader } from '../frame-client.js'

/** Keys of a writer begin at its number times this. */
export const KEYS_A_WRITER = 1 << 16
/** So few that writes meet what earlier ones left. */
const KEYS_IN_USE = 400
const BATCH_ITEMS = 24

/** The indexes that every writer writes to, with what their payloads are. */
export const INDEXES = [
  { index: 'many', keyType: 'u32', payloadKind: 'bytes', unique: false },
  { index: 'one', keyType: 'u32', payloadKind: 'u32', unique: true },
] as const
type IndexName = (typeof INDEXES)[number]['index']

/** A write that a writer has sent, or is going to. */
export interface LedgerWrite {
  readonly number: number
  readonly index: IndexName
  readonly ops: readonly WriteOp[]
  readonly keys: readonly number[]
  /** A payload's text in the index of bytes is its number. */
  readonly payloads: readonly number[]
  /** First and last key of what is deleted as a range in the place of items, of which there are none then. */
  readonly range?: readonly [first: number, last: number]
}

/** What a writer's keys hold, by index: payloads in the order in which they came. */
type Contents = Readonly<Record<IndexName, ReadonlyMap<number, readonly number[]>>>

/**
 * What one client knows: what its acknowledged writes have made of its own keys, and the one write of which it does not know
 * what became. Nobody else writes to its keys.
 */
export class Ledger {
  readonly writer: number
  readonly #random: Random
  #contents: Contents = { many: new Map(), one: new Map() }
  #next = 1
  pending: LedgerWrite | undefined
  acknowledged = 0

  constructor(writer: number, random: Random) {
    this.writer = writer
    this.#random = random
  }

  /** The write to send: the one that was not answered, or a new one. */
  draw(): LedgerWrite {
    this.pending ??= this.#newWrite()
    return this.pending
  }

  /** Notes that the pending write is acknowledged. */
  acknowledge(): void {
    if (this.pending === undefined) return
    this.#contents = after(this.#contents, this.pending)
    this.pending = undefined
    this.acknowledged++
  }

  /**
   * Compares what the server has: with all that is acknowledged, and the pending write as a whole or not at all.
   * @throws Error that says what is wrong
   */
  check(found: Contents): void {
    const without = describe(this.#contents)
    const actual = describe(found)
    if (actual === without) return
    if (this.pending !== undefined && actual === describe(after(this.#contents, this.pending))) return
    throw new Error(
      `writer ${this.writer}: ${difference(without, actual)}; pending ${JSON.stringify(this.pending)}`,
    )
  }

  #newWrite(): LedgerWrite {
    const random = this.#random
    const index = random.chance(0.6) ? 'many' : 'one'
    const ops: WriteOp[] = []
    const keys: number[] = []
    const payloads: number[] = []
    const first = this.writer * KEYS_A_WRITER
    if (random.chance(0.1)) {
      const from = first + random.below(KEYS_IN_USE)
      const range = [from, Math.min(from + 50, first + KEYS_A_WRITER - 1)] as const
      return { number: this.#next++, index, ops, keys, payloads, range }
    }
    for (let i = 0; i < 1 + random.below(BATCH_ITEMS); i++) {
      const isInsert = random.chance(0.7)
      ops.push(isInsert ? random.pick([WriteOp.insert, WriteOp.replace]) : WriteOp.deleteKey)
      keys.push(first + random.below(KEYS_IN_USE))
      payloads.push(this.#next * 100 + i)
    }
    return { number: this.#next++, index, ops, keys, payloads }
  }
}

function after(contents: Contents, { index, ops, keys, payloads, range }: LedgerWrite): Contents {
  const changed = new Map(contents[index])
  const [first, last] = range ?? [0, -1]
  for (let key = first; key <= last; key++) changed.delete(key)
  ops.forEach((op, i) => {
    const held = changed.get(keys[i]) ?? []
    if (op === WriteOp.deleteKey) changed.delete(keys[i])
    else if (op === WriteOp.replace) changed.set(keys[i], [payloads[i]])
    else if (index === 'many' || held.length === 0) changed.set(keys[i], [...held, payloads[i]])
  })
  return { ...contents, [index]: changed }
}

function describe(contents: Contents): string {
  return INDEXES.map(({ index }) => {
    const entries = [...contents[index]].sort(([a], [b]) => a - b)
    return entries.map(([key, payloads]) => `${index} ${key}: ${payloads.join(' ')}`).join('\n')
  }).join('\n')
}

function difference(expected: string, actual: string): string {
  const wanted = new Set(expected.split('\n'))
  const there = new Set(actual.split('\n'))
  const lost = [...wanted].filter((line) => !there.has(line))
  const strange = [...there].filter((line) => !wanted.has(line))
  return `lost ${JSON.stringify(lost.slice(0, 5))} of ${lost.length}, strange ${JSON.stringify(strange.slice(0, 5))} of ${strange.length}`
}

/** The request of a write. */
export function writeRequest(write: LedgerWrite): {
  readonly header: RequestHeader
  readonly sections: Sections
} {
  const { number, index, ops, keys, payloads, range } = write
  if (range !== undefined) {
    const [from, to] = range.map((key) => section('u32', Uint32Array.of(key)))
    return { header: { id: number, op: 'deleteRange', index, writeId: number }, sections: { from, to } }
  }
  const header = { id: number, op: 'write', index, writeId: number }
  const columns = { ops: section('u8', Uint8Array.from(ops)), keys: section('u32', Uint32Array.from(keys)) }
  if (index === 'one') {
    return { header, sections: { ...columns, payloads: section('u32', Uint32Array.from(payloads)) } }
  }
  const texts = payloads.map((payload) => Buffer.from(textOf(payload)))
  const offsets = new Uint32Array(texts.length + 1)
  texts.forEach(({ length }, i) => {
    offsets[i + 1] = offsets[i] + length
  })
  const bytes = { payloadOffsets: section('u32', offsets), payloads: section('bytes', Buffer.concat(texts)) }
  return { header, sections: { ...columns, ...bytes } }
}

/** Texts of different lengths, which begin with their number. */
function textOf(payload: number): string {
  return `${payload} `.padEnd(8 + (payload % 90), 'x')
}

/** What a scan has returned of an index. @throws Error when a text is not what was written */
export function addEntries(
  found: Map<number, number[]>,
  index: IndexName,
  sections: ReadonlyMap<string, Section>,
): void {
  const keys = words(sections, 'keys')
  const payloads = index === 'one' ? words(sections, 'payloads') : textNumbers(sections)
  keys.forEach((key, i) => {
    found.set(key, [...(found.get(key) ?? []), payloads[i]])
  })
}

function textNumbers(sections: ReadonlyMap<string, Section>): number[] {
  const offsets = words(sections, 'payloadOffsets')
  const bytes = Buffer.from(sections.get('payloads')?.bytes ?? [])
  return Array.from({ length: offsets.length - 1 }, (_, i) => {
    const text = bytes.toString('utf8', offsets[i], offsets[i + 1])
    const payload = Number.parseInt(text, 10)
    if (text !== textOf(payload)) throw new Error(`a payload is ${JSON.stringify(text)}, which nobody wrote`)
    return payload
  })
}

function words(sections: ReadonlyMap<string, Section>, name: string): number[] {
  return [...new Uint32Array(new Uint8Array(sections.get(name)?.bytes ?? []).buffer)]
}

function section(type: Section['type'], values: ArrayBufferView): Section {
  return { type, bytes: asBytes(values) }
}
