import { readFileSync } from 'node:fs'

/** The version in package.json, which lies higher above the compiled command than above its source. */
export function packageVersion(): string {
  for (const path of ['../../package.json', '../../../package.json']) {
    try {
      const { name, version } = JSON.parse(readFileSync(new URL(path, import.meta.url), 'utf8'))
      if (name === 'warpdex') return String(version)
    } catch {}
  }
  return 'unknown'
}
