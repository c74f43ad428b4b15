import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * Arguments with which Node runs another program of this project: the compiled one, or from sources, with the loaders that
 * this process was started with, the source.
 *
 * @param path of the program from the project's root, without its ending
 */
export function childProgram(path: string): string[] {
  const self = fileURLToPath(import.meta.url)
  return [...process.execArgv, fileURLToPath(new URL(`../${path}${extname(self)}`, import.meta.url))]
}
