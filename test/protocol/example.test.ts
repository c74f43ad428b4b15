import { readFileSync } from 'node:fs'
import t from 'tap'
import { asBytes } from '../../protocol/columns.js'
import { decodeFrame, encodeFrame } from '../../protocol/frame.js'

/** The frames that the document shows in hexadecimal. */
function documentedFrames(): Buffer[] {
  const text = readFileSync(new URL('../../docs/protocol.md', import.meta.url), 'utf8')
  return [...text.matchAll(/```\n(0000 {2}[^`]*)```/g)].map(([, dump]) =>
    Buffer.from(dump.replace(/^[0-9a-f]{4} {2}((?:[0-9a-f]{2} ){16}).*$/gm, '$1').replace(/\s/g, ''), 'hex'),
  )
}

t.test('the frames of the document are what is sent', async (t) => {
  const keys = { type: 'u32', bytes: asBytes(Uint32Array.of(7, 42)) } as const
  const found = { type: 'u8', bytes: Uint8Array.of(2) } as const
  const payloads = { type: 'bytes', bytes: asBytes(Uint32Array.of(0, 1000)) } as const
  const [request, reply] = documentedFrames()
  t.ok(request.equals(encodeFrame({ id: 5, op: 'get', index: 'cities' }, { keys })))
  t.ok(reply.equals(encodeFrame({ id: 5, ok: true }, { found, payloads })))
  t.match(decodeFrame(request), { id: 5, header: { op: 'get', index: 'cities' } })
})
