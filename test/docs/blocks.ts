import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** A command as a document shows it, with what it prints. */
export interface Command {
  readonly line: number
  readonly text: string
  readonly output: string
}

/** A program as a document shows it: what it prints stands in the comments behind each `console.log`. */
export interface Program {
  readonly line: number
  readonly text: string
  readonly output: string
}

/** What of a document can be run, in its order. */
export type Step =
  | { readonly kind: 'command'; readonly command: Command }
  | { readonly kind: 'program'; readonly program: Program }

interface Block {
  readonly language: string
  readonly line: number
  readonly lines: readonly string[]
}

/** Documents that people read one after the other. */
const FIRST = ['start.md', 'concepts.md', 'cookbook.md', 'queries.md']

/** Documents whose commands and programs run in a test, in the order of reading. */
export const DOCUMENTS = [
  'README.md',
  ...FIRST.map((name) => join('docs', name)),
  ...readdirSync('docs')
    .filter((name) => name.endsWith('.md') && !FIRST.includes(name))
    .map((name) => join('docs', name)),
  'clients/sdk/README.md',
]

function blocksOf(path: string): Block[] {
  const blocks: Block[] = []
  let open: { language: string; line: number; lines: string[] } | undefined
  for (const [i, line] of readFileSync(path, 'utf8').split('\n').entries()) {
    if (!line.startsWith('```')) open?.lines.push(line)
    else if (open === undefined) open = { language: line.slice(3), line: i + 2, lines: [] }
    else {
      blocks.push(open)
      open = undefined
    }
  }
  return blocks
}

/** The commands and programs of a document; blocks of `mjs` are files for packages that are not here. A block of JavaScript without imports goes on from the program before it. */
export function stepsOf(path: string): Step[] {
  const steps: Step[] = []
  for (const block of blocksOf(path)) {
    if (block.language === 'console') {
      steps.push(...commandsOf(block).map((command) => ({ kind: 'command' as const, command })))
    }
    if (block.language !== 'js') continue
    const before = steps.at(-1)
    const program = programOf(block)
    if (program.text.startsWith('import ')) steps.push({ kind: 'program', program })
    else if (before?.kind !== 'program') throw new Error(`${path}:${block.line} goes on from no program`)
    else {
      const { line, text, output } = before.program
      const joined = { line, text: text + program.text, output: `${output} ${program.output}` }
      steps[steps.length - 1] = { kind: 'program', program: joined }
    }
  }
  return steps
}

/** Commands that a document shows where they are not run: those of this project belong into blocks of `console`. */
export function strayCommands(path: string): string[] {
  return blocksOf(path)
    .filter(({ language }) => language !== 'console')
    .flatMap(({ lines, line }) =>
      lines.flatMap((text, i) =>
        /^\s*(\$ )?(npx )?warpdex [a-z]/.test(text) ? [`${path}:${line + i}`] : [],
      ),
    )
}

function commandsOf({ line, lines }: Block): Command[] {
  const commands: Command[] = []
  for (const [i, text] of lines.entries()) {
    const last = commands.at(-1)
    if (text.startsWith('$ ')) commands.push({ line: line + i, text: text.slice(2), output: '' })
    else if (last === undefined) throw new Error(`output without a command in line ${line + i}`)
    else commands[commands.length - 1] = { ...last, output: `${last.output}${text}\n` }
  }
  return commands
}

function programOf({ line, lines }: Block): Program {
  const output: string[] = []
  let printed = false
  for (const text of lines) {
    const comment = /^\s*\/\/ (.*)$/.exec(text)
    if (comment === null) printed = /console\.log\(/.test(text)
    else if (printed) output.push(comment[1]!)
  }
  return { line, text: `${lines.join('\n')}\n`, output: output.join('\n') }
}

/** Whether something is printed as a document says, where … stands for anything and amounts of white space do not count. */
export function printsAs(printed: string, output: string): boolean {
  const [first, ...others] = plain(output).split('…')
  let rest = plain(printed)
  if (others.length === 0) return rest === first
  if (!rest.startsWith(first!)) return false
  rest = rest.slice(first!.length)
  const last = others.pop()!
  for (const piece of others) {
    const at = rest.indexOf(piece)
    if (at < 0) return false
    rest = rest.slice(at + piece.length)
  }
  return rest.endsWith(last)
}

function plain(text: string): string {
  return text.replaceAll(/\s+/g, ' ').replaceAll(/ ?… ?/g, '…').trim()
}
