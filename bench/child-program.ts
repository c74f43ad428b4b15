import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * The file of another program of this project: compiled, or its source where this one runs from its source. Child processes
 * take it with this process's `execArgv`, which has the loaders that sources need.
 *
 * @param path from the project's root, without its ending
 */
export function childProgram(path: string): string {
  const self = fileURLToPath(import.meta.url)
  return fileURLToPath(new URL(`../${path}${extname(self)}`, import.meta.url))
}
