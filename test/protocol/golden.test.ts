import { readFileSync } from 'node:fs'
import t from 'tap'
import { DATA_OPS } from '../../protocol/data-request.js'
import { toWarpdexError } from '../../protocol/errors.js'
import { CONTROL_OPS, readRequest } from '../../protocol/messages.js'
import { decodeGolden, encodeGolden, type GoldenFrame, type GoldenRefusal, refusedId } from './golden.js'

function read<Entry>(file: string): readonly Entry[] {
  return JSON.parse(readFileSync(new URL(`../../protocol/golden/${file}.json`, import.meta.url), 'utf8'))
}

for (const file of ['control-requests', 'data-requests', 'replies']) {
  t.test(`${file}: the codec writes and reads what is there`, (t) => {
    for (const { name, hex, message } of read<GoldenFrame>(file)) {
      t.equal(Buffer.from(encodeGolden(message)).toString('hex'), hex, name)
      t.strictSame(JSON.parse(JSON.stringify(decodeGolden(Buffer.from(hex, 'hex')))), message, name)
    }
    t.end()
  })
}

t.test('there is a request of every operation, and it is one', (t) => {
  const ops = (file: string) =>
    read<GoldenFrame>(file).map(({ hex }) => readRequest(Buffer.from(hex, 'hex')).op)
  t.strictSame(new Set(ops('control-requests')), new Set(CONTROL_OPS))
  t.strictSame(new Set(ops('data-requests')), new Set(DATA_OPS))
  t.end()
})

t.test('requests are refused with their code', (t) => {
  for (const { name, hex, id, code } of read<GoldenRefusal>('refused-requests')) {
    const frame = Buffer.from(hex, 'hex')
    try {
      readRequest(frame)
      t.fail(name)
    } catch (error) {
      t.strictSame({ id: refusedId(frame, error), code: toWarpdexError(error).code }, { id, code }, name)
    }
  }
  t.end()
})
