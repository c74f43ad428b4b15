import { Packr } from 'msgpackr'
import { isControlFrame, PROTOCOL_VERSION, type Section, type Sections } from '../../../../protocol/frame.js'
import type { Random } from '../../../random.js'
import { dataIndex, type Opened, type RequestFields, replyFrame, requestFrame } from '../../../wire.js'
import { u32 } from '../../engine/open-engine.js'

const packr = new Packr({ useRecords: false })

const column = (type: Section['type'], bytes: Uint8Array): Section => ({ type, bytes })
const keys = column('u32', u32(1, 2, 3))
const texts = {
  keys: column('bytes', Buffer.from('abcde')),
  keyOffsets: column('u32', u32(0, 2, 2, 5)),
}
/** (7, "a\\0b") and (8, ""). */
const pairs = [Buffer.from('000000076100ff620000', 'hex'), Buffer.from('000000080000', 'hex')]
const tuples = {
  keys: column('bytes', Buffer.concat(pairs)),
  keyOffsets: column('u32', u32(0, pairs[0].length, pairs[0].length + pairs[1].length)),
}
const blobs = {
  payloads: column('bytes', Buffer.from('one two')),
  payloadOffsets: column('u32', u32(0, 3, 3, 7)),
}
const words = { payloads: column('bytes', u32(10, 20, 30)) }

/** Indexes that the requests below are about, by name. */
export const INDEXES = [
  { index: 'x-numbers', keyType: 'u32', payloadKind: 'u32', unique: false },
  { index: 'x-texts', keyType: 'string', payloadKind: 'bytes', unique: true },
  { index: 'x-tuples', keyType: 'tuple(u32,string)', payloadKind: 'u32', unique: false },
]

const REQUESTS: readonly (readonly [fields: RequestFields, sections?: Sections])[] = [
  [{ op: 'hello', protocol: PROTOCOL_VERSION, client: 'somebody' }],
  ...INDEXES.map(({ index }) => [{ op: 'open', index }] as const),
  [{ op: 'listIndexes' }],
  [{ op: 'stats' }],
  [{ op: 'stats', index: 'x-numbers' }],
  [{ op: 'cancel', target: 5 }],
  [
    {
      ...INDEXES[0],
      op: 'createIndex',
      ifNotExists: true,
      structure: 'prefix',
      layout: 'full',
      partitionLevels: 2,
    },
  ],
  [{ op: 'dropIndex', index: 'x-none', ifExists: true }],
  [{ op: 'renameIndex', index: 'x-none', to: 'x-other' }],
  [{ op: 'swapIndexes', index: 'x-none', with: 'x-other' }],
  [{ op: 'openVersion', version: 1, seconds: 5 }],
  [{ op: 'closeVersion', version: 1 }],
  [{ op: 'get', index: 'x-numbers' }, { keys }],
  [{ op: 'get', index: 'x-texts', version: 1 }, texts],
  [{ op: 'get', index: 'x-numbers', all: true }, { keys }],
  [{ op: 'get', index: 'x-texts', strategy: 'sequential' }, texts],
  [{ op: 'get', index: 'x-numbers', withSequences: true }, { keys }],
  [{ op: 'get', index: 'x-tuples' }, tuples],
  [{ op: 'count', index: 'x-texts' }, texts],
  [{ op: 'explain', index: 'x-numbers' }, { keys }],
  [
    { op: 'scan', index: 'x-numbers', limit: 3, reverse: true },
    { from: keys, to: keys, tokens: column('bytes', new Uint8Array(24)) },
  ],
  [
    { op: 'scan', index: 'x-texts', limit: 2 },
    { from: texts.keys, fromOffsets: texts.keyOffsets },
  ],
  [{ op: 'scan', index: 'x-numbers', limit: 3, withoutKeys: true }],
  [
    { op: 'countRanges', index: 'x-numbers', toExclusive: true },
    { from: keys, to: keys },
  ],
  [{ op: 'deleteRange', index: 'x-texts', writeId: 3 }],
  [
    { op: 'getNext', index: 'x-numbers' },
    { keys, sequences: column('u32', u32(0, 1, 2)) },
  ],
  [
    { op: 'insert', index: 'x-numbers', mode: 'replace' },
    { keys, ...words },
  ],
  [
    { op: 'insert', index: 'x-texts', writeId: 1 },
    { ...texts, ...blobs },
  ],
  [{ op: 'delete', index: 'x-numbers' }, { keys }],
  [
    { op: 'write', index: 'x-numbers' },
    { ops: column('u8', Uint8Array.of(0, 3, 4)), keys, ...words },
  ],
  [
    { op: 'load', index: 'x-numbers', writeId: 2, after: 1, deadline: 60_000 },
    { keys, ...words },
  ],
]

