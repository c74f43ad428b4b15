import { toWarpdexError, WarpdexError } from '../../protocol/errors.js'
import { type Aims, aimsOf, type ReplicaGate } from '../cluster/replica-gate.js'
import type { Engine } from '../engine/engine.js'
import type { Answer } from '../http/answer.js'
import type { Site } from '../http/site.js'
import type { Availability } from '../http/status.js'
import type { Monitor } from '../observe/monitor.js'
import { type Access, bearerToken } from './access/access.js'
import type { Grant } from './access/rights.js'
import type { Admission, Backend, Call, Introduction, Reply, Visit } from './backend.js'
import type { Forward, Forwarder } from './forwarding.js'
import type { EngineRequest } from './handlers/context.js'
import { handleControl } from './handlers/control.js'
import { handleData } from './handlers/data.js'
import type { ReplyMemory } from './reply-memory.js'

interface Options {
  readonly access: Access
  readonly maxConnections: number
  readonly monitor: Monitor
  readonly memory: ReplyMemory
  /** Of a node of a cluster: carries out what is for all of it. */
  readonly forward?: Forward | undefined
}

/** Who is at a connection, and what it is for. */
interface Connected {
  readonly grant: Grant
  readonly aims: Aims
  /** Where it means a whole cluster. */
  readonly forwarder: Forwarder | undefined
}

/** The engine in this thread, whom it serves, and what else it answers. */
export class LocalBackend implements Backend {
  readonly #options: Options
  /** By their numbers. */
  readonly #connections = new Map<number, Connected>()
  /** Only of a node of a cluster. */
  #gate: ReplicaGate | undefined
  #engine: Engine | undefined
  #site: Site | undefined
  #status: Availability['status'] = 'starting'
  #next = 0

  constructor(options: Options) {
    this.#options = options
  }

  get status(): Availability['status'] {
    return this.#status
  }

  /** Connections that are open, or about to be. */
  get connections(): number {
    return this.#connections.size
  }

  /** Answers what is no WebSocket with a site from now on. */
  show(site: Site): void {
    this.#site = site
  }

  /** Lets clients in. @param gate of a node of a cluster */
  begin(engine: Engine, gate?: ReplicaGate): void {
    this.#engine = engine
    this.#gate = gate
    this.#status = 'ready'
  }

  /** Lets nobody in until the next `begin`. */
  pause(): void {
    this.#status = 'starting'
  }

  /** Lets nobody in any more. */
  stop(): void {
    this.#status = 'stopping'
  }

  /** Ends what other nodes have not answered. */
  stopForwarding(): void {
    for (const { forwarder } of this.#connections.values()) forwarder?.close()
  }

  get introduction(): Introduction {
    const { name = '', software = true } = this.#engine?.adapter ?? {}
    const { sets = 1 } = this.#gate ?? {}
    return { adapter: { name, software }, sets: sets === 1 ? undefined : sets }
  }

  async admit(visit: Visit): Promise<Admission> {
    const { access, maxConnections, monitor } = this.#options
    const isFull = this.#status !== 'ready' || this.#connections.size >= maxConnections
    const grant = isFull ? 503 : access.admit(visit)
    if (typeof grant === 'number') {
      monitor.refused(grant, visit.address)
      return { status: grant }
    }
    const number = this.#next++
    const aims = aimsOf(visit.url)
    const forwarder = this.#forwarderOf(visit, aims)
    this.#connections.set(number, { grant, aims, forwarder })
    monitor.meters.connections++
    monitor.meters.connectionsOpened++
    const { token } = grant
    const { introduction } = this
    const isForwarded = forwarder !== undefined
    const who = `${grant.who}${aims.readsAny ? ', of any node' : ''}${isForwarded ? `, by connection ${number}` : ''}`
    return { connection: number, who, token, isForwarded, introduction }
  }

  left(connection: number): void {
    const connected = this.#connections.get(connection)
    if (connected === undefined) return
    this.#connections.delete(connection)
    connected.forwarder?.close()
    this.#gate?.left(connection)
    this.#options.monitor.meters.connections--
    this.#engine?.queries.endAll(connection)
  }

  async call(call: Call): Promise<Reply> {
    const { grant, aims, forwarder } = this.#connections.get(call.owner) ?? {}
    const engine = this.#engine
    if (grant === undefined || aims === undefined || engine === undefined) {
      throw new WarpdexError('CANCELLED', 'the connection of the request is over')
    }
    // Clients of all replica sets ask this first, and go on by themselves.
    if (forwarder !== undefined && call.request.op !== 'cluster') return { result: await forwarder.run(call) }
    // The others concern the connection only.
    const request = call.request as EngineRequest
    const memory = this.#options.memory.lend()
    const { slowLog } = this.#options.monitor
    const context = { grant, call, memory, slowLog }
    let running: Promise<unknown> | undefined
    try {
      const answer = () => {
        const answered =
          'handle' in request ? handleData(engine, request, context) : handleControl(engine, request, context)
        running = answered
        return answered
      }
      const gate = this.#gate
      const result = await (gate === undefined ? answer() : gate.run(request, call.owner, aims, answer))
      return { result, memory, running: call.running }
    } catch (thrown) {
      // The gate may have given it up while it was under way.
      void Promise.allSettled([running]).then(() => memory.release())
      const error = toWarpdexError(thrown)
      if (error.code === 'NOT_OWNER') call.cancel()
      if (error.code !== 'CANCELLED' || call.givenUp || !call.expired) throw error
      throw new WarpdexError('DEADLINE_EXCEEDED', "the request's deadline passed before its turn came")
    }
  }

  #forwarderOf({ headers }: Visit, { set, readsAny }: Aims): Forwarder | undefined {
    const gate = this.#gate
    if (gate === undefined || gate.sets === 1 || set !== undefined) return undefined
    const { sets } = gate
    return this.#options.forward?.({ token: bearerToken(headers), readsAny, sets, nodes: () => gate.nodes })
  }

  async visit(visit: Visit): Promise<Answer> {
    const site = this.#site
    if (site === undefined) throw new Error('the server has no site')
    return site(visit)
  }
}
