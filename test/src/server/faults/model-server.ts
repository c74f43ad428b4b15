import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Test } from 'tap'
import { childProgram } from '../../../../bench/child-program.js'
import type { ModelServerOptions } from './serve-model.js'

const PROGRAM = childProgram('test/src/server/faults/serve-model')

export interface ModelServer {
  readonly child: ChildProcess
  readonly url: string
  /** What it has said of what went wrong. */
  readonly complaints: () => string
}

/**
 * A server over models in a process of its own; it ends with the test.
 * @param preloaded module that each of its threads loads first
 */
export async function serveModel(
  t: Test,
  options: ModelServerOptions,
  preloaded?: string,
): Promise<ModelServer> {
  const preload = preloaded === undefined ? [] : [`--import=${preloaded}`]
  const args = [...process.execArgv, ...preload, PROGRAM, JSON.stringify(options)]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  t.teardown(() => child.kill('SIGKILL'))
  let complaints = ''
  child.stderr.on('data', (text) => {
    complaints += text
  })
  const [line] = await once(child.stdout, 'data')
  return { child, url: String(line).trim(), complaints: () => complaints }
}