/** The handles of the indexes, as far as somebody was told. */
export class Handles {
  readonly #opened = new Map<string, Opened>()

  /** Indexes come and go: the answers to those who open one tell its handle. */
  note(reply: Uint8Array): void {
    const { header } = replyFrame(reply)
    if ('handle' in header) this.#opened.set(String(header.name), header as object as Opened)
  }

  /** A right frame of any operation. */
  frame(random: Random): Uint8Array {
    const i = random.below(REQUESTS.length)
    const [fields, sections] = REQUESTS[i]!
    const opened = this.#opened.get(dataIndex(fields) ?? '')
    return requestFrame(
      { id: 10 + i, ...fields },
      sections,
      opened ?? { handle: 1, generation: 1, keyType: 'u32' },
    )
  }
}

/** What stands in a header in the place of something right. */
const ODD_VALUES: readonly unknown[] = [
  ...[-1, 0, 1, 7, 8, 1.5, 2 ** 31, 2 ** 32 - 1, 2 ** 32, 2 ** 53 - 1, 2 ** 53, 1e300, -1e300],
  ...[Number.NaN, Number.POSITIVE_INFINITY, -0, 1_999_999_999_960, 18_446_744_073_709_551_615n, -(2n ** 63n)],
  ...[
    null,
    true,
    false,
    '',
    'x-numbers',
    'witness',
    '__proto__',
    'constructor',
    'x'.repeat(200),
    '\ud800',
    '\0',
  ],
  ...[[], [[]], {}, { toString: 1 }, ['x-numbers'], { length: 5 }, [1, 2, 3]],
]

/** Headers that decoders are known to have fallen for. */
const HOSTILE_HEADERS: readonly Uint8Array[] = [
  Uint8Array.of(0xd4, 0x72, 0x40, 0x91, 0xa1, 0x61),
  Uint8Array.of(0xd4, 0x72, 0x41, 0x40),
  Uint8Array.of(0xc7, 0x05, 0x72, 0x40, 0x92, 0xa1, 0x61, 0xa1),
  Uint8Array.of(0xc4, 0xff, 0x00),
  Uint8Array.of(0xc6, 0xff, 0xff, 0xff, 0xff),
  Uint8Array.of(0xdb, 0xff, 0xff, 0xff, 0xff, 0x61),
  Uint8Array.of(0xdd, 0xff, 0xff, 0xff, 0xff),
  Uint8Array.of(0xdf, 0x7f, 0xff, 0xff, 0xff, 0xa1, 0x61),
  Uint8Array.of(0xc9, 0xff, 0xff, 0xff, 0xff, 0x62),
  Uint8Array.of(0xd6, 0xff, 0xff, 0xff, 0xff, 0xff),
  Uint8Array.of(0x81, 0xa2, 0x69, 0x64, 0xc1),
  Uint8Array.of(0x82, 0xa2, 0x69, 0x64, 0x01, 0xa2, 0x69, 0x64, 0x02),
  Uint8Array.of(0x81, 0xa2, 0xc0, 0x80, 0x01),
  new Uint8Array(20_000).fill(0x91),
  new Uint8Array(20_000).fill(0x81),
  new Uint8Array(65_536).fill(0xc0),
]

