#!/usr/bin/env node
import yargs, { type Argv } from 'yargs'
import { hideBin } from 'yargs/helpers'
import { badRequest, toWarpdexError, WarpdexError } from '../../protocol/errors.js'
import { addBackup } from './commands/backup.js'
import { addCalibrate } from './commands/calibrate.js'
import { addCreate } from './commands/create.js'
import { addDel } from './commands/del.js'
import { addDoctor } from './commands/doctor.js'
import { addDrop } from './commands/drop.js'
import { addExplain } from './commands/explain.js'
import { addGet } from './commands/get.js'
import { addImport } from './commands/import.js'
import { addList } from './commands/list.js'
import { addLoadTest } from './commands/loadtest.js'
import { addPut } from './commands/put.js'
import { addQuery } from './commands/query.js'
import { addRelations } from './commands/relations.js'
import { addRestore } from './commands/restore.js'
import { addScan } from './commands/scan.js'
import { addServe } from './commands/serve.js'
import { addSnapshot } from './commands/snapshot.js'
import { addStats } from './commands/stats.js'
import { addToken } from './commands/token.js'
import { addVerify } from './commands/verify.js'
import { ExitCode } from './exit-code.js'
import { guardedArguments, removeGuards, unguarded } from './guarded-arguments.js'
import { packageVersion } from './package-version.js'

const COMMANDS = [
  addServe,
  addCreate,
  addList,
  addDrop,
  addPut,
  addGet,
  addExplain,
  addScan,
  addQuery,
  addDel,
  addImport,
  addRelations,
  addStats,
  addCalibrate,
  addSnapshot,
  addToken,
  addBackup,
  addRestore,
  addVerify,
  addLoadTest,
  addDoctor,
]

/** Columns of a help text; longer lines are hard to read on wide terminals. */
const WIDEST_HELP = 110

const EPILOGUE = `Exit codes: 0 done, 1 a key was not found (or was there already), 2 an error.
Clients find the server by --url or WARPDEX_URL, and show it the token of WARPDEX_TOKEN or --token.`

function commandLine(): Argv {
  const cli = yargs(guardedArguments(hideBin(process.argv)))
  for (const add of COMMANDS) add(cli)
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

// `warpdex scan … | head` ends the reading of standard output early, which is no error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(ExitCode.done)
  // Work that waits for the output to be taken would not end by itself.
  report(badRequest(`standard output cannot be written: ${error.message}`))
  process.exit()
})

try {
  await commandLine().parseAsync()
} catch (thrown) {
  report(thrown)
}
