import { statSync } from 'node:fs'
import type { Config } from '../config/settings.js'

const READABLE_BY_OTHERS = 0o004
const SOON_MS = 7 * 24 * 3_600_000

/**
 * What is unsafe about the files of tokens and keys, or will be soon, though the server can work with it.
 *
 * @param until when the certificate ends
 */
export function exposureOf({ tokens, tlsKey, tlsCert }: Config, until: Date | undefined): readonly string[] {
  const warnings = [tokens, tlsKey]
    .filter((path) => path !== '' && isReadableByOthers(path))
    .map((path) => `${path} can be read by every user of this machine; "chmod o-r ${path}" mends it`)
  if (until === undefined || until.getTime() > Date.now() + SOON_MS) return warnings
  return [
    ...warnings,
    `the certificate ${tlsCert} ends ${until.toISOString()}: clients refuse it from then on`,
  ]
}

function isReadableByOthers(path: string): boolean {
  return process.platform !== 'win32' && (statSync(path).mode & READABLE_BY_OTHERS) !== 0
}
