import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const PAGE = fileURLToPath(new URL('../../../src/http/page/', import.meta.url))

interface Transpiler {
  transpile(source: string, options: { readonly fileName: string }): { readonly outputText: string }
}

const { transpile }: Transpiler = createRequire(import.meta.url)('../../transpiler.cjs')

/** Compiles the status page from its sources as they are into a folder, as the build does, without a check of types. */
export function compilePage(folder: string): string {
  mkdirSync(folder, { recursive: true })
  for (const name of readdirSync(PAGE)) {
    const source = join(PAGE, name)
    if (!name.endsWith('.ts')) {
      copyFileSync(source, join(folder, name))
      continue
    }
    const { outputText } = transpile(readFileSync(source, 'utf8'), { fileName: source })
    writeFileSync(join(folder, name.replace(/\.ts$/, '.js')), outputText)
  }
  return folder
}
