import { fileURLToPath } from 'node:url'

/** The project's root. Tests run from the compiled modules, or from their sources. */
export const ROOT = fileURLToPath(
  new URL(import.meta.url.endsWith('.ts') ? '../' : '../../', import.meta.url),
)

/** Where `compile.mjs` has put what `npm run build` would put into dist/: what tests start from here is made of the sources as they are. */
export const COMPILED = `${ROOT}build/`
