import { badRequest } from '../../../protocol/errors.js'

/** In place of `import-file.ts` in browsers, which have no files to read. */
export async function importFile(): Promise<never> {
  throw badRequest('importFile reads files in Node only; append rows instead')
}
