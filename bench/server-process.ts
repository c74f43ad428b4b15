import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { childProgram } from './child-program.js'

/** Ticks of the kernel's clock in a second, which Linux has fixed for programs. */
const TICKS_PER_SECOND = 100

/** A server in a process of its own, as users start it. */
export class ServerProcess {
  readonly url: string
  readonly #child: ChildProcess

  private constructor(child: ChildProcess, url: string) {
    this.#child = child
    this.url = url
  }

  /**
   * Starts `warpdex serve` on a free port and waits until it is ready. It dies with this process.
   * @param flags further flags
   * @param program the command line, this build's by default
   * @param prefix what its command begins with, as `taskset`
   */
  static async start(
    directory: string,
    flags: readonly string[] = [],
    program = childProgram('clients/cli/main'),
    prefix: readonly string[] = [],
  ): Promise<ServerProcess> {
    const own = [process.execPath, ...process.execArgv, program, 'serve', '--port', '0']
    const [command, ...args] = [...prefix, ...own, '--directory', directory, ...flags]
    const child = spawn(command!, args, { stdio: ['ignore', 'pipe', 'inherit'] })
    const kill = () => child.kill('SIGKILL')
    process.once('exit', kill)
    child.once('exit', () => process.off('exit', kill))
    let output = ''
    for await (const chunk of child.stdout) {
      output += chunk
      const url = /ws:\/\/\S+/.exec(output)?.[0]
      if (url !== undefined && output.includes('Ctrl-C')) return new ServerProcess(child, url)
    }
    throw new Error(`the server did not start: ${output}`)
  }

  /** Stops the server as Ctrl-C does. */
  async stop(): Promise<void> {
    await this.#end('SIGINT')
    if (this.#child.exitCode !== 0) {
      throw new Error(`the server ended with ${this.#child.exitCode ?? this.#child.signalCode}`)
    }
  }

  /** `kill -9`: it cannot take note of it. */
  async kill(): Promise<void> {
    await this.#end('SIGKILL')
  }

  /** Has it stand still. */
  pause(): void {
    this.#child.kill('SIGSTOP')
  }

  /** Has it go on after it stood still. */
  resume(): void {
    this.#child.kill('SIGCONT')
  }

  /** Sends it a signal. */
  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal)
  }

  get hasEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null
  }

  /** Bytes of memory that it has in use, as Linux tells; the store's file is mapped, and counts where it was read. */
  get residentBytes(): number {
    return this.#status('VmRSS')
  }

  /** Bytes of memory that it has in use and that are its own, not a file's. */
  get anonymousBytes(): number {
    return this.#status('RssAnon')
  }

  /** Seconds of processor time that it has used, as Linux tells. */
  get cpuSeconds(): number {
    // The second field, the command's name, may hold spaces; user and system time are the twelfth and thirteenth after it.
    const stat = this.#proc('stat')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND
  }

  #status(field: string): number {
    const kibibytes = new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(this.#proc('status'))?.[1]
    return Number(kibibytes) * 1024
  }

  #proc(file: string): string {
    return readFileSync(`/proc/${this.#child.pid}/${file}`, 'utf8')
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    if (this.hasEnded) return
    this.#child.kill(signal)
    await once(this.#child, 'exit')
  }
}

/** Runs work with a server process that has a data directory of its own. */
export async function withServer<T>(
  flags: readonly string[],
  work: (server: ServerProcess) => Promise<T>,
): Promise<T> {
  const directory = mkdtempSync(join(tmpdir(), 'warpdex-bench-'))
  try {
    const server = await ServerProcess.start(directory, flags)
    try {
      const result = await work(server)
      await server.stop()
      return result
    } finally {
      await server.kill()
    }
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}
