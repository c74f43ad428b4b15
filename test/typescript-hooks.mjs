// Hooks of Node's module loader; see `typescript.mjs`.
import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'

const { transpile } = createRequire(import.meta.url)('./transpiler.cjs')

/** Sources name the modules that they import as they will be called once compiled. */
export function resolve(specifier, context, next) {
  if (specifier.startsWith('.') && specifier.endsWith('.js') && context.parentURL?.endsWith('.ts')) {
    const url = new URL(`${specifier.slice(0, -3)}.ts`, context.parentURL)
    if (existsSync(url)) return { url: url.href, format: 'module', shortCircuit: true }
  }
  return next(specifier, context)
}

export function load(url, context, next) {
  if (!url.startsWith('file:') || !url.endsWith('.ts')) return next(url, context)
  const fileName = fileURLToPath(url)
  const { outputText, sourceMapText } = transpile(readFileSync(fileName, 'utf8'), { fileName })
  const map = Buffer.from(sourceMapText).toString('base64')
  // Made without a map of its own at the end, so that stacks name lines of the source.
  const code = outputText.replace(/\n\/\/# sourceMappingURL=.*\s*$/, '')
  const source = `${code}\n//# sourceMappingURL=data:application/json;base64,${map}`
  return { format: 'module', source, shortCircuit: true }
}
