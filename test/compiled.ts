import { fileURLToPath } from 'node:url'

/**
 * Where `compile.mjs` has put what `npm run build` would put into dist/: what tests start from here is made of the sources as they are. It lies below the
 * project's root, where the packages are found.
 */
export const COMPILED = fileURLToPath(
  new URL('../node_modules/.cache/warpdex-compiled/dist/', import.meta.url),
)
