import { readFileSync } from 'node:fs'

/** The version in the package's manifest, which lies higher above the compiled command than above its source. */
export function packageVersion(): string {
  for (const path of ['../../package.json', '../../../package.json']) {
    try {
      const { name, version } = JSON.parse(readFileSync(new URL(path, import.meta.url), 'utf8'))
      if (/^@?warpdex\b/.test(name)) return String(version)
    } catch {}
  }
  return 'unknown'
}
