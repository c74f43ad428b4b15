import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { pathToFileURL } from 'node:url'
import type { Test } from 'tap'
import { COMPILED } from '../../compiled.js'

/** The command, and the one of load tests. */
const PROGRAM = join(COMPILED, 'clients/cli/main.js')
export const LOAD_TEST = join(COMPILED, 'clients/load-test/main.js')

export interface Outcome {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

/** Runs `warpdex` as a user does; `input` comes on standard input. */
export type Cli = (args: readonly string[], input?: string | Uint8Array) => Promise<Outcome>

/** The process of a command, with pipes. */
export function spawnCli(
  environment: Readonly<Record<string, string>>,
  args: readonly string[],
  program = PROGRAM,
) {
  return spawn(process.execPath, [program, ...args], { env: { ...process.env, ...environment } })
}

export function cliOf(environment: Readonly<Record<string, string>>, program = PROGRAM): Cli {
  return async (args, input = '') => {
    const child = spawnCli(environment, args, program)
    let out = ''
    let err = ''
    child.stdout.setEncoding('utf8').on('data', (text) => {
      out += text
    })
    child.stderr.setEncoding('utf8').on('data', (text) => {
      err += text
    })
    // A command that fails need not read what is piped to it.
    child.stdin.on('error', () => {})
    child.stdin.end(input)
    const [code] = await once(child, 'close')
    return { code, out, err }
  }
}

/** Behind each text of a command's help. */
const END = '\f'

/** What `warpdex COMMAND --help` prints, for each command: one process after another would load most of the same modules. */
export async function helpsOf(commands: readonly string[]): Promise<string[]> {
  const program = `
    const status = []
    process.exit = (code) => status.push(code)
    for (const command of ${JSON.stringify(commands)}) {
      process.argv = [process.execPath, 'warpdex', command, '--help']
      await import(${JSON.stringify(pathToFileURL(PROGRAM).href)} + '?' + command)
      console.log('${END}')
    }
    process.exitCode = status.length === ${commands.length} ? Math.max(...status) : 1`
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const [output, [code]] = await Promise.all([text(child.stdout), once(child, 'close')])
  if (code !== 0) throw new Error(`the exit code of a help is ${code}`)
  return output.split(`${END}\n`).slice(0, -1)
}

/** A server on a free port: its address and banner, and how to stop it with a signal. */
export interface Served {
  readonly url: string
  readonly banner: string
  readonly pid: number
  readonly stop: (signal: NodeJS.Signals) => Promise<readonly [code: number | null, signal: string | null]>
}

/** The process of `warpdex serve` on the software adapter, which ends with the test. */
export function spawnServer(
  t: Test,
  directory: string,
  environment: Readonly<Record<string, string>> = {},
  more: readonly string[] = [],
) {
  const flags = ['--port', '0', '--adapter', 'software', '--directory', directory, ...more]
  const child = spawn(process.execPath, [PROGRAM, 'serve', ...flags], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, ...environment },
  })
  t.teardown(() => child.kill('SIGKILL'))
  return child
}

/** Runs `warpdex serve` until it has said where it is. */
export async function serve(
  t: Test,
  directory: string,
  environment: Readonly<Record<string, string>> = {},
  more: readonly string[] = [],
): Promise<Served> {
  const child = spawnServer(t, directory, environment, more)
  let banner = ''
  for await (const chunk of child.stdout) {
    banner += chunk
    if (banner.includes('Ctrl-C')) break
  }
  const url = /wss?:\S+/.exec(banner)?.[0]
  if (url === undefined) throw new Error(`no server: ${banner}`)
  const stop: Served['stop'] = async (signal) => {
    child.kill(signal)
    const [code, by] = await once(child, 'exit')
    return [code, by]
  }
  return { url, banner, pid: child.pid ?? 0, stop }
}
