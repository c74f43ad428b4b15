import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { brotliDecompressSync } from 'node:zlib'
import { extract } from 'tar-fs'
import { ROOT } from '../../compiled.js'

/** Why there is no Chromium here; false where there is one. */
export const NO_CHROMIUM =
  process.platform === 'linux' && process.arch === 'x64'
    ? false
    : `the Chromium of @sparticuz/chromium is built for Linux x64; this is ${process.platform} ${process.arch}`

const OUTPUT_CHARACTERS = 4000

/** Beside what else the tests keep: unpacking takes seconds. */
const CACHE = join(ROOT, 'node_modules/.cache/warpdex-tests/')

/** Fonts beside this file, wherever that is: the checkout may be moved. */
const FONT_CONFIGURATION = `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig><dir prefix="relative">fonts</dir><cachedir prefix="xdg">fontconfig</cachedir></fontconfig>
`

/** The headless Chromium of the npm package that also carries the software adapter, with the libraries that it needs. */
export class Chromium {
  readonly #folder: string

  private constructor(folder: string) {
    this.#folder = folder
  }

  /** Unpacks it, 200 MB, where that was not done before. */
  static async open(): Promise<Chromium> {
    const root = packageRoot()
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
    const folder = join(CACHE, `chromium-${version}`)
    if (existsSync(folder)) return new Chromium(folder)
    mkdirSync(CACHE, { recursive: true })
    const aside = mkdtempSync(join(CACHE, 'unpacking-'))
    const bin = join(root, 'bin')
    const program = brotliDecompressSync(readFileSync(join(bin, 'chromium.br')))
    writeFileSync(join(aside, 'chromium'), program, { mode: 0o755 })
    for (const name of ['al2023.tar.br', 'fonts.tar.br']) {
      const archive = brotliDecompressSync(readFileSync(join(bin, name)))
      await pipeline(Readable.from([archive]), extract(aside))
    }
    // That of the package names folders of another system.
    writeFileSync(join(aside, 'fonts.conf'), FONT_CONFIGURATION)
    try {
      renameSync(aside, folder)
    } catch (cause) {
      rmSync(aside, { recursive: true })
      // Another process may have been first, which is as good.
      if (!existsSync(folder)) throw cause
    }
    return new Chromium(folder)
  }

  get program(): string {
    return join(this.#folder, 'chromium')
  }

  /** The environment in which it finds its libraries and fonts, and a language. */
  environment(home: string): Record<string, string | undefined> {
    return {
      PATH: process.env.PATH,
      HOME: home,
      LANG: 'en_US.UTF-8',
      LD_LIBRARY_PATH: join(this.#folder, 'lib'),
      FONTCONFIG_PATH: this.#folder,
    }
  }

  /**
   * Shows a page until it has answered, and ends the browser, whatever happens.
   *
   * @param answer resolves with what the page has to say
   * @param flags further flags of Chromium
   * @throws Error with Chromium's own output when it ends before, or when time is up
   */
  async show<T>(url: string, answer: Promise<T>, seconds: number, flags: readonly string[] = []): Promise<T> {
    const browser = this.#start(url, flags)
    const end = () => browser.kill('SIGKILL')
    process.once('exit', end)
    const exited = new Promise<void>((resolve) => browser.once('close', () => resolve()))
    let output = ''
    const listen = (text: Buffer) => {
      output = (output + text).slice(-OUTPUT_CHARACTERS)
    }
    browser.stdout?.on('data', listen)
    browser.stderr?.on('data', listen)
    let timer: NodeJS.Timeout | undefined
    const failed = new Promise<never>((_, reject) => {
      const fail = (what: string) =>
        reject(new Error(`${what}, before ${url} answered; its output:\n${output}`))
      browser.once('error', (error) => fail(`Chromium could not be started (${error.message})`))
      browser.once('close', (code, signal) => fail(`Chromium ended with ${code ?? signal}`))
      timer = setTimeout(() => fail(`${seconds} seconds passed in Chromium`), seconds * 1000)
    })
    try {
      return await Promise.race([answer, failed])
    } finally {
      clearTimeout(timer)
      end()
      await exited
      process.off('exit', end)
    }
  }

  /** In one process, so that nothing is left when it is killed. */
  #start(url: string, flags: readonly string[]): ChildProcess {
    const profile = mkdtempSync(join(tmpdir(), 'warpdex-browser-'))
    process.once('exit', () => rmSync(profile, { recursive: true, force: true }))
    const args = [
      '--headless',
      '--single-process',
      '--no-zygote',
      '--no-sandbox',
      '--disable-gpu',
      '--disable-dev-shm-usage',
      '--disable-background-networking',
      '--disable-component-update',
      '--no-first-run',
      '--no-proxy-server',
      `--user-data-dir=${profile}`,
      ...flags,
      url,
    ]
    return spawn(this.program, args, { stdio: ['ignore', 'pipe', 'pipe'], env: this.environment(profile) })
  }
}

/** The package's `exports` forbid resolving its data files, so its main file is resolved and the root is found upwards. */
function packageRoot(): string {
  let folder = dirname(createRequire(import.meta.url).resolve('@sparticuz/chromium'))
  while (!existsSync(join(folder, 'bin', 'chromium.br'))) {
    if (folder === dirname(folder)) throw new Error('@sparticuz/chromium has no bin/chromium.br; run npm ci')
    folder = dirname(folder)
  }
  return folder
}
