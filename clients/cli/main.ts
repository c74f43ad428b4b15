#!/usr/bin/env node
import yargs, { type Argv } from 'yargs'
import { hideBin } from 'yargs/helpers'
import { badRequest, toWarpdexError, WarpdexError } from '../../protocol/errors.js'
import type { Adds } from './command.js'
import { ExitCode } from './exit-code.js'
import { guardedArguments, removeGuards, unguarded } from './guarded-arguments.js'
import { packageVersion } from './package-version.js'

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

/** Columns of a help text; longer lines are hard to read on wide terminals. */
const WIDEST_HELP = 110

const EPILOGUE = `Exit codes: 0 done, 1 a key was not found (or was there already), 2 an error.
Clients find the server by --url or WARPDEX_URL, and show it the token of WARPDEX_TOKEN or --token.`

/** @param command what the first argument says; all commands are there where it is none */
async function commandLine(command: string): Promise<Argv> {
  const cli = yargs(guardedArguments(hideBin(process.argv)))
  const loads = Object.hasOwn(COMMANDS, command) ? [COMMANDS[command]] : Object.values(COMMANDS)
  for (const { add } of await Promise.all(loads.map((load) => load()))) add(cli)
  return (
    cli
      .scriptName('warpdex')
      .usage('$0 <command>\n\nA GPU secondary-index server, and its client.')
      .demandCommand(1, 1, 'a command is missing')
      .strict()
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
        throw badRequest(`${oneLine(message ?? error.message)}; --help shows what is right`, { cause: error })
      })
  )
}

function oneLine(message: string): string {
  return unguarded(message)
    .trim()
    .replaceAll(/\s*\n\s*/g, ' ')
}

function report(thrown: unknown): void {
  const { code, message } = toWarpdexError(thrown)
  process.stderr.write(`warpdex: ${code}: ${oneLine(message)}\n`)
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
  await cli.parseAsync()
} catch (thrown) {
  report(thrown)
}
