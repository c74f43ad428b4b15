// Hooks of Node's module loader; see `typescript.mjs`.
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { compiledPath } from './compile.mjs'

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
  return { format: 'module', source: readFileSync(compiledPath(fileURLToPath(url))), shortCircuit: true }
}
