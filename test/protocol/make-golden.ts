// Writes protocol/golden/*.json: node --import=./test/typescript.mjs test/protocol/make-golden.ts, then npx biome format --write protocol/golden
import { writeFileSync } from 'node:fs'
import { toWarpdexError } from '../../protocol/errors.js'
import { encodeFrame } from '../../protocol/frame.js'
import { LIMITS } from '../../protocol/limits.js'
import { readRequest } from '../../protocol/messages.js'
import { encodeGolden, refusedId } from './golden.js'
import { appendOf, scanOf } from './golden-builders.js'
import { replies } from './golden-replies.js'
import { controlRequests, dataRequests } from './golden-requests.js'

const get = Buffer.from(encodeGolden(dataRequests.get!))
const write = Buffer.from(
  encodeGolden(dataRequests['write of an insert, a delete of a key and one of a pair']!),
)
const once = encodeGolden(dataRequests['delete of pairs, with write id 0']!)
const hello = Buffer.from(encodeGolden(controlRequests.hello!))
/** A frame with bytes from one place on in another way. */
const changed = (frame: Buffer, at: number, ...values: number[]) => {
  const other = Buffer.from(frame)
  other.set(values, at)
  return other
}
const headed = (...header: number[]) => Buffer.from([header.length, 0, 0, 0, ...header])

const refusals: Record<string, Uint8Array> = {
  nothing: Buffer.alloc(0),
  'a control frame without its header': hello.subarray(0, 10),
  'a header that is too long': Buffer.from(Uint32Array.of(LIMITS.headerBytes + 1).buffer),
  'a header that is no map': headed(0x91, 0x01),
  'a header with binary data': headed(0x81, 0xa2, 0x69, 0x64, 0xc4, 0x00),
  'a header without an id': Buffer.from(encodeFrame({ op: 'listIndexes' })),
  'an id that is no whole number': Buffer.from(encodeFrame({ id: 1.5, op: 'listIndexes' })),
  'an operation that is unknown': Buffer.from(encodeFrame({ id: 1, op: 'dance' })),
  'an operation on data, as a control frame': Buffer.from(encodeFrame({ id: 1, op: 'get', index: 'cities' })),
  'a field that is missing': Buffer.from(encodeFrame({ id: 1, op: 'open' })),
  'a field too many': Buffer.from(encodeFrame({ id: 1, op: 'open', index: 'a', indx: 'a' })),
  'a batch with a part that is none': Buffer.from(
    encodeFrame({ id: 1, op: 'batch' }, { 0: { type: 'bytes', bytes: get } }),
  ),
  'a batch with two parts for one index': Buffer.from(
    encodeFrame(
      { id: 1, op: 'batch' },
      { 0: { type: 'bytes', bytes: write }, 1: { type: 'bytes', bytes: write } },
    ),
  ),
  'a part of a batch with a write id': Buffer.from(
    encodeFrame({ id: 1, op: 'batch' }, { 0: { type: 'bytes', bytes: once } }),
  ),
  'a batch of replica sets in another order': Buffer.from(
    encodeFrame({ id: 1, op: 'batch', joint: { id: 'b1f0', sets: [2, 0] } }),
  ),
  'a relation that is spread by cells': Buffer.from(
    encodeFrame({ id: 1, op: 'readRelation', relation: 'r', limit: 1, spread: 'cells' }),
  ),
  'a query that says for all relations how they are spread': Buffer.from(
    encodeFrame({ id: 1, op: 'query', query: scanOf('r'), spread: 'rows' }),
  ),
  'rows of a table that is not there': Buffer.from(
    encodeFrame(
      { id: 1, op: 'query', query: scanOf('r') },
      { 'rows.0': { type: 'bytes', bytes: encodeGolden(appendOf('mine', '5')) } },
    ),
  ),
  'a head that is cut off': get.subarray(0, 47),
  'an id of 2^53': changed(get, 14, 0x20),
  'operation 0': changed(get, 4, 0),
  'operation 99': changed(get, 4, 99),
  'a resolution without a strategy': changed(get, 6, 1),
  'strategy 5': changed(get, 5, 5),
  'a flag that is unknown': changed(get, 25, 16),
  'times of expiry of what has none': changed(get, 25, 128),
  'the flag of a reply': changed(get, 24, 1),
  'insert mode 3': changed(write, 25, 3),
  'a limit of what has none': changed(get, 32, 1),
  'a write id of what is no write': changed(get, 24, 16),
  'a write id of 2^53': changed(
    write,
    24,
    16,
    0,
    0,
    0,
    3,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0x20,
  ),
  'no column keys': changed(get.subarray(0, 48), 7, 0),
  'a column of a kind that is kept': changed(get, 48, 32),
  'a column of a type that is unknown': changed(get, 49, 8),
  'bytes of an entry that must be zero': changed(get, 50, 1),
  'half an element': changed(get, 56, 7),
  'a column twice': changed(write, 48, 1),
  'a column the operation does not take': changed(write, 4, 1),
  'a column that ends after the frame': get.subarray(0, 68),
  'bytes behind the last column': Buffer.concat([get, Buffer.alloc(8)]),
}

function refusal([name, frame]: [string, Uint8Array]): object {
  try {
    readRequest(frame)
  } catch (error) {
    const { code } = toWarpdexError(error)
    return { name, hex: Buffer.from(frame).toString('hex'), id: refusedId(frame, error), code }
  }
  throw new Error(`${name} is read`)
}

function save(file: string, entries: readonly object[]): void {
  const url = new URL(`../../protocol/golden/${file}.json`, import.meta.url)
  writeFileSync(url, `${JSON.stringify(entries, null, 2)}\n`)
}

for (const [file, messages] of Object.entries({
  'control-requests': controlRequests,
  'data-requests': dataRequests,
  replies,
})) {
  save(
    file,
    Object.entries(messages).map(([name, message]) => ({
      name,
      hex: Buffer.from(encodeGolden(message)).toString('hex'),
      message,
    })),
  )
}
save('refused-requests', Object.entries(refusals).map(refusal))
