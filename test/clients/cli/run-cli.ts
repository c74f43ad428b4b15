import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))

/** What tap's loader calls, too, so that modules of the command that a test imports are made once for both. */
interface Transpiler {
  transpile(source: string, options: { readonly fileName: string }): { readonly outputText: string }
}

const { transpile }: Transpiler = createRequire(import.meta.url)('../../transpiler.cjs')

/** Folders that the command consists of. */
const FOLDERS = ['clients', 'gpu', 'persistence', 'protocol', 'src']

export interface Outcome {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

/** Runs `warpdex` as a user does; `input` comes on standard input. */
export type Cli = (args: readonly string[], input?: string | Uint8Array) => Promise<Outcome>

/**
 * Compiles the command from its sources as they are, without a check of types. A process for each command line would else
 * compile it for itself, or a forgotten build be tested.
 *
 * @param directory below the project's root, where the packages are found
 * @param more folders that the command does not consist of
 * @returns the program
 */
export function compileCli(directory: string, more: readonly string[] = []): string {
  for (const folder of [...FOLDERS, ...more]) {
    for (const name of readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })) {
      const source = join(ROOT, folder, name)
      const output = join(directory, 'dist', folder, name)
      mkdirSync(dirname(output), { recursive: true })
      if (/\.(wesl|wat)$/.test(name)) cpSync(source, output)
      if (!name.endsWith('.ts')) continue
      const { outputText } = transpile(readFileSync(source, 'utf8'), { fileName: source })
      writeFileSync(output.replace(/\.ts$/, '.js'), outputText)
    }
  }
  copyFileSync(join(ROOT, 'package.json'), join(directory, 'package.json'))
  return join(directory, 'dist/clients/cli/main.js')
}

/**
 * Arguments of `env` that start the command. tap has every process that a test starts load its own modules first, by way of
 * `NODE_OPTIONS`; that takes as long as most commands do, and is not how a user starts them.
 */
const NODE = ['-u', 'NODE_OPTIONS', process.execPath]

/** The process of a command, with pipes. */
export function spawnCli(
  program: string,
  environment: Readonly<Record<string, string>>,
  args: readonly string[],
) {
  return spawn('env', [...NODE, program, ...args], { env: { ...process.env, ...environment } })
}

export function cliOf(program: string, environment: Readonly<Record<string, string>>): Cli {
  return async (args, input = '') => {
    const child = spawnCli(program, environment, args)
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
  program: string,
  directory: string,
  environment: Readonly<Record<string, string>> = {},
  more: readonly string[] = [],
) {
  const flags = ['--port', '0', '--adapter', 'software', '--directory', directory, ...more]
  const child = spawn('env', [...NODE, program, 'serve', ...flags], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, ...environment },
  })
  t.teardown(() => child.kill('SIGKILL'))
  return child
}

/** Runs `warpdex serve` until it has said where it is. */
export async function serve(
  t: Test,
  program: string,
  directory: string,
  environment: Readonly<Record<string, string>> = {},
  more: readonly string[] = [],
): Promise<Served> {
  const child = spawnServer(t, program, directory, environment, more)
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
