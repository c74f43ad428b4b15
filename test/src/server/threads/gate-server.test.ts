import t from 'tap'
import { Rights } from '../../../../src/server/access/rights.js'
import type { Answered, Question } from '../../../../src/server/gate/engine-gate.js'
import type { EngineRequest } from '../../../../src/server/operations.js'
import { ReplyMemory } from '../../../../src/server/reply-memory.js'
import { GateServer } from '../../../../src/server/threads/gate-server.js'
import { Mailbox } from '../../../../src/server/threads/mailbox.js'
import type { ToSockets } from '../../../../src/server/threads/messages.js'

const BYTES = 2 ** 16

/** Questions that wait until the test answers them. */
class Engine {
  readonly memory = new ReplyMemory(2 ** 20)
  readonly asked: Question[] = []
  readonly sent: ToSockets[] = []
  readonly server: GateServer
  #answer: (answer: Answered) => void = () => {}

  constructor() {
    const gate = {
      adapter: { name: 'none', software: true },
      ask: (question: Question) => {
        this.asked.push(question)
        return new Promise<Answered>((resolve) => {
          this.#answer = resolve
        })
      },
      left: () => {},
    }
    const postMessage = (messages: readonly ToSockets[]) => void this.sent.push(...messages)
    const outbox = new Mailbox<ToSockets>({ postMessage }, () => {})
    this.server = new GateServer(
      gate,
      this.memory,
      outbox,
      () => Rights.all,
      () => {},
    )
  }

  ask(question: number, connection: number): void {
    const request: EngineRequest = { id: 1, op: 'listIndexes' }
    this.server.receive({ kind: 'ask', question, request, client: undefined, connection })
  }

  /** Answers the last question with a column in lent memory. */
  async answer(): Promise<void> {
    const lent = this.memory.lend()
    const bytes = lent.allocate(BYTES)
    this.#answer({
      fields: {},
      sections: { payloads: { type: 'bytes', bytes } },
      release: () => lent.release(),
    })
    await new Promise((resolve) => setImmediate(resolve))
  }
}

t.test('what a connection has asked for is cancelled when it is over', async (t) => {
  const engine = new Engine()
  engine.ask(1, 7)
  engine.ask(2, 8)
  engine.server.left(7)
  t.same(
    engine.asked.map(({ sign }) => sign.cancelled),
    [true, false],
  )
})

t.test('the memory of a reply is given back when it has left, or its thread is gone', async (t) => {
  const engine = new Engine()
  engine.ask(1, 7)
  await engine.answer()
  t.match(engine.sent, [{ kind: 'answer', question: 1, lent: true }])
  t.equal(engine.memory.keptBytes, 0)
  engine.server.receive({ kind: 'left', question: 1 })
  t.equal(engine.memory.keptBytes, BYTES)

  engine.ask(2, 7)
  await engine.answer()
  t.equal(engine.memory.keptBytes, 0)
  engine.ask(3, 7)
  engine.server.end()
  t.equal(engine.memory.keptBytes, BYTES)
  await engine.answer()
  t.equal(engine.memory.keptBytes, BYTES, 'also that of an answer that comes later')
})
