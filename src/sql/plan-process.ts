import { type ChildProcess, fork } from 'node:child_process'
import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { badRequest } from '../../protocol/errors.js'
import { installCommand } from '../../protocol/optional-packages.js'
import type { MirroredRelation } from './catalogue.js'
import type { PlanJob, PlanReply } from './plan-program.js'

/** Milliseconds that a plan may take, and the start of the process, for which a machine may be busy. */
const PLAN_MILLISECONDS = 900
const START_MILLISECONDS = 20_000
/** Megabytes of JavaScript's memory in the process: it does little but pass texts on. */
const HEAP_MEGABYTES = 48

/** What becomes of a job. */
export type PlanResult = Extract<PlanReply, { kind: 'planned' | 'refused' }>

/** A process with DuckDB in it, which plans one statement at a time and is limited in time and memory. */
export class PlanProcess {
  readonly #child: ChildProcess
  /** The relations that it knows, as JSON. */
  #mirrored = ''

  private constructor(child: ChildProcess) {
    this.#child = child
  }

  /** @throws WarpdexError `BAD_REQUEST` that names the package to install */
  static async start(): Promise<PlanProcess> {
    const started = new PlanProcess(
      fork(program(), {
        // None of this process's: with those of `node --eval` it would run the same once more.
        execArgv: [`--max-old-space-size=${HEAP_MEGABYTES}`],
        stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      }),
    )
    const reply = await started.#reply(START_MILLISECONDS)
    if (reply?.kind === 'ready') return started
    started.end()
    const reason = reply?.kind === 'missing' ? reply.reason : 'its process does not start'
    throw badRequest(
      `sql needs DuckDB where the server runs: ${installCommand('@duckdb/node-api')} (${reason})`,
    )
  }

  /** @returns undefined where it took too long, or more memory than it may have; it is of no further use then */
  async plan(text: string, catalogue: readonly MirroredRelation[]): Promise<PlanResult | undefined> {
    const mirrored = JSON.stringify(catalogue)
    const job: PlanJob = { text, catalogue: mirrored === this.#mirrored ? undefined : catalogue }
    const replied = this.#reply(PLAN_MILLISECONDS)
    this.#child.send(job, () => {})
    const reply = await replied
    this.#mirrored = mirrored
    return reply?.kind === 'planned' || reply?.kind === 'refused' ? reply : undefined
  }

  /** Whether it can be asked still. */
  get isThere(): boolean {
    return this.#child.connected && this.#child.exitCode === null && this.#child.signalCode === null
  }

  end(): void {
    this.#child.kill('SIGKILL')
  }

  /** The next reply; undefined where none comes in time. Only while it is waited for does the process keep this one from ending. */
  #reply(milliseconds: number): Promise<PlanReply | undefined> {
    const child = this.#child
    child.ref()
    child.channel?.ref()
    return new Promise<PlanReply | undefined>((resolve) => {
      const settle = (reply?: PlanReply) => {
        clearTimeout(timer)
        child.off('message', settle).off('exit', none).off('error', none)
        child.unref()
        child.channel?.unref()
        resolve(reply)
      }
      const none = () => settle()
      const timer = setTimeout(none, milliseconds)
      child.on('message', settle).on('exit', none).on('error', none)
      if (!child.connected) none()
    })
  }
}

function program(): string {
  return fileURLToPath(new URL(`plan-program${extname(fileURLToPath(import.meta.url))}`, import.meta.url))
}