/** A frame with something wrong about it, or about nothing that matters. */
export function mutated(random: Random, handles: Handles): Uint8Array {
  const frame = handles.frame(random)
  const own = isControlFrame(frame) ? HEADER_MUTATIONS : HEAD_MUTATIONS
  return random.pick(random.chance(0.5) ? MUTATIONS : own)(frame, random, handles)
}

type Mutation = (frame: Uint8Array, random: Random, handles: Handles) => Uint8Array

const flipAnywhere: Mutation = (frame, random) => {
  for (let flips = 1 + random.below(8); flips > 0; flips--)
    frame[random.below(frame.length)] ^= 1 << random.below(8)
  return frame
}

const flipInHeader: Mutation = (frame, random) => {
  const end = Math.min(frame.length, 4 + headerLength(frame))
  for (let flips = 1 + random.below(3); flips > 0; flips--) frame[random.below(end)] ^= 1 << random.below(8)
  return frame
}

const truncate: Mutation = (frame, random) => frame.subarray(0, random.below(frame.length))

const extend: Mutation = (frame, random) => Buffer.concat([frame, random.bytes(1 + random.below(64))])

const lieAboutHeader: Mutation = (frame, random) => {
  const length = headerLength(frame)
  const lies = [0, length - 1, length + 1, frame.length, 65_536, 65_537, 2 ** 31, 2 ** 32 - 1, random.word()]
  new DataView(frame.buffer, frame.byteOffset).setUint32(0, random.pick(lies), true)
  return frame
}

const concatenate: Mutation = (frame, random, handles) => Buffer.concat([frame, handles.frame(random)])

const splice: Mutation = (frame, random, handles) => {
  const other = handles.frame(random)
  return Buffer.concat([
    frame.subarray(0, random.below(frame.length)),
    other.subarray(random.below(other.length)),
  ])
}

const noise: Mutation = (_, random) => random.bytes(random.below(100))

const hostileHeader: Mutation = (frame, random) => withHeader(random.pick(HOSTILE_HEADERS), frame)

/** One field, of the request or of a section, is something else, or is gone, or is one too many. */
const oddField: Mutation = (frame, random) => {
  const header = headerOf(frame)
  const table: Record<string, unknown>[] = Array.isArray(header.sections) ? header.sections : []
  const target = table.length > 0 && random.chance(0.6) ? random.pick(table) : header
  const field = random.chance(0.1) ? 'odd' : random.pick(Object.keys(target))
  if (random.chance(0.1)) delete target[field]
  else target[field] = random.pick(ODD_VALUES)
  return withHeader(packr.pack(header), frame)
}

/** Sections overlap, or have one name, or another order, or those of another request. */
const oddSections: Mutation = (frame, random) => {
  const header = headerOf(frame)
  const table: Record<string, unknown>[] = Array.isArray(header.sections) ? header.sections : []
  header.sections = random.pick([
    [...table].reverse(),
    [...table, ...table],
    table.map((entry) => ({ ...entry, offset: table[0].offset })),
    table.map((entry) => ({ ...entry, name: 'keys' })),
    Array.from({ length: 17 }, (_, i) => ({ ...table[0], name: `s${i}`, length: 0 })),
    [{ name: 'keys', type: 'u32', offset: 8, length: 8 }],
  ])
  return withHeader(packr.pack(header), frame)
}

/** Fields of the head of a data frame, and of an entry: where they are, and their bytes. */
const HEAD_FIELDS = [
  ...[0, 16, 20, 24, 28, 32, 36].map((at) => [at, 4] as const),
  ...[4, 5, 6, 7].map((at) => [at, 1] as const),
  ...[8, 40].map((at) => [at, 8] as const),
]
const ENTRY_FIELDS = [
  [0, 1],
  [1, 1],
  [2, 2],
  [4, 4],
  [8, 4],
] as const
const HEAD_BYTES = 48
const ENTRY_BYTES = 12

