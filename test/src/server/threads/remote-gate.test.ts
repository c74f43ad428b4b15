import { crc32 } from 'node:zlib'
import t from 'tap'
import { Rights } from '../../../../src/server/access/rights.js'
import { CancelSign } from '../../../../src/server/gate/engine-gate.js'
import type { EngineRequest } from '../../../../src/server/operations.js'
import { Mailbox } from '../../../../src/server/threads/mailbox.js'
import type { ToEngine } from '../../../../src/server/threads/messages.js'
import { RemoteGate } from '../../../../src/server/threads/remote-gate.js'

const get: EngineRequest = {
  id: 1,
  op: 'get',
  index: 'i',
  all: false,
  keys: { type: 'u32', bytes: new Uint8Array(4) },
}
const CHANGES: readonly EngineRequest[] = [
  {
    id: 2,
    op: 'createIndex',
    index: 'i',
    keyType: 'u32',
    payloadKind: 'u32',
    unique: true,
    ifNotExists: false,
  },
  {
    id: 2,
    op: 'createRelationIndex',
    index: 'i',
    relation: 'r',
    columns: ['c'],
    ifNotExists: false,
  },
  { id: 2, op: 'dropIndex', index: 'i', ifExists: false },
  { id: 2, op: 'dropRelation', relation: 'r', ifExists: false },
]

for (const change of CHANGES) {
  t.test(`gets that wait for company go before ${change.op}`, async (t) => {
    const asked: string[] = []
    const postMessage = (messages: readonly ToEngine[]) => {
      for (const message of messages) if (message.kind === 'ask') asked.push(message.request.op)
    }
    const outbox = new Mailbox<ToEngine>({ postMessage }, () => {})
    const gate = new RemoteGate(outbox, { name: 'none', software: true })
    const ask = (request: EngineRequest) => {
      const sign = new CancelSign()
      void gate.ask({ request, client: undefined, rights: Rights.all, sign, connection: 1, ownsMemory: true })
    }
    // Two groups are under way, so that the third get waits.
    for (let i = 0; i < 2; i++) {
      ask(get)
      await new Promise((resolve) => setImmediate(resolve))
    }
    ask(get)
    ask(change)
    await new Promise((resolve) => setImmediate(resolve))
    t.same(asked, ['get', 'get', 'get', change.op])
  })
}

t.test('the columns of large writes come with their checksums', async (t) => {
  const asked: EngineRequest[] = []
  const postMessage = (messages: readonly ToEngine[]) => {
    for (const message of messages) if (message.kind === 'ask') asked.push(message.request)
  }
  const outbox = new Mailbox<ToEngine>({ postMessage }, () => {})
  const gate = new RemoteGate(outbox, { name: 'none', software: true })
  const large = { type: 'bytes' as const, bytes: Uint8Array.from({ length: 100_000 }, (_, i) => i * 7) }
  const small = { type: 'bytes' as const, bytes: Uint8Array.of(1, 2, 3) }
  const write = { id: 1, index: 'i', writeId: undefined }
  const writes: EngineRequest[] = [
    { ...write, op: 'insert', mode: 'append', keys: large, payloads: small },
    { ...write, op: 'load', mode: 'append', keys: small, payloads: large },
    { ...write, op: 'write', keys: large, ops: small, payloads: large },
    { ...write, op: 'delete', keys: large },
    { ...get, keys: large },
  ]
  for (const request of writes) {
    const sign = new CancelSign()
    void gate.ask({ request, client: undefined, rights: Rights.all, sign, connection: 1, ownsMemory: true })
  }
  await new Promise((resolve) => setImmediate(resolve))
  const checksum = crc32(large.bytes)
  t.match(asked, [
    { op: 'insert', keys: { checksum }, payloads: { checksum: undefined } },
    { op: 'load', keys: { checksum: undefined }, payloads: { checksum } },
    { op: 'write', keys: { checksum }, payloads: { checksum } },
    { op: 'delete', keys: { checksum } },
    { op: 'get', keys: { checksum: undefined } },
  ])
})
