import { hostname } from 'node:os'
import { resolve } from 'node:path'
import type { Config } from '../config/settings.js'
import { VERSION } from '../version.js'
import type { RunningServer } from './start-server.js'

/** One screen about a server that has started: what it runs on, where its data lies, how to talk to it. */
export function banner(
  config: Config,
  { url: listening, engine }: Pick<RunningServer, 'url' | 'engine'>,
): string {
  // No certificate is for an address that stands for all of a machine.
  const url = listening.replace(/^wss:\/\/(0\.0\.0\.0|\[::\])/, `wss://${hostname()}`)
  const { name, software } = engine.adapter
  const count = engine.list().length
  const address = url === 'ws://127.0.0.1:7070' ? '' : ` --url ${url}`
  const lines = [
    `warpdex ${VERSION}`,
    '',
    `  adapter    ${name}`,
    ...(software ? ['             a CPU does the work of a GPU here: everything works, and it is slow'] : []),
    `  data       ${resolve(config.directory)} (${count} ${count === 1 ? 'index' : 'indexes'})`,
    `  address    ${url}${config.token === '' && config.tokens === '' ? '' : ' (clients need a token)'}`,
    `  health     ${url.replace(/^ws/, 'http')}/health`,
    '',
    '  Talk to it from another terminal:',
    '',
    `    npx warpdex stats${address}`,
    `    npx warpdex --help`,
    '',
    '  or from a program:',
    '',
    "    import { connect } from 'warpdex'",
    `    const client = await connect('${url}')`,
    '',
    '  Ctrl-C stops it; what was acknowledged is on disk.',
  ]
  return `${lines.join('\n')}\n`
}