/** One number is another: a little off, a bound of its type, or anything. */
function changeNumber(frame: Uint8Array, [at, bytes]: readonly [number, number], random: Random): Uint8Array {
  const changed = Buffer.from(frame)
  if (at + bytes > changed.length) return changed
  const width = Math.min(bytes, 4)
  const most = 2 ** (8 * width) - 1
  const part = at + random.below(bytes / width) * width
  const old = changed.readUIntLE(part, width)
  const odd = [
    0,
    1,
    2,
    old + 1,
    old - 1,
    old * 2,
    most,
    most - 1,
    (most + 1) / 2,
    1 << random.below(8),
    random.word(),
  ]
  changed.writeUIntLE(((random.pick(odd) % (most + 1)) + most + 1) % (most + 1), part, width)
  return changed
}

const oddHead: Mutation = (frame, random) => changeNumber(frame, random.pick(HEAD_FIELDS), random)

const oddEntry: Mutation = (frame, random) => {
  const [at, bytes] = random.pick(ENTRY_FIELDS)
  return changeNumber(
    frame,
    [HEAD_BYTES + ENTRY_BYTES * random.below(Math.max(1, frame[7]!)) + at, bytes],
    random,
  )
}

/** Two entries change places, or one is there twice, or there is one more or one less of them than the head says. */
const oddEntries: Mutation = (frame, random) => {
  const count = frame[7]!
  const changed = Buffer.from(frame)
  if (count === 0 || random.chance(0.5)) {
    changed[7] = random.pick([count + 1, Math.max(0, count - 1), 255])
    return changed
  }
  const entry = () => HEAD_BYTES + ENTRY_BYTES * random.below(count)
  const [one, other] = [entry(), entry()]
  changed.set(frame.subarray(one, one + ENTRY_BYTES), other)
  if (random.chance(0.5)) changed.set(frame.subarray(other, other + ENTRY_BYTES), one)
  return changed
}

/** A word of a column, which may be an offset. */
const oddWord: Mutation = (frame, random) => {
  const start = HEAD_BYTES + ENTRY_BYTES * frame[7]!
  const words = Math.floor((frame.length - start) / 4)
  return words > 0 ? changeNumber(frame, [start + 4 * random.below(words), 4], random) : frame
}

const MUTATIONS: readonly Mutation[] = [
  flipAnywhere,
  truncate,
  extend,
  lieAboutHeader,
  concatenate,
  splice,
  noise,
  hostileHeader,
]
/** Of control frames. */
const HEADER_MUTATIONS: readonly Mutation[] = [flipInHeader, oddField, oddField, oddSections]
/** Of data frames. */
const HEAD_MUTATIONS: readonly Mutation[] = [oddHead, oddHead, oddEntry, oddEntries, oddWord]

function headerLength(frame: Uint8Array): number {
  return new DataView(frame.buffer, frame.byteOffset).getUint32(0, true)
}

function headerOf(frame: Uint8Array): Record<string, unknown> {
  return packr.unpack(frame.slice(4, 4 + headerLength(frame)))
}

/** The frame with another header, behind which the sections are where they were if there is room. */
function withHeader(header: Uint8Array, frame: Uint8Array): Uint8Array {
  const changed = Buffer.alloc(Math.max(frame.length, 4 + header.length))
  changed.set(frame)
  changed.fill(0, 4, Math.min(changed.length, 4 + headerLength(frame)))
  changed.writeUInt32LE(header.length)
  changed.set(header, 4)
  return changed
}

/** The error's code, `ok`, or undefined for what is no reply. */
export function outcomeOf(reply: Uint8Array): string | undefined {
  const { ok, error } = replyFrame(reply).header
  if (ok === true) return 'ok'
  const code: unknown = Object(error).code
  return typeof code === 'string' ? code : undefined
}
