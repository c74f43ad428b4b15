import { EventEmitter } from 'node:events'
import t from 'tap'
import { HEAD_ROOM } from '../../../../protocol/data-frame.js'
import { wireColumn } from '../../../../protocol/data-request.js'
import { encodeFrame } from '../../../../protocol/frame.js'
import { NO_LOG } from '../../../../src/observe/log.js'
import { Monitor } from '../../../../src/observe/monitor.js'
import type { Backend, Call, Reply } from '../../../../src/server/backend.js'
import { ReplyMemory } from '../../../../src/server/reply-memory.js'
import { BackendServer } from '../../../../src/server/threads/backend-server.js'
import { BusyPolling } from '../../../../src/server/threads/busy-polling.js'
import type { ToEngine, ToListener } from '../../../../src/server/threads/messages.js'

/** Of a reply; memory comes in powers of two, with room for a frame's head. */
const BYTES = 2 ** 17 - HEAD_ROOM

/** Calls that wait until the test answers them. */
class Engine {
  readonly memory = new ReplyMemory(2 ** 20)
  readonly calls: Call[] = []
  readonly sent: ToListener[] = []
  readonly left: number[] = []
  meanConnections = Number.POSITIVE_INFINITY
  readonly server: BackendServer
  readonly #worker: EventEmitter
  #answer: (reply: Reply) => void = () => {}

  constructor() {
    let next = 7
    const introduction = { adapter: { name: 'none', software: true } }
    const backend: Backend = {
      introduction,
      admit: async () => ({ connection: next++, who: 'anyone', introduction }),
      left: (connection) => void this.left.push(connection),
      visit: async () => ({ status: 200, type: 'text/plain', body: 'here' }),
      call: (call) => {
        this.calls.push(call)
        return new Promise<Reply>((resolve) => {
          this.#answer = resolve
        })
      },
    }
    const postMessage = (messages: readonly ToListener[]) => void this.sent.push(...messages)
    const worker = Object.assign(new EventEmitter(), { postMessage })
    this.#worker = worker
    const { memory } = this
    const [monitor, polling] = [new Monitor(NO_LOG), new BusyPolling()]
    monitor.stop()
    const meanConnections = () => this.meanConnections
    this.server = new BackendServer({ worker, backend, memory, monitor, polling, meanConnections })
    this.server.listening.catch(() => {})
  }

  /** The thread says something. */
  receive(message: ToEngine): void {
    this.#worker.emit('message', [message])
  }

  /** The thread is gone. */
  end(): void {
    this.#worker.emit('exit')
  }

  call(number: number): void {
    const frame = encodeFrame({ id: number, op: 'listIndexes' })
    this.receive({ kind: 'call', number, connection: 7, client: undefined, frame })
  }

  /** Answers the last call with a column in lent memory. */
  async answer(): Promise<void> {
    const lent = this.memory.lend()
    const columns = { payloads: wireColumn('bytes', lent.allocate(BYTES)) }
    this.#answer({ result: { columns }, memory: lent })
    await turn()
  }
}

const turn = () => new Promise((resolve) => setImmediate(resolve))
const visit = { method: 'GET', url: '/', headers: {}, address: undefined }

t.test('what is given up is cancelled, and so is all of a thread that is gone', async (t) => {
  const engine = new Engine()
  engine.call(1)
  engine.call(2)
  engine.receive({ kind: 'cancel', number: 1 })
  const cancelled = () => engine.calls.map((call) => call.cancelled)
  t.same(cancelled(), [true, false])
  engine.end()
  t.same(cancelled(), [true, true])
})

t.test(
  'who comes to a thread with many connections goes to another, if they follow and have not tried for long',
  async (t) => {
    const engine = new Engine()
    engine.meanConnections = 0
    const admission = async (url: string) => {
      engine.receive({ kind: 'admit', number: 1, visit: { ...visit, url } })
      await turn()
      const message = engine.sent.pop()
      return message?.kind === 'answer' ? message.answer : undefined
    }
    t.match(await admission('/'), { connection: 7 })
    t.same(await admission('/?redirected=0'), { status: 307, location: '?redirected=1' })
    t.same(await admission('/?a=b&redirected=5'), { status: 307, location: '?a=b&redirected=6' })
    t.match(await admission('/?redirected=6'), { connection: 8 })
    t.match(await admission('/?redirected=many'), { connection: 9 })
    t.equal(engine.server.connections, 3)
    engine.meanConnections = Number.POSITIVE_INFINITY
    t.match(await admission('/?redirected=0'), { connection: 10 })
  },
)

t.test('connections of a thread that is gone are over, also those admitted while it went', async (t) => {
  const engine = new Engine()
  engine.receive({ kind: 'admit', number: 1, visit })
  await turn()
  t.match(engine.sent, [{ kind: 'answer', number: 1, answer: { connection: 7 } }])
  t.equal(engine.server.connections, 1)
  engine.receive({ kind: 'admit', number: 2, visit })
  engine.end()
  await turn()
  t.same(engine.left, [7, 8])
  t.equal(engine.server.connections, 0)
})

t.test('the memory of a reply is given back when it has left, or its thread is gone', async (t) => {
  const engine = new Engine()
  engine.call(1)
  await engine.answer()
  t.match(engine.sent, [{ kind: 'reply', number: 1, lent: true }])
  t.equal(engine.memory.keptBytes, 0)
  engine.receive({ kind: 'release', number: 1 })
  t.equal(engine.memory.keptBytes, 2 ** 17)

  engine.call(2)
  await engine.answer()
  t.equal(engine.memory.keptBytes, 0)
  engine.call(3)
  engine.end()
  t.equal(engine.memory.keptBytes, 2 ** 17)
  await engine.answer()
  t.equal(engine.memory.keptBytes, 2 ** 17, 'also that of a reply that comes later')
})
