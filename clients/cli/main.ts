#!/usr/bin/env node
import yargs, { type Argv } from 'yargs'
import { hideBin } from 'yargs/helpers'
import { badRequest, toWarpdexError, WarpdexError } from '../../protocol/errors.js'
import type { Adds } from './command.js'
import { ExitCode } from './exit-code.js'
import { guardedArguments, removeGuards, unguarded } from './guarded-arguments.js'
import { packageVersion } from './package-version.js'
import { styled } from './styled.js'

/** Each is loaded when it is asked for: what all of them import would be most of the time that a short one takes. */
const COMMANDS: Readonly<Record<string, () => Promise<{ readonly add: Adds }>>> = {
  serve: () => import('./commands/serve.js'),
  create: () => import('./commands/create.js'),
  list: () => import('./commands/list.js'),
  drop: () => import('./commands/drop.js'),
  rename: () => import('./commands/rename.js'),
  swap: () => import('./commands/swap.js'),
  put: () => import('./commands/put.js'),
  insert: () => import('./commands/insert.js'),
  get: () => import('./commands/get.js'),
  lookup: () => import('./commands/lookup.js'),
  next: () => import('./commands/next.js'),
  explain: () => import('./commands/explain.js'),
  entries: () => import('./commands/entries.js'),
  count: () => import('./commands/count.js'),
  watch: () => import('./commands/watch.js'),
  query: () => import('./commands/query.js'),
  sql: () => import('./commands/sql.js'),
  delete: () => import('./commands/delete.js'),
  'delete-rows': () => import('./commands/delete-rows.js'),
  'update-rows': () => import('./commands/update-rows.js'),
  clear: () => import('./commands/clear.js'),
  import: () => import('./commands/import.js'),
  relations: () => import('./commands/relations.js'),
  stats: () => import('./commands/stats.js'),
  calibrate: () => import('./commands/calibrate.js'),
  snapshot: () => import('./commands/snapshot.js'),
  token: () => import('./commands/token.js'),
  backup: () => import('./commands/backup.js'),
  restore: () => import('./commands/restore.js'),
  verify: () => import('./commands/verify.js'),
  loadtest: () => import('./commands/loadtest.js'),
  doctor: () => import('./commands/doctor.js'),
}

/** How the script of `completion` asks for what may come next. */
const COMPLETIONS = '--get-yargs-completions'

/** Columns of a help text; longer lines are hard to read on wide terminals. */
const WIDEST_HELP = 110

const EPILOGUE = `Exit codes: 0 done, 1 a key was not found (or was there already), 2 an error.
Clients find the server by --url or WARPDEX_URL, and show it the token of WARPDEX_TOKEN or --token.`

/** @param command what the first argument says; all commands are there where it is none */
async function commandLine(command: string): Promise<Argv> {
  const given = hideBin(process.argv)
  // What a shell asks to have completed may be a lone -- itself.
  const cli = yargs(command === COMPLETIONS ? given : guardedArguments(given))
  const loads = Object.hasOwn(COMMANDS, command) ? [COMMANDS[command]] : Object.values(COMMANDS)
  for (const { add } of await Promise.all(loads.map((load) => load()))) add(cli)
  return (
    cli
      .scriptName('warpdex')
      .usage('$0 <command>\n\nA GPU secondary-index server, and its client.')
      .strict()
      .recommendCommands()
      .completion('completion', 'Print a script that has bash or zsh complete commands and options')
      .version(packageVersion())
      .alias('help', 'h')
      .epilogue(EPILOGUE)
      .locale('en')
      .wrap(Math.min(WIDEST_HELP, cli.terminalWidth()))
      // Keys are read as text, so that those of 64 bits keep all their digits.
      .parserConfiguration({ 'parse-positional-numbers': false, 'parse-numbers': false })
      .middleware(removeGuards)
      .fail((message, error) => {
        if (error instanceof WarpdexError) throw error
        // What yargs throws by itself is about the arguments.
        throw badRequest(`${wrong(command, message ?? error.message)}; --help shows what is right`, {
          cause: error,
        })
      })
  )
}

/** What yargs found wrong, in clearer words: it takes an unknown command for an argument. */
function wrong(command: string, message: string): string {
  if (command === '' || command.startsWith('-') || Object.hasOwn(COMMANDS, command)) {
    const [, came, least] = /non-option arguments: got (\d+), need at least (\d+)/.exec(message) ?? []
    return came === undefined ? oneLine(message) : `too few arguments: ${came} of at least ${least}`
  }
  const near = /^Did you mean (.*)\?$/.exec(message.trim())?.[1]
  return `there is no command "${command}"${near === undefined ? '' : `; did you mean "${near}"?`}`
}

function oneLine(message: string): string {
  return unguarded(message)
    .trim()
    .replaceAll(/\s*\n\s*/g, ' ')
}

function report(thrown: unknown): void {
  const { code, message } = toWarpdexError(thrown)
  // That a request is wrong says no more than the message; other codes tell programs and people what to do.
  const text = code === 'BAD_REQUEST' ? oneLine(message) : `${code}: ${oneLine(message)}`
  process.stderr.write(`${styled('red', 'warpdex:', process.stderr)} ${text}\n`)
  process.exitCode = ExitCode.error
}

// Other users of the machine see the title of a process, and it is the command line, with tokens, unless it is set.
const command = process.argv[2] ?? ''
process.title = /^[a-z]+$/.test(command) ? `warpdex ${command}` : 'warpdex'

// `warpdex entries … | head` ends the reading of standard output early, which is no error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(ExitCode.done)
  // Work that waits for the output to be taken would not end by itself.
  report(badRequest(`standard output cannot be written: ${error.message}`))
  process.exit()
})

try {
  const cli = await commandLine(command)
  if (command === '') cli.showHelp('log')
  else await cli.parseAsync()
} catch (thrown) {
  report(thrown)
}
