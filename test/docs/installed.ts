import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { COMPILED, ROOT } from '../compiled.js'

const PROGRAM = join(COMPILED, 'clients/cli/main.js')

/** For a program that should end by itself. */
const LONGEST_MILLISECONDS = 60_000

/** Packages, with the folders of their manifests. */
const PACKAGES = [
  ['warpdex', '.'],
  ['@warpdex/client', 'clients/sdk'],
] as const

/** A folder in which `npx warpdex` runs, and programs import packages, as if what was compiled were installed there. */
export class Installed {
  readonly #folder: string
  readonly #environment: NodeJS.ProcessEnv

  constructor(folder: string, environment: Readonly<Record<string, string>>) {
    this.#folder = folder
    // Programs are none of the repository's own, whose package would be found before those that are installed.
    writeFileSync(join(folder, 'package.json'), '{}')
    const bin = join(folder, 'bin')
    mkdirSync(bin)
    const npx = `#!/bin/sh\nshift\nexec '${process.execPath}' '${PROGRAM}' "$@"\n`
    writeFileSync(join(bin, 'npx'), npx, { mode: 0o755 })
    for (const [name, home] of PACKAGES) {
      const library = join(folder, 'node_modules', name)
      mkdirSync(library, { recursive: true })
      copyFileSync(join(ROOT, home, 'package.json'), join(library, 'package.json'))
      symlinkSync(COMPILED, join(library, 'dist'))
    }
    this.#environment = { ...process.env, PATH: `${bin}${delimiter}${process.env.PATH}`, ...environment }
  }

  /** Starts a program in a folder below. */
  start(command: string, args: readonly string[], cwd = '') {
    return spawn(command, args, { cwd: join(this.#folder, cwd), env: this.#environment })
  }

  /** Runs a program. @returns what it prints, with its errors if it fails */
  async run(command: string, args: readonly string[], cwd = '', input = ''): Promise<string> {
    const child = this.start(command, args, cwd)
    let [out, errors] = ['', '']
    child.stdout.setEncoding('utf8').on('data', (text) => {
      out += text
    })
    child.stderr.setEncoding('utf8').on('data', (text) => {
      errors += text
    })
    // A program that fails need not read what is piped to it.
    child.stdin.on('error', () => {})
    child.stdin.end(input)
    const timer = setTimeout(() => child.kill(), LONGEST_MILLISECONDS)
    const [code, signal] = await once(child, 'close')
    clearTimeout(timer)
    return code === 0 ? out : `${out}${errors}${signal === null ? '' : `it did not end: ${signal}`}`
  }
}
