import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { WarpdexError } from '../../../protocol/errors.js'

const POLL_MS = 100
/** How long an answer is waited for. */
const ANSWER_MS = 2000
/** How long it rests before it is started again. */
const RESTART_MS = 2000
/** Lines of its output that are shown when it has ended. */
const SHOWN_LINES = 5

export interface KeptProcessOptions {
  /** For people. */
  readonly name: string
  readonly command: string
  readonly args: readonly string[]
  /** File to which its output is appended. */
  readonly log: string
  /** HTTP address that answers with a status of success once the process is ready. */
  readonly readyUrl: string
}

/** A process that is started again when it ends by itself. */
export class KeptProcess {
  readonly #options: KeptProcessOptions
  readonly #onNotice: (text: string) => void
  readonly #stopping = new AbortController()
  #child: ChildProcess | undefined
  /** How it has ended; undefined while it runs. */
  #end: string | undefined
  #ended: Promise<void> = Promise.resolve()
  #keeping: Promise<void> | undefined

  /** Starts it. @param onNotice told, in lines for people, when it ends by itself, and when it is back */
  constructor(options: KeptProcessOptions, onNotice: (text: string) => void) {
    this.#options = options
    this.#onNotice = onNotice
    this.#spawn()
  }

  get name(): string {
    return this.#options.name
  }

  get isRunning(): boolean {
    return this.#end === undefined
  }

  /**
   * Resolves when it is ready. From then on it is kept running.
   * @throws WarpdexError `INTERNAL` where it ends before; the reason of `stop` once that is aborted
   */
  async ready(stop: AbortSignal): Promise<void> {
    const isReady = await this.#untilReady(stop)
    stop.throwIfAborted()
    if (!isReady) throw new WarpdexError('INTERNAL', this.#obituary())
    this.#keeping = this.#keep()
  }

  signal(name: NodeJS.Signals): void {
    this.#child?.kill(name)
  }

  /** Ends it as Ctrl-C does. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    this.signal('SIGTERM')
    await this.#keeping
    await this.#ended
  }

  #spawn(): void {
    const { command, args, log } = this.#options
    const output = openSync(log, 'a')
    // In a group of its own: Ctrl-C is for this process alone, which ends the others in their turn.
    const child = spawn(command, args, { stdio: ['ignore', output, output], detached: true })
    closeSync(output)
    this.#child = child
    this.#end = undefined
    this.#ended = new Promise((resolve) => {
      const end = (how: string) => {
        this.#end = how
        resolve()
      }
      child.once('exit', (code, signal) => end(`ended with ${signal ?? `exit code ${code}`}`))
      child.once('error', ({ message }) => end(`cannot be started: ${message}`))
    })
  }

  /** @returns whether it is; it may have ended, or `stop` may be aborted */
  async #untilReady(stop: AbortSignal): Promise<boolean> {
    const { readyUrl } = this.#options
    while (this.isRunning && !stop.aborted) {
      const answer = await fetch(readyUrl, { signal: AbortSignal.timeout(ANSWER_MS) }).catch(() => undefined)
      // An open connection would have the process wait for it when it ends.
      await answer?.body?.cancel()
      if (answer?.ok === true) return true
      await pause(POLL_MS)
    }
    return false
  }

  async #keep(): Promise<void> {
    const { signal } = this.#stopping
    for (;;) {
      await this.#ended
      if (signal.aborted) return
      this.#onNotice(`${this.#obituary()}\n  It is started again.`)
      await pause(RESTART_MS, undefined, { signal }).catch(() => {})
      if (signal.aborted) return
      this.#spawn()
      if (await this.#untilReady(signal)) this.#onNotice(`${this.name} is ready again`)
    }
  }

  #obituary(): string {
    const { name, log } = this.#options
    const lines = readFileSync(log, 'utf8').trimEnd().split('\n').slice(-SHOWN_LINES)
    return [`${name} ${this.#end}. The end of ${log}:`, ...lines.map((line) => `  ${line}`)].join('\n')
  }
}
