import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'

const SERVE = fileURLToPath(new URL('./serve.ts', import.meta.url))

/** A server in a process of its own, to be killed; it ends with the test. */
export async function serve(t: Test, directory: string): Promise<{ child: ChildProcess; url: string }> {
  const child = spawn(process.execPath, [...process.execArgv, SERVE, directory], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.teardown(() => child.kill('SIGKILL'))
  const [line] = await once(child.stdout!, 'data')
  return { child, url: String(line).trim() }
}
