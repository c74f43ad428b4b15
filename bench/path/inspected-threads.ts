import { type NodeWorker, type Profiler, type Runtime, Session } from 'node:inspector/promises'

/** Asks V8's inspector of one thread; the protocol's own documents say what a method takes and gives. */
type Ask = <R>(method: string, params?: object) => Promise<R>

interface Thread {
  readonly ask: Ask
  /** Identifiers of its modules by URL. */
  readonly scripts: Map<string, string>
}

/** A function of this project as V8 reports it. */
export interface Called {
  /** Of the module that it is in. */
  readonly url: string
  readonly name: string
  /** Where its text begins in the module, and where it ends. */
  readonly start: number
  readonly end: number
}

/** This thread and all that it starts later, as V8's inspector sees them: which functions run, and in what order. */
export class InspectedThreads {
  readonly #session = new Session()
  readonly #threads: Thread[] = []
  readonly #attaching: Promise<unknown>[] = []

  /** To be called before other threads are started. */
  static async open(): Promise<InspectedThreads> {
    const threads = new InspectedThreads()
    await threads.#open()
    return threads
  }

  async #open(): Promise<void> {
    this.#session.connect()
    await this.#attach(async <R>(method: string, params?: object) => {
      // The types know no method by a variable name, and no result of it.
      return (await this.#session.post(method, params)) as R
    })
    this.#session.on('NodeWorker.attachedToWorker', ({ params }) => {
      this.#attaching.push(this.#attach(workerAsk(this.#session, params.sessionId)))
    })
    await this.#session.post('NodeWorker.enable', { waitForDebuggerOnStart: false })
  }

  async #attach(ask: Ask): Promise<void> {
    await ask('Profiler.enable')
    await ask('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
    this.#threads.push({ ask, scripts: new Map() })
  }

  /** The functions that ran since this was asked the last time. */
  async called(): Promise<Called[]> {
    await Promise.all(this.#attaching)
    const called = await Promise.all(this.#threads.map(takeCalled))
    return called.flat()
  }

  /** Runs work and says which of these functions it called first, second and so on. */
  async inOrder(functions: readonly Called[], work: () => Promise<unknown>): Promise<Called[]> {
    const recorders = await Promise.all(this.#threads.map((thread) => recordCalls(thread, functions)))
    await work()
    const calls = await Promise.all(recorders.map((stop) => stop()))
    const sorted = calls.flat().sort(([, at], [, other]) => at - other)
    return [...new Set(sorted.map(([place]) => functions[place]!))]
  }

  close(): void {
    this.#session.disconnect()
  }
}

/** Asks a worker thread, which speaks by messages within messages. */
function workerAsk(session: Session, sessionId: string): Ask {
  let asked = 0
  return <R>(method: string, params: object = {}) => {
    const id = asked++
    return new Promise<R>((resolve, reject) => {
      const onReply = ({ params }: { params: NodeWorker.ReceivedMessageFromWorkerEventDataType }) => {
        const reply = JSON.parse(params.message)
        if (params.sessionId !== sessionId || reply.id !== id) return
        session.off('NodeWorker.receivedMessageFromWorker', onReply)
        if (reply.error === undefined) resolve(reply.result)
        else reject(new Error(`${method}: ${reply.error.message}`))
      }
      session.on('NodeWorker.receivedMessageFromWorker', onReply)
      const message = JSON.stringify({ id, method, params })
      session.post('NodeWorker.sendMessageToWorker', { sessionId, message }).catch(reject)
    })
  }
}

async function takeCalled({ ask, scripts }: Thread): Promise<Called[]> {
  const { result } = await ask<Profiler.TakePreciseCoverageReturnType>('Profiler.takePreciseCoverage')
  for (const { url, scriptId } of result) scripts.set(url, scriptId)
  return result.flatMap(({ url, functions }) =>
    functions
      .filter(({ ranges }) => ranges[0]!.count > 0)
      .map(({ functionName: name, ranges }) => ({
        url,
        name,
        start: ranges[0]!.startOffset,
        end: ranges[0]!.endOffset,
      })),
  )
}

/** A function's place in a list, and when it was called. */
type Call = readonly [place: number, at: number]

const CALLS = 'globalThis.callsOfThePath'

/**
 * Notes in one thread when which function is called: by breakpoints with a condition that notes it and is false, so that nothing ever stops.
 * @returns what ends it
 */
async function recordCalls(
  { ask, scripts }: Thread,
  functions: readonly Called[],
): Promise<() => Promise<Call[]>> {
  await ask('Runtime.evaluate', { expression: `${CALLS} = []` })
  await ask('Debugger.enable')
  const sources = new Map<string, string>()
  const taken = new Set<string>()
  for (const [place, { url, start, end }] of functions.entries()) {
    const scriptId = scripts.get(url)
    if (scriptId === undefined) continue
    if (!sources.has(scriptId)) {
      const { scriptSource } = await ask<{ scriptSource: string }>('Debugger.getScriptSource', { scriptId })
      sources.set(scriptId, scriptSource)
    }
    const at = (offset: number) => ({ scriptId, ...lineAndColumn(sources.get(scriptId)!, offset) })
    const range = { start: at(start), end: at(end) }
    const { locations } = await ask<{ locations: object[] }>('Debugger.getPossibleBreakpoints', range)
    const location = locations.find((location) => !taken.has(JSON.stringify(location)))
    if (location === undefined) continue
    taken.add(JSON.stringify(location))
    const condition = `${CALLS}.push([${place}, performance.timeOrigin + performance.now()]), false`
    await ask('Debugger.setBreakpoint', { location, condition })
  }
  return async () => {
    const expression = `JSON.stringify(${CALLS})`
    const { result } = await ask<Runtime.EvaluateReturnType>('Runtime.evaluate', { expression })
    await ask('Debugger.disable')
    return JSON.parse(result.value)
  }
}

function lineAndColumn(source: string, offset: number): { lineNumber: number; columnNumber: number } {
  const lines = source.slice(0, offset).split('\n')
  return { lineNumber: lines.length - 1, columnNumber: lines.at(-1)!.length }
}
