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
    const outbox = new Mailbox<ToEngine>({
      postMessage: (messages: readonly ToEngine[]) => {
        for (const message of messages) if (message.kind === 'ask') asked.push(message.request.op)
      },
    })
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
