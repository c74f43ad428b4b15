import yargs, { type Argv } from 'yargs'
import { hideBin } from 'yargs/helpers'
import { badRequest, toWarpdexError, WarpdexError } from '../../protocol/errors.js'
import { ExitCode } from './exit-code.js'
import { guardedArguments, removeGuards, unguarded } from './guarded-arguments.js'
import { packageVersion } from './package-version.js'
import { styled } from './styled.js'

/** How the script of `completion` asks for what may come next. */
const COMPLETIONS = '--get-yargs-completions'

/** Columns of a help text; longer lines are hard to read on wide terminals. */
const WIDEST_HELP = 110

export interface Program {
  /** What is typed to run it. */
  readonly name: string
  /** What other users of the machine see: it is the command line, with tokens, unless it is set. */
  readonly title: string
  /** Whether it prints its help where there are no arguments. */
  readonly helpsAlone?: boolean
  /** Adds commands and texts of help. */
  readonly declare: (cli: Argv) => Argv | Promise<Argv>
  /** What yargs found wrong, in clearer words. */
  readonly clearer?: (message: string) => string
}

/** Runs a program with the arguments of this process. What it fails with is said on standard error, with exit code 2. */
export async function runProgram(program: Program): Promise<void> {
  process.title = program.title
  const report = (thrown: unknown) => {
    const { code, message } = toWarpdexError(thrown)
    // That a request is wrong says no more than the message; other codes tell programs and people what to do.
    const text = code === 'BAD_REQUEST' ? shown(message) : `${code}: ${shown(message)}`
    process.stderr.write(`${styled('red', `${program.name}:`, process.stderr)} ${text}\n`)
    process.exitCode = ExitCode.error
  }
  // `warpdex entries … | head` ends the reading of standard output early, which is no error.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(ExitCode.done)
    // Work that waits for the output to be taken would not end by itself.
    report(badRequest(`standard output cannot be written: ${error.message}`))
    process.exit()
  })
  try {
    const given = hideBin(process.argv)
    // What a shell asks to have completed may be a lone -- itself.
    const cli = yargs(given[0] === COMPLETIONS ? given : guardedArguments(given))
    const declared = await program.declare(settled(cli, program))
    if (program.helpsAlone && given.length === 0) declared.showHelp('log')
    else await declared.parseAsync()
  } catch (thrown) {
    report(thrown)
  }
}

/** The ways that all programs have. */
function settled(cli: Argv, { name, clearer = oneLine }: Program): Argv {
  return (
    cli
      .scriptName(name)
      .strict()
      .version(packageVersion())
      .alias('help', 'h')
      .locale('en')
      .wrap(Math.min(WIDEST_HELP, cli.terminalWidth()))
      // Keys are read as text, so that those of 64 bits keep all their digits.
      .parserConfiguration({ 'parse-positional-numbers': false, 'parse-numbers': false })
      .middleware(removeGuards)
      .fail((message, error) => {
        if (error instanceof WarpdexError) throw error
        // What yargs throws by itself is about the arguments.
        throw badRequest(`${clearer(message ?? error.message)}; --help shows what is right`, { cause: error })
      })
  )
}

/** A message in its lines: those of SQL show the place of a fault. */
function shown(message: string): string {
  return unguarded(message)
    .trim()
    .replaceAll(/\n(\s*\n)+/g, '\n')
}

/** What yargs found wrong, in one line. */
export function oneLine(message: string): string {
  const [, given, needed] = /^Missing dependent arguments:\s+(\S+) -> (\S+)\s*$/.exec(message) ?? []
  return given === undefined ? message.trim().replaceAll(/\s*\n\s*/g, ' ') : `--${given} needs --${needed}`
}
