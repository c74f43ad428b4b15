import type { ArgumentsCamelCase, Argv, InferredOptionTypes, Options, PositionalOptions } from 'yargs'
import { badRequest } from '../../protocol/errors.js'
import { quotedText } from '../../protocol/shown.js'
import type { IndexDefinition } from '../../protocol/types.js'
import type { Client, Index } from '../sdk/index.js'
import { CLIENT_OPTIONS, type ServerAddress, withClient, withIndex } from './session.js'

type Positionals = Readonly<Record<string, PositionalOptions>>
type OptionTable = Readonly<Record<string, Options>>
type Nothing = Readonly<Record<never, never>>

/** What the options of a table are parsed to. */
export type Given<O extends OptionTable> = ArgumentsCamelCase<InferredOptionTypes<O>>

/** What a command is called, takes and does. */
interface Form<P extends Positionals, O extends OptionTable, Context extends readonly unknown[]> {
  /** Its name and positionals. */
  readonly usage: string
  readonly about: string
  /** In the order of the usage. */
  readonly positionals?: P
  readonly options?: O
  readonly examples: readonly (readonly [command: string, about: string])[]
  readonly epilogue?: string
  /** Called before anything is done, to refuse options that do not fit together. */
  readonly check?: (given: Given<P & O>) => void
  readonly run: (...given: [...Context, Given<P & O>]) => Promise<void> | void
}

/** Adds something to a command line. */
export type Adds = (cli: Argv) => Argv

export function text<const D extends string>(describe: D) {
  return { type: 'string', requiresArg: true, describe } as const
}

export function flag<const D extends string>(describe: D) {
  return { type: 'boolean', default: false, describe } as const
}

/** The option of commands that do one thing. */
export const JSON_OUTCOME = flag('The outcome as one JSON object')

/** What an option `limit` says. @throws WarpdexError `BAD_REQUEST` */
export function parseLimit(text: string): number {
  if (/^\d+$/.test(text)) return Number(text)
  throw badRequest(`--limit is ${quotedText(text)}; it must be a whole number`)
}

/** A positional that must be given. */
export function argument<const D extends string>(describe: D) {
  return { type: 'string', demandOption: true, describe } as const
}

/** A positional that must be given once or more. */
export function argumentList<const D extends string>(describe: D) {
  return { type: 'string', array: true, demandOption: true, describe } as const
}

/** A command that needs no server. */
export function command<const P extends Positionals = Nothing, const O extends OptionTable = Nothing>(
  form: Form<P, O, []>,
): Adds {
  return adds(form, form.positionals, form.options, (given) => form.run(given as Given<P & O>))
}

/** A command that talks to a server. */
export function clientCommand<const P extends Positionals = Nothing, const O extends OptionTable = Nothing>(
  form: Form<P, O, [client: Client]>,
): Adds {
  return adds(form, form.positionals, { ...CLIENT_OPTIONS, ...form.options }, (given) =>
    withClient(given as ServerAddress, async (client) => form.run(client, given as Given<P & O>)),
  )
}

/** A command that talks to a server about an index, its first positional. */
export function indexCommand<const P extends Positionals = Nothing, const O extends OptionTable = Nothing>(
  form: Form<P, O, [index: Index, definition: IndexDefinition]>,
): Adds {
  const positionals = { index: argument('Name of the index'), ...form.positionals }
  return adds(form, positionals, { ...CLIENT_OPTIONS, ...form.options }, (given) =>
    withIndex(given as ServerAddress & { readonly index: string }, async (index, definition) =>
      form.run(index, definition, given as Given<P & O>),
    ),
  )
}

/** @param run called with what the options were parsed to */
function adds<P extends Positionals, O extends OptionTable>(
  { usage, about, examples, epilogue, check }: Omit<Form<P, O, never>, 'run'>,
  positionals: Positionals = {},
  options: OptionTable = {},
  run: (given: unknown) => Promise<void> | void,
): Adds {
  const build = (cli: Argv): Argv => {
    cli.options(options)
    for (const [name, option] of Object.entries(positionals)) cli.positional(name, option)
    for (const [line, what] of examples) cli.example(line, what)
    if (epilogue !== undefined) cli.epilogue(epilogue)
    if (check === undefined) return cli
    return cli.check((given: unknown) => {
      check(given as Given<P & O>)
      return true
    })
  }
  return (cli) => cli.command(usage, about, build, run)
}
