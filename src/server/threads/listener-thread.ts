// A thread that listens: its connections stay here, beside the engine's thread.
import { parentPort, workerData } from 'node:worker_threads'
import { toWarpdexError } from '../../../protocol/errors.js'
import type { AnsweredRequest } from '../../observe/answered-request.js'
import { Meters } from '../../observe/meters.js'
import { Backpressure, type Load } from '../backpressure/backpressure.js'
import { Listener } from '../listener.js'
import { Mailbox } from './mailbox.js'
import type { ListenerThreadData, ToEngine, ToListener } from './messages.js'
import { RemoteBackend } from './remote-backend.js'

/** How often the thread says what its connections take, and what it has counted, if that has changed. */
const LOAD_MS = 250

/** How long a thread that fails takes at most to see its clients out. */
const FAREWELL_MS = 5000

const port = parentPort
if (port === null) throw new Error('this is the program of a thread, not of a process')

const { listener: options, limits, threshold } = workerData as ListenerThreadData
const outbox: Mailbox<ToEngine> = new Mailbox(port, (message, error) => backend.unsent(message, error))
const backend: RemoteBackend = new RemoteBackend(outbox)
const backpressure = new Backpressure(limits)
const meters = new Meters()
const onSlowConsumer = (queuedBytes: number) => outbox.send({ kind: 'slowConsumer', queuedBytes })
const answered = (request: AnsweredRequest) => outbox.send({ kind: 'answered', request })
const observer = { threshold, answered }
const listener = new Listener(options, { backend, backpressure, meters, observer, onSlowConsumer })
let said: Load | undefined
let failed = false

async function listen(): Promise<void> {
  try {
    outbox.send({ kind: 'listening', port: await listener.listen() })
  } catch (thrown) {
    const { code, message } = toWarpdexError(thrown)
    outbox.send({ kind: 'refused', code, message })
  }
}

async function close(): Promise<void> {
  await listener.close()
  report()
  // What is said leaves at the end of this turn.
  setImmediate(() => process.exit())
}

/** After a fault nobody knows what holds: the clients are told, and the thread ends. What comes up meanwhile changes nothing. */
function fail({ message, stack }: Error): void {
  if (failed) return
  failed = true
  listener.stopListening()
  outbox.send({ kind: 'failed', message, stack })
  setTimeout(() => process.exit(1), FAREWELL_MS)
  const farewells = listener.connections.map((connection) => connection.fail())
  void Promise.all(farewells).then(() => process.exit(1))
}

function report(): void {
  const { load } = backpressure
  const counts = meters.take()
  const isSame = said !== undefined && JSON.stringify(said) === JSON.stringify(load)
  if (counts === undefined && isSame) return
  said = load
  outbox.send({ kind: 'load', load, counts })
}

function receive(message: ToListener): void {
  switch (message.kind) {
    case 'renew':
      listener.renew(message)
      break
    case 'clients':
      void listener.clients().then((clients) => outbox.send({ kind: 'clients', clients }))
      break
    case 'close':
      void close()
      break
    case 'fail':
      fail(new Error(message.message))
      break
    default:
      backend.settle(message)
  }
}

process.on('uncaughtException', fail)
port.on('messageerror', fail)
port.on('message', (messages: readonly ToListener[]) => {
  for (const message of messages) receive(message)
})
setInterval(report, LOAD_MS)
void listen()
