import { readFileSync } from 'node:fs'
import t from 'tap'
import { decodeDataRequest, encodeDataReply, encodeDataRequest } from '../../protocol/data-frame.js'
import { COLUMN_KINDS, COLUMNS, DATA_OPS, wireColumn } from '../../protocol/data-request.js'
import { ERROR_CODES } from '../../protocol/errors.js'
import { PROTOCOL_VERSION, SECTION_TYPES } from '../../protocol/frame.js'
import { CONTROL_OPS } from '../../protocol/messages.js'

const text = readFileSync('docs/protocol.md', 'utf8')

/** The frames that the document shows in hexadecimal. */
function documentedFrames(): Buffer[] {
  return [...text.matchAll(/```\n(0000 {2}[^`]*)```/g)].map(([, dump]) =>
    Buffer.from(dump!.replace(/^[0-9a-f]{4} {2}/gm, '').replace(/\s/g, ''), 'hex'),
  )
}

t.test('the frames of the document are what is sent', async (t) => {
  const keys = wireColumn('u32', Uint32Array.of(7, 42))
  const found = wireColumn('u8', Uint8Array.of(2))
  const payloads = wireColumn('u32', Uint32Array.of(0, 1000))
  const [request, reply, ...others] = documentedFrames()
  const get = { id: 5, op: 'get', handle: 3, generation: 1, count: 2, columns: { keys } } as const
  t.ok(request!.equals(encodeDataRequest(get)))
  t.ok(reply!.equals(encodeDataReply({ id: 5, op: 'get', columns: { found, payloads } })[0]!))
  t.match(decodeDataRequest(request!), { id: 5, op: 'get', handle: 3 })
  t.equal(others.length, 0)
})

t.test('the document has all operations, columns, types and errors, by their numbers', async (t) => {
  DATA_OPS.forEach((op, i) => {
    t.match(text, new RegExp(`^${i + 1} ${op}: `, 'm'))
  })
  t.match(text, `Kinds are ${COLUMNS.map((name) => `${COLUMN_KINDS[name]} ${name}`).join(', ')}.`)
  const types = SECTION_TYPES.map((type) => `\`${type}\``)
  t.match(text.replace(/\s+/g, ' '), `Types are ${types.slice(0, -1).join(', ')} and ${types.at(-1)}.`)
  for (const op of CONTROL_OPS) t.match(text, new RegExp(`^${op} \\{`, 'm'))
  for (const code of ERROR_CODES) t.match(text, new RegExp(`^\\* .*\`${code}\`.*: `, 'm'))
  t.match(text, `hello {protocol: ${PROTOCOL_VERSION}, client}`)
  t.ok(text.split(/\s+/).length <= 2500)
})
